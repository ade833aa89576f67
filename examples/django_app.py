"""flakeid with Django, in one file; the field and the model are what goes into an application.

Needs Python 3.10 and `pip install "Django>=5" "psycopg[binary]"`; PGHOST, PGPORT, PGUSER and PGDATABASE lead to a
database that has the extension. Run: python3 examples/django_app.py
"""
import os
from datetime import timedelta

import django
from django.conf import settings
from django.db import connection, models
from django.utils import timezone

settings.configure(
    # libpq takes the other parameters from its environment.
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}},
    USE_TZ=True)
django.setup()


class SnoField(models.Field):
    """A sno, as its 16 characters. A lookup takes a sno, or an aware datetime to compare with the time of the sno."""

    def db_type(self, connection):
        return "sno"


class FlakeMin(models.Func):
    """The smallest flake whose time is not before this one."""

    function = "flake_min"
    output_field = models.BigIntegerField()


class Order(models.Model):
    id = models.BigIntegerField(
        primary_key=True, db_default=models.Func(function="flake_next", output_field=models.BigIntegerField()))
    event = SnoField(
        unique=True, db_default=models.Func(models.Value(7), function="sno_next", output_field=SnoField()))
    item = models.TextField()

    class Meta:
        app_label = "shop"
        db_table = "orders"


# In an application, a migration does this.
if Order._meta.db_table not in connection.introspection.table_names():
    with connection.schema_editor() as editor:
        editor.create_model(Order)

for item in ["tea", "milk", "bread", "salt", "rice"]:
    order = Order.objects.create(item=item)
    print("made", order.id, order.event, order.item)

since = timezone.now() - timedelta(minutes=5)
by_id = Order.objects.filter(id__gte=FlakeMin(models.Value(since))).order_by("id")
print("recent by id:", *by_id.values_list("id", flat=True))
recent = Order.objects.filter(event__gte=since).values_list("event", flat=True)
print("recent by event:", *recent.order_by("event"))

newest = recent.order_by("-event")
page, events = 1, list(newest[:3])
while events:
    print(f"page {page}:", *events)
    page, events = page + 1, list(newest.filter(event__lt=events[-1])[:3])
