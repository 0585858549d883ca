"""JSON, whose texts may be bytes. Salt: ``salt/utils/json.py``."""

from thin.utils.files import serial
from thin.wire import _plain


def loads(s, **kwargs):
    """Raises ValueError for an invalid JSON."""
    kwargs.pop("encoding", None)
    kwargs.pop("_json_module", None)
    return serial.loads(s.decode("utf-8") if isinstance(s, (bytes, bytearray)) else s, **kwargs)


def load(fp, **kwargs):
    return loads(fp.read(), **kwargs)


def dumps(obj, **kwargs):
    """As ``json.dumps``, with characters as they are and objects as what they are nearest to."""
    kwargs.pop("_json_module", None)
    kwargs.pop("encoding", None)
    kwargs.setdefault("ensure_ascii", False)
    kwargs.setdefault("default", _plain)
    return serial.dumps(obj, **kwargs)


def dump(obj, fp, **kwargs):
    fp.write(dumps(obj, **kwargs))


def find_json(s):
    """The first JSON value in a text that has other lines around it. Raises ValueError if there is none."""
    import json

    decoder = json.JSONDecoder()
    for at, char in enumerate(s):
        if char in "{[" and (at == 0 or s[:at].rpartition("\n")[2].strip() == ""):
            try:
                return decoder.raw_decode(s, at)[0]
            except ValueError:
                continue
    raise ValueError("no JSON in the text")


def import_json():
    import json

    return json
