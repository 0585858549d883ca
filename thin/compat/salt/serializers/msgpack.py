"""Salt: ``salt/serializers/msgpack.py``."""

from salt.serializers import DeserializationError, SerializationError

from thin import wire

msgpack = wire.msgpack()

__all__ = ["available", "deserialize", "serialize"]
available = True


def serialize(obj, **options):
    try:
        return msgpack.packb(obj, use_bin_type=True)
    except Exception as error:
        raise SerializationError(error)


def deserialize(stream_or_string, **options):
    try:
        data = stream_or_string.read() if hasattr(stream_or_string, "read") else stream_or_string
        return msgpack.unpackb(data, raw=False, strict_map_key=False)
    except Exception as error:
        raise DeserializationError(error)
