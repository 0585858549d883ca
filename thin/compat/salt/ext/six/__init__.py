"""The parts of six that modules for Python 2 and 3 import, for Python 3 only."""

import builtins
import functools
import io
import operator
import sys

PY2, PY3, PY34 = False, True, True
MAXSIZE = sys.maxsize
string_types = (str,)
integer_types = (int,)
class_types = (type,)
text_type = str
binary_type = bytes
StringIO, BytesIO = io.StringIO, io.BytesIO
unichr, byte2int, indexbytes, iterbytes = chr, operator.itemgetter(0), operator.getitem, iter
wraps, exec_, print_ = functools.wraps, builtins.exec, builtins.print
next = advance_iterator = builtins.next
callable = builtins.callable


def int2byte(number):
    return bytes((number,))


def iterkeys(data, **kwargs):
    return iter(data.keys(**kwargs))


def itervalues(data, **kwargs):
    return iter(data.values(**kwargs))


def iteritems(data, **kwargs):
    return iter(data.items(**kwargs))


viewkeys, viewvalues, viewitems = dict.keys, dict.values, dict.items


def u(text):
    return text


def b(text):
    return text.encode("latin-1")


def ensure_text(value, encoding="utf-8", errors="strict"):
    return value.decode(encoding, errors) if isinstance(value, bytes) else value


ensure_str = ensure_text


def ensure_binary(value, encoding="utf-8", errors="strict"):
    return value.encode(encoding, errors) if isinstance(value, str) else value


def reraise(kind, value, tb=None):
    raise (kind() if value is None else value).with_traceback(tb)


def raise_from(value, cause):
    raise value from cause


def with_metaclass(meta, *bases):
    return meta("temporary_class", bases, {})


def add_metaclass(meta):
    def wrap(cls):
        body = {key: value for key, value in vars(cls).items() if key not in ("__dict__", "__weakref__")}
        return meta(cls.__name__, cls.__bases__, body)

    return wrap


def python_2_unicode_compatible(cls):
    return cls
