"""Salt: ``salt/serializers/__init__.py``."""

from thin.exceptions import SaltDeserializationError, SaltException


class DeserializationError(SaltDeserializationError, RuntimeError):
    """The text is invalid."""


class SerializationError(SaltException, RuntimeError):
    """The value cannot be serialized."""
