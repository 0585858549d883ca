"""Nested data. Salt: ``salt/utils/data.py``."""

from thin.utils.data import (  # noqa: F401
    compare_dicts,
    compare_lists,
    filter_by,
    is_dictlist,
    is_true,
    recursive_diff,
    subdict_match,
    traverse_dict,
    traverse_dict_and_list,
)
from thin.utils.data import repack_dictlist as _repack


def repack_dictlist(data, strict=False, recurse=False, key_cb=None, val_cb=None):
    """A dict from a list of dicts and strings, ``{}`` for other data."""
    result = _repack(data)
    if not isinstance(result, dict):
        return {}
    if recurse:
        result = {
            key: repack_dictlist(value, strict, True, key_cb, val_cb) if is_dictlist(value) else value
            for key, value in result.items()
        }
    key_cb, val_cb = key_cb or (lambda key: key), val_cb or (lambda key, value: value)
    return {key_cb(key): val_cb(key, value) for key, value in result.items()}


def _changed(data, leaf, preserve_tuples, keys=True):
    if isinstance(data, dict):
        return {
            (_changed(key, leaf, True) if keys else key): _changed(value, leaf, preserve_tuples, keys)
            for key, value in data.items()
        }
    if isinstance(data, tuple):
        result = [_changed(item, leaf, preserve_tuples, keys) for item in data]
        return tuple(result) if preserve_tuples else result
    if isinstance(data, (list, set, frozenset)):
        result = [_changed(item, leaf, preserve_tuples, keys) for item in data]
        return result if isinstance(data, list) else type(data)(result)
    return leaf(data)


def decode(
    data,
    encoding=None,
    errors="strict",
    keep=False,
    normalize=False,
    preserve_dict_class=False,
    preserve_tuples=False,
    to_str=False,
):
    """The data with all bytes decoded to text; ``keep``: bytes that cannot be decoded stay."""

    def leaf(value):
        if not isinstance(value, (bytes, bytearray)):
            return value
        try:
            return bytes(value).decode(encoding or "utf-8", errors)
        except UnicodeDecodeError:
            if not keep:
                raise
            return value

    return _changed(data, leaf, preserve_tuples)


def encode(data, encoding=None, errors="strict", keep=False, preserve_dict_class=False, preserve_tuples=False):
    """The data with all text encoded to bytes."""

    def leaf(value):
        if not isinstance(value, str):
            return value
        try:
            return value.encode(encoding or "utf-8", errors)
        except UnicodeEncodeError:
            if not keep:
                raise
            return value

    return _changed(data, leaf, preserve_tuples)


decode_dict = decode_list = decode
encode_dict = encode_list = encode


def decode_tuple(data, *args, **kwargs):
    return tuple(decode_list(list(data), *args, **kwargs))


def encode_tuple(data, *args, **kwargs):
    return tuple(encode_list(list(data), *args, **kwargs))


def to_lowercase(data, preserve_dict_class=False):
    return _changed(data, lambda value: value.lower() if isinstance(value, str) else value, True)


def to_uppercase(data, preserve_dict_class=False):
    return _changed(data, lambda value: value.upper() if isinstance(value, str) else value, True)


def exactly_n(iterable, amount=1):
    """Whether exactly ``amount`` items are true."""
    return sum(1 for item in iterable if item) == amount


def exactly_one(iterable):
    return exactly_n(iterable)


def substr_in_list(string_to_search_for, list_to_search):
    return any(string_to_search_for in item for item in list_to_search)


def is_list(value):
    return isinstance(value, list)


def is_iter(thing, ignore=(str,)):
    """Whether the value is iterable and not of a type in ``ignore``."""
    return not isinstance(thing, ignore) and hasattr(thing, "__iter__")


def sorted_ignorecase(to_sort):
    return sorted(to_sort, key=str.lower)


def mysql_to_dict(data, key):
    """The rows of a table that ``mysql`` printed, by the column ``key``."""
    ret, headers = {}, []
    for line in data:
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells:
            continue
        if not headers:
            headers = cells
            continue
        row = dict(zip(headers, (int(cell) if cell.isdigit() else cell for cell in cells)))
        if key in row:
            ret[str(row[key])] = row
    return ret


