"""Salt: ``salt/payload.py``."""

from thin import wire


def dumps(msg, use_bin_type=True):
    return wire.msgpack().packb(msg, use_bin_type=True)


def loads(msg, encoding=None, raw=False):
    return wire.msgpack().unpackb(msg, raw=False, strict_map_key=False)
