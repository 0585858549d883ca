"""Reads, compares and matches nested data by Salt's rules. Salt: ``salt.utils.data``."""

import copy
from collections.abc import Mapping

DELIMITER = ":"


def traverse_dict_and_list(data, key, default=None, delimiter=DELIMITER):
    """The value at the path ``key`` (``a:b:0``) of dict keys and list indexes, or ``default``.

    A name is searched in the dicts of a list. ``key`` may also be a list of names, or a number.
    """
    if isinstance(key, str):
        key = key.split(delimiter)
    elif isinstance(key, int):
        key = [key]
    for each in key:
        if isinstance(data, list):
            data = _in_list(data, each)
        else:
            data = _in_dict(data, each)
        if data is _MISSING:
            return default
    return data


def traverse_dict(data, key, default=None, delimiter=DELIMITER):
    """As ``traverse_dict_and_list``, through dicts only."""
    for each in key.split(delimiter):
        try:
            data = data[each]
        except (KeyError, IndexError, TypeError):
            return default
    return data


_MISSING = object()


def _in_dict(data, each):
    try:
        return data[each]
    except TypeError:
        return _MISSING
    except KeyError:
        pass
    number = scalar(each)
    try:
        return _MISSING if number is each else data[number]
    except (KeyError, TypeError):
        return _MISSING


def _in_list(data, each):
    try:
        index = int(each)
    except (TypeError, ValueError):
        index = None
    for item in data:
        name = each if index is None else index
        if isinstance(item, dict) and name in item:
            return item[name]
    try:
        return _MISSING if index is None else data[index]
    except IndexError:
        return _MISSING


def scalar(text):
    """The number, boolean or None that a plain text is in YAML, else the text."""
    if not isinstance(text, str):
        return text
    constants = {"true": True, "false": False, "null": None, "none": None, "~": None}
    if text.lower() in constants:
        return constants[text.lower()]
    for kind in (int, float):
        try:
            if text.strip() == text and "_" not in text:
                return kind(text)
        except ValueError:
            pass
    return text


def subdict_match(data, expr, delimiter=DELIMITER, regex_match=False, exact_match=False):
    """Whether ``path:pattern`` matches: a glob, regular expression or exact text, case-insensitively.

    Every position of the delimiter is tried as the border of path and pattern, so that both may contain it. ``*`` in
    the path matches any key. The value may be a dict (its keys are matched), a list (any item) or a scalar.
    """

    def same(value, pattern):
        value, pattern = str(value).lower(), str(pattern).lower()
        if regex_match:
            import re

            try:
                return re.match(pattern, value) is not None
            except re.error:
                return False
        if exact_match:
            return value == pattern
        import fnmatch

        return fnmatch.fnmatch(value, pattern)

    def in_dict(value, pattern):
        wildcard = pattern.startswith("*:")
        pattern = pattern[2:] if wildcard else pattern
        if pattern == "*" or pattern in value or any(same(key, pattern) for key in value):
            return True
        if subdict_match(value, pattern, regex_match=regex_match, exact_match=exact_match):
            return True
        if not wildcard:
            return False
        return any(
            in_dict(item, pattern)
            if isinstance(item, dict)
            else any(same(one, pattern) for one in item)
            if isinstance(item, list)
            else same(item, pattern)
            for item in value.values()
        )

    parts = expr.split(delimiter)
    for cut in range(len(parts) - 1, 0, -1):
        path, pattern = delimiter.join(parts[:cut]), delimiter.join(parts[cut:])
        if path == "*":
            result, pattern = data, expr
        else:
            result = traverse_dict_and_list(data, path, {}, delimiter)
        if isinstance(result, dict):
            if result and in_dict(result, pattern):
                return True
        elif isinstance(result, (list, tuple)):
            if any((isinstance(item, dict) and in_dict(item, pattern)) or same(item, pattern) for item in result):
                return True
        elif same(result, pattern):
            return True
    return False


