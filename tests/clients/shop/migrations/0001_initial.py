from django.db import migrations, models


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
        migrations.CreateModel("Default", [
            ("id", models.BigIntegerField(
                db_default=models.Func(function="flake_next", output_field=models.BigIntegerField()),
                primary_key=True, serialize=False)),
            ("item", models.TextField()),
        ]),
    ]
