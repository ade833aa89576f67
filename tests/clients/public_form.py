"""Calls examples/public_form.py for tests/t/docs/public_form_clients.pl.

Each line of the input is a method, an ID type, a prefix and a value, with tabs between them. Each line of the output is the
result, or "refused". A flake is a number, a uuidv7 a UUID, and another ID the hexadecimal digits of its bytes.
"""
import sys
import uuid

sys.path.insert(0, "examples")

from public_form import InvalidPublicForm, PublicForms

FROM_TEXT = {"flake": int, "uuidv7": uuid.UUID}

with open(sys.argv[1]) as key_file:
    forms = PublicForms(key_file.read())
for line in sys.stdin:
    method, id_type, prefix, value = line.removesuffix("\n").split("\t")
    if method.startswith("to_"):
        value = FROM_TEXT.get(id_type, bytes.fromhex)(value)
    elif method == "from_public_uuid":
        value = uuid.UUID(value)
    try:
        result = getattr(forms, method)(id_type, value, prefix)
    except InvalidPublicForm if method.startswith("from_") else ValueError:
        result = "refused"
    print(result.hex() if isinstance(result, bytes) else result)
