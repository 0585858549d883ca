"""Salt: ``salt/serializers/yaml.py``."""

from salt.serializers import DeserializationError, SerializationError
from salt.utils import yaml

__all__ = ["available", "deserialize", "serialize"]
available = True


def deserialize(stream_or_string, **options):
    try:
        return yaml.safe_load(stream_or_string)
    except Exception as error:
        raise DeserializationError(error)


def serialize(obj, **options):
    try:
        text = yaml.safe_dump(obj, **options)
        return text[:-5] if text.endswith("\n...\n") else text[:-1] if text.endswith("\n") else text
    except Exception as error:
        raise SerializationError(error)
