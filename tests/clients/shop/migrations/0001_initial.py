from django.db import migrations, models
from shop.fields import BigFlakeField


class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.CreateModel("Order", [
            ("id", models.BigAutoField(primary_key=True, serialize=False)),
            ("item", models.TextField()),
        ]),
        migrations.CreateModel("Line", [
            ("id", models.BigAutoField(primary_key=True, serialize=False)),
            ("order", models.ForeignKey("shop.Order", models.CASCADE)),
        ]),
        migrations.CreateModel("Number", [
            ("id", BigFlakeField(primary_key=True, serialize=False)),
            ("item", models.TextField()),
        ]),
        migrations.CreateModel("Cart", [
            ("id", models.UUIDField(
                db_default=models.Func(function="uuidv7_next", output_field=models.UUIDField()),
                primary_key=True, serialize=False)),
            ("item", models.TextField()),
        ]),
        migrations.CreateModel("Default", [
            ("id", models.BigIntegerField(
                db_default=models.Func(function="flake_next", output_field=models.BigIntegerField()),
                primary_key=True, serialize=False)),
            ("item", models.TextField()),
        ]),
    ]
