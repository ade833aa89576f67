"""flakeid with Django, in one file; the field and the model are what goes into an application.

Needs Python 3.10 and `pip install "Django>=5" "psycopg[binary]"`; PGHOST, PGPORT, PGUSER and PGDATABASE lead to a
database that has the extension. Run: python3 examples/django_app.py
"""
import os
from datetime import datetime, timedelta

import django
from django.conf import settings
from django.db import connection, models
from django.http import JsonResponse
from django.utils import timezone

settings.configure(
    # libpq takes the other parameters from its environment.
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}},
    USE_TZ=True)
django.setup()


class FlakeField(models.BigAutoField):
    """A key of type flake, as a string of digits: JavaScript would round a number. A lookup also takes an int, or an
    aware datetime to compare with the time of the flake."""

    validators = ()

    def db_type(self, connection):
        return "flake"

    # The type of a foreign key.
    def rel_db_type(self, connection):
        return "flake"

    # What is a db_default elsewhere: the bulk_create of Django 5.2 returns no other keys than those of a BigAutoField.
    def db_type_suffix(self, connection):
        return "DEFAULT flake_next()"

    def to_python(self, value):
        value = super().to_python(value)
        return str(value) if value is not None else None

    def get_prep_value(self, value):
        return value if isinstance(value, datetime) else super().get_prep_value(value)


class SnoField(models.Field):
    """A sno, as its 16 characters. A lookup takes a sno, or an aware datetime to compare with the time of the sno."""

    def db_type(self, connection):
        return "sno"


class Order(models.Model):
    id = FlakeField(primary_key=True)
    event = SnoField(
        unique=True, db_default=models.Func(models.Value(7), function="sno_next", output_field=SnoField()))
    item = models.TextField()

    class Meta:
        app_label = "shop"
        db_table = "orders"


class Line(models.Model):
    id = FlakeField(primary_key=True)
    order = models.ForeignKey(Order, models.CASCADE)

    class Meta:
        app_label = "shop"
        db_table = "lines"


# In an application, a migration does this.
if Order._meta.db_table not in connection.introspection.table_names():
    with connection.schema_editor() as editor:
        editor.create_model(Order)
        editor.create_model(Line)

for item in ["tea", "milk", "bread", "salt", "rice"]:
    order = Order.objects.create(item=item)
    print("made", order.id, order.event, order.item)

since = timezone.now() - timedelta(minutes=5)
by_id = Order.objects.filter(id__gte=since).order_by("id")
print("recent by id:", *by_id.values_list("id", flat=True))
recent = Order.objects.filter(event__gte=since).values_list("event", flat=True)
print("recent by event:", *recent.order_by("event"))

newest = recent.order_by("-event")
page, events = 1, list(newest[:3])
while events:
    print(f"page {page}:", *events)
    page, events = page + 1, list(newest.filter(event__lt=events[-1])[:3])

# A thousand objects by one INSERT, which returns their keys.
lines = Line.objects.bulk_create([Line(order=order) for _ in range(1000)])
print("lines:", len({line.id for line in lines}))
print("newest in json:", JsonResponse({"id": order.id, "line": lines[0].id}).content.decode())