def filter_by(lookup_dict, lookup, traverse, merge=None, default="default", base=None):
    """The value of the key in ``lookup_dict`` (a glob) that matches the value of ``lookup`` in ``traverse``.

    The first match is used, else the entry ``default``. The result is merged over the entry ``base``, and ``merge``
    over the result. Raises SaltException if one of them is no dict.
    """
    import fnmatch

    from thin.exceptions import SaltException
    from thin.utils import dictupdate

    ret = None
    values = traverse_dict_and_list(traverse, lookup, [])
    for value in values if isinstance(values, list) else [values]:
        ret = next((lookup_dict[key] for key in lookup_dict if fnmatch.fnmatchcase(str(value), str(key))), None)
        if ret is not None:
            break
    if ret is None:
        ret = lookup_dict.get(default)
    if base and base in lookup_dict:
        below = lookup_dict[base]
        if ret is None:
            ret = below
        elif isinstance(below, Mapping):
            if not isinstance(ret, Mapping):
                raise SaltException("filter_by default and look-up values must both be dictionaries.")
            ret = dictupdate.update(copy.deepcopy(below), ret)
    if not merge:
        return ret
    if not isinstance(merge, Mapping):
        raise SaltException("filter_by merge argument must be a dictionary.")
    return merge if ret is None else dictupdate.update(ret, copy.deepcopy(merge))


def compare_dicts(old=None, new=None):
    """``{key: {"old": …, "new": …}}`` of the keys that differ; a missing value is ``""``."""
    old, new = old or {}, new or {}
    ret = {}
    for key in list(old) + [key for key in new if key not in old]:
        if key not in old or key not in new or old[key] != new[key]:
            ret[key] = {"old": old.get(key, ""), "new": new.get(key, "")}
    return ret


def compare_lists(old=None, new=None):
    """``{"old": removed items, "new": added items}``, each only if there are any."""
    old, new = old or [], new or []
    both = {"new": [item for item in new if item not in old], "old": [item for item in old if item not in new]}
    return {key: both[key] for key in both if both[key]}


def recursive_diff(old, new, ignore_missing_keys=False):
    """``{"old": …, "new": …}`` reduced to the differences, at any depth; ``{}`` if there are none."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        left, right = {}, {}
        for key in list(old) + [key for key in new if key not in old]:
            if key not in new:
                if not ignore_missing_keys:
                    left[key] = old[key]
            elif key not in old:
                right[key] = new[key]
            else:
                inner = recursive_diff(old[key], new[key], ignore_missing_keys)
                if inner:
                    left[key], right[key] = inner["old"], inner["new"]
        return {"old": left, "new": right} if left or right else {}
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        inner = [recursive_diff(one, other, ignore_missing_keys) for one, other in zip(old, new)]
        count = len(inner)
        left = [item["old"] for item in inner if item] + list(old[count:])
        right = [item["new"] for item in inner if item] + list(new[count:])
        return {"old": type(old)(left), "new": type(new)(right)} if left or right else {}
    if isinstance(old, set) and isinstance(new, set):
        return {"old": old - new, "new": new - old} if old != new else {}
    return {} if old == new else {"old": old, "new": new}


def repack_dictlist(data):
    """One dict from a list of one-key dicts, which YAML lists of ``key: value`` are; plain items get the value None.

    ``{}`` for other data.
    """
    if not isinstance(data, list):
        return {}
    ret = {}
    for item in data:
        if isinstance(item, dict) and len(item) == 1:
            ret.update(item)
        elif isinstance(item, (str, int, float)):
            ret[item] = None
        else:
            return {}
    return ret


def is_dictlist(data):
    """Whether the data are a list of dicts with one key each."""
    return isinstance(data, list) and all(isinstance(item, dict) and len(item) == 1 for item in data)


def is_true(value=None):
    """Whether a value is true: a number over 0, the text ``true``, or another value that is true in Python."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        pass
    if isinstance(value, float):
        return value > 0
    return value.lower() == "true" if isinstance(value, str) else bool(value)


def decode(data):
    """The data with all bytes decoded to text, recursively; bytes that are not UTF-8 stay."""
    if isinstance(data, bytes):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data
    if isinstance(data, dict):
        return {decode(key): decode(data[key]) for key in data}
    if isinstance(data, list):
        return [decode(item) for item in data]
    if isinstance(data, tuple):
        return tuple(decode(item) for item in data)
    return data