def simple_types_filter(data):
    """The data with all values except numbers, strings, None, lists and dicts replaced by their ``repr``."""
    if isinstance(data, dict):
        return {
            key if isinstance(key, (str, int, float, bool)) else repr(key): simple_types_filter(value)
            for key, value in data.items()
        }
    if isinstance(data, (list, tuple)):
        return [simple_types_filter(item) for item in data]
    return data if data is None or isinstance(data, (str, int, float, bool, bytes)) else repr(data)


def stringify(data):
    """A list with all items as strings."""
    return [item if isinstance(item, str) else str(item) for item in data]


def filter_falsey(data, recurse_depth=None, ignore_types=()):
    """The data without false values, except for those of ``ignore_types``."""

    def kept(value):
        return bool(value) or type(value) in ignore_types

    def inner(value):
        deeper = recurse_depth is not None and recurse_depth > 0 and isinstance(value, (dict, list))
        return filter_falsey(value, recurse_depth - 1, ignore_types) if deeper else value

    if isinstance(data, dict):
        pairs = [(key, inner(value)) for key, value in data.items()]
        return type(data)((key, value) for key, value in pairs if kept(value))
    if isinstance(data, (list, set, tuple)):
        return type(data)(value for value in (inner(item) for item in data) if kept(value))
    return data


def flatten(data, levels=None, preserve_nulls=False, _ids=None):
    """One list from nested lists, ``levels`` deep at most; None is left out unless ``preserve_nulls``."""
    ret = []
    for item in data:
        if item is None or item == "None":
            ret += [item] if preserve_nulls else []
        elif is_iter(item, ignore=(str, dict, bytes)) and (levels is None or levels >= 1):
            ret += flatten(item, None if levels is None else levels - 1, preserve_nulls)
        else:
            ret.append(item)
    return ret


def get_value(obj, path, default=None):
    """``[{"value": …}]`` for a path such as ``a:{id}:c``. A name in braces matches every key, and adds the key under
    this name."""
    result = [{"value": obj}]
    for word in path.split(":") if path else ():
        step = []
        for item in result:
            value = item["value"]
            if word.startswith("{") and word.endswith("}"):
                if value is None:
                    step.append(item)
                step += [dict(item, value=one, **{word[1:-1]: key}) for key, one in _pairs(value)]
            elif isinstance(value, dict) and word in value:
                step.append(dict(item, value=value[word]))
            else:
                step.append(dict(item, value=None if value is None else default))
        result = step
    return result


def _pairs(value):
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()


def hash(value, algorithm="sha512"):
    """The hexadecimal digest of a text."""
    import hashlib

    return hashlib.new(algorithm, value.encode("utf-8") if isinstance(value, str) else value).hexdigest()


def sample(value, size, seed=None):
    import random

    return random.Random(seed).sample(list(value), size)  # noqa: S311


def shuffle(value, seed=None):
    return sample(value, len(value), seed)


def to_entries(data):
    """``[{"key": …, "value": …}]`` of a dict or list."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    return [{"key": key, "value": value} for key, value in pairs]


def from_entries(entries):
    """The inverse of ``to_entries``; the key may also be called ``name``."""
    ret = {}
    for entry in entries:
        lower = {key.lower(): value for key, value in entry.items()}
        ret[lower.get("key", lower.get("name"))] = lower.get("value")
    return ret


class CaseInsensitiveDict(dict):
    """A dict with case-insensitive keys; it keeps the last spelling of each."""

    def __init__(self, init=None, **kwargs):
        super(CaseInsensitiveDict, self).__init__()
        self._names = {}
        self.update(init or {}, **kwargs)

    def update(self, other=(), **kwargs):
        for key, value in dict(other, **kwargs).items():
            self[key] = value

    def __setitem__(self, key, value):
        self.pop(key, None)
        self._names[key.lower()] = key
        dict.__setitem__(self, key, value)

    def __getitem__(self, key):
        return dict.__getitem__(self, self._names[key.lower()])

    def __delitem__(self, key):
        dict.__delitem__(self, self._names.pop(key.lower()))

    def __contains__(self, key):
        return key.lower() in self._names

    def get(self, key, default=None):
        return self[key] if key in self else default

    def pop(self, key, *default):
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value
