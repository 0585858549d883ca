"""JSON; also accepts bytes. Salt: ``salt/utils/json.py``."""

from thin.utils.files import serial
from thin.wire import _plain


def loads(s, **kwargs):
    """Parse JSON. Raises ValueError if it is invalid."""
    kwargs.pop("encoding", None)
    kwargs.pop("_json_module", None)
    return serial.loads(s.decode("utf-8") if isinstance(s, (bytes, bytearray)) else s, **kwargs)


def load(fp, **kwargs):
    return loads(fp.read(), **kwargs)


def dumps(obj, **kwargs):
    """As ``json.dumps``, but without escapes for characters, and with other objects as the most similar JSON type."""
    kwargs.pop("_json_module", None)
    kwargs.pop("encoding", None)
    kwargs.setdefault("ensure_ascii", False)
    kwargs.setdefault("default", _plain)
    return serial.dumps(obj, **kwargs)


def dump(obj, fp, **kwargs):
    fp.write(dumps(obj, **kwargs))


def find_json(s):
    """The first JSON value in a text with other lines around it. Raises ValueError if there is none."""
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
