from django.db import migrations
from shop.fields import FlakeField


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.RunSQL(
            [
                "ALTER TABLE shop_order ALTER id DROP IDENTITY",
                "ALTER TABLE shop_order ALTER id TYPE flake, ALTER id SET DEFAULT flake_next()",
                "ALTER TABLE shop_line ALTER id DROP IDENTITY",
                "ALTER TABLE shop_line ALTER id TYPE flake, ALTER id SET DEFAULT flake_next(), ALTER order_id TYPE flake",
            ],
            state_operations=[
                migrations.AlterField("order", "id", FlakeField(primary_key=True, serialize=False)),
                migrations.AlterField("line", "id", FlakeField(primary_key=True, serialize=False)),
            ]),
    ]
