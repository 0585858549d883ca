"""Salt: ``salt/serializers/__init__.py``."""

from thin.exceptions import SaltException
from thin.rareexceptions import SaltDeserializationError


class DeserializationError(SaltDeserializationError, RuntimeError):
    """The text is invalid."""


class SerializationError(SaltException, RuntimeError):
    """The value cannot be serialized."""
