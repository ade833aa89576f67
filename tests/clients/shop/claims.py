"""What docs/orm.md says of Django, for tests/t/docs/orms.pl: a line for each claim."""
import django

django.setup()
from django.core import serializers
from django.db import DataError, connection, migrations, transaction
from django.db.migrations.state import ProjectState
from django.db.models.expressions import DatabaseDefault
from django.test.utils import CaptureQueriesContext
from shop.fields import FlakeField
from shop.models import Cart, Default, Line, Number, Order


def with_ids(objects, next_batch):
    """Gives new objects their keys. Call it in the transaction that inserts them."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {next_batch}(%s)", [len(objects)])
        for one, (id,) in zip(objects, cursor.fetchall()):
            one.pk = id
    return objects


for model in Order, Number, Cart, Default:
    objects = [model(item=str(nr)) for nr in range(1000)]
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        if model is Cart:
            with_ids(objects, "uuidv7_next_batch")
        model.objects.bulk_create(objects)
    inserts = sum(query["sql"].startswith("INSERT") for query in queries)
    if isinstance(objects[0].pk, DatabaseDefault):
        keys = "placeholders"
    else:
        rows = dict(model.objects.filter(pk__in=[one.pk for one in objects]).values_list("pk", "item"))
        keys = "right" if {one.pk: one.item for one in objects} == rows else "wrong"
    print(f"{model.__name__}: {inserts} INSERT, keys {keys}")

order = Order.objects.latest("pk")
line = Line.objects.create(order=order)
line.full_clean()
print("json:", serializers.serialize("json", [order]) == f'[{{"model": "shop.order", "pk": "{order.pk}", "fields": {{"item": "999"}}}}]')
print("found:", *(Order.objects.filter(pk=key).count() for key in (order.pk, int(order.pk))),
      Line.objects.select_related("order").get(order=order).order == order, Order.objects.in_bulk([order.pk]) == {order.pk: order})
try:
    print("no number:", Order.objects.filter(pk="no").count())
except ValueError:
    print("no number: ValueError")

# Django's own alteration of a key that was an identity column.
first = __import__("shop.migrations.0001_initial", fromlist=["Migration"]).Migration("0001_initial", "again")
alter = migrations.AlterField("order", "id", FlakeField(primary_key=True, serialize=False))
for operation in first.operations:
    for name, field in operation.fields:
        if field.is_relation:
            field.remote_field.model = "again.Order"
try:
    with transaction.atomic(), connection.schema_editor() as editor:
        before = first.apply(ProjectState(), editor)
        after = before.clone()
        alter.state_forwards("again", after)
        alter.database_forwards("again", editor, before, after)
    print("AlterField: works")
except DataError as error:
    print("AlterField:", str(error).splitlines()[0])
