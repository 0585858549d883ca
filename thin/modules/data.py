"""A small key-value store of this target, kept between runs. Salt: modules/data.py"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath
from thin.utils.files.arguments import cachedir

__usual__ = True
__reads__ = ("load", "items", "get", "keys", "values", "has_key")
__changes__ = ("dump", "clear", "update", "cas", "pop")


def load():
    """All stored data, {} if there is none that can be read."""
    from thin import wire

    msgpack = wire.msgpack()

    try:
        with open(_path(), "rb") as stream:
            value = msgpack.unpackb(stream.read(), raw=False, strict_map_key=False)
    except (OSError, ValueError, msgpack.exceptions.UnpackException):
        return {}
    return value if isinstance(value, dict) else {}


items = load


def dump(new_data):
    """Replace all stored data by this; False if it is neither a dictionary nor the text of one."""
    if not isinstance(new_data, dict):
        import ast

        try:
            new_data = ast.literal_eval(new_data)
        except (SyntaxError, ValueError):
            return False
    return isinstance(new_data, dict) and _write(new_data)


def clear():
    """Remove all stored data."""
    try:
        safepath.unlink(_path())
    except OSError:
        pass
    return True


def update(key, value):
    """Store a value under a key."""
    return _write(dict(load(), **{key: value}))


def cas(key, value, old_value):
    """Store a value if the key's present value equals the old one; returns whether it did."""
    store = load()
    if key not in store or store[key] != old_value:
        return False
    return _write(dict(store, **{key: value}))


def pop(key, default=None):
    """Remove a key from the store and return its value."""
    store = load()
    if key not in store:
        return default
    value = store.pop(key)
    _write(store)
    return value


def get(key, default=None):
    """The value of a key, or of a list of keys: only of existing keys, or of all if there is a default."""
    store = load()
    if isinstance(key, str):
        return store.get(key, default)
    return [store.get(one, default) for one in key if default is not None or one in store]


def keys():
    """The keys of the store."""
    return list(load())


def values():
    """The values of the store."""
    return list(load().values())


def has_key(key):
    """Whether the store has this key."""
    return key in load()


def _path():
    return os.path.join(cachedir(__opts__), "datastore")


def _write(store):
    from thin import wire
    from thin.utils.files import atomic

    msgpack = wire.msgpack()

    try:
        atomic.makedirs(_path(), mode="0700")
        atomic.write(_path(), [msgpack.packb(store, use_bin_type=True)], mode=0o600)
    except (OSError, TypeError) as exc:
        raise CommandExecutionError("Cannot store in %s: %s" % (_path(), exc))
    return True
