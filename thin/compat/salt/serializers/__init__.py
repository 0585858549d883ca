"""Salt: ``salt/serializers/__init__.py``."""

from thin.exceptions import SaltDeserializationError, SaltException


class DeserializationError(SaltDeserializationError, RuntimeError):
    """The text is none of this kind."""


class SerializationError(SaltException, RuntimeError):
    """The value has no text of this kind."""
