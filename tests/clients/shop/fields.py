"""The field of the example, without the example, which creates a table when it is imported."""
import re
from datetime import datetime
from pathlib import Path

from django.db import models

exec(re.search(r"^class FlakeField\b.*?(?=^\S)", Path("examples/django_app.py").read_text(), re.M | re.S)[0])


class BigFlakeField(models.BigAutoField):
    """A flake in a bigint column, as an int."""

    def db_type_suffix(self, connection):
        return "DEFAULT flake_next()"
