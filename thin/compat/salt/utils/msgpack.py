"""Salt: ``salt/utils/msgpack.py``."""

from thin import wire

msgpack = wire.msgpack()

HAS_MSGPACK = True
exceptions = msgpack.exceptions
ExtType = msgpack.ExtType


def packb(obj, **kwargs):
    kwargs.setdefault("use_bin_type", True)
    return msgpack.packb(obj, **kwargs)


def unpackb(packed, **kwargs):
    kwargs.setdefault("raw", False)
    kwargs.setdefault("strict_map_key", False)
    return msgpack.unpackb(packed, **kwargs)


def pack(obj, stream, **kwargs):
    stream.write(packb(obj, **kwargs))


def unpack(stream, **kwargs):
    return unpackb(stream.read(), **kwargs)


dump, dumps, load, loads = pack, packb, unpack, unpackb
