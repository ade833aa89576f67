"""An application of Django for tests/t/docs/orms.pl, with the field of examples/django_app.py."""
import os

DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}}
INSTALLED_APPS = ["shop"]
USE_TZ = True
