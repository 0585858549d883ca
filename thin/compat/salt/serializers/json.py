"""Salt: ``salt/serializers/json.py``."""

from salt.serializers import DeserializationError, SerializationError
from salt.utils import json

__all__ = ["available", "deserialize", "serialize"]
available = True


def deserialize(stream_or_string, **options):
    try:
        reading = hasattr(stream_or_string, "read")
        return (json.load if reading else json.loads)(stream_or_string, **options)
    except Exception as error:
        raise DeserializationError(error)


def serialize(obj, **options):
    try:
        if "fp" in options:
            return json.dump(obj, **options)
        return json.dumps(obj, **options)
    except Exception as error:
        raise SerializationError(error)
