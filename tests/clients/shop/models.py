from django.db import models

from .fields import BigFlakeField, FlakeField


class Order(models.Model):
    id = FlakeField(primary_key=True)
    item = models.TextField()


class Line(models.Model):
    id = FlakeField(primary_key=True)
    order = models.ForeignKey(Order, models.CASCADE)


class Number(models.Model):
    id = BigFlakeField(primary_key=True)
    item = models.TextField()


class Cart(models.Model):
    id = models.UUIDField(primary_key=True, db_default=models.Func(function="uuidv7_next", output_field=models.UUIDField()))
    item = models.TextField()


class Default(models.Model):
    """A key of which Django knows that the database has a default."""

    id = models.BigIntegerField(
        primary_key=True, db_default=models.Func(function="flake_next", output_field=models.BigIntegerField()))
    item = models.TextField()
