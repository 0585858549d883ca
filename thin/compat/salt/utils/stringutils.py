"""Text. Salt: ``salt/utils/stringutils.py``."""

import fnmatch
import re


def to_bytes(s, encoding=None, errors="strict"):
    """Text encoded to bytes; bytes are returned unchanged. Raises TypeError for other types."""
    if isinstance(s, (bytes, bytearray)):
        return bytes(s)
    if isinstance(s, str):
        return s.encode(encoding or "utf-8", errors)
    raise TypeError("expected str, bytes, or bytearray not %s" % type(s))


def to_unicode(s, encoding=None, errors="strict", normalize=False):
    """Bytes decoded to text; text is returned unchanged. Raises TypeError for other types."""
    if isinstance(s, (bytes, bytearray)):
        s = bytes(s).decode(encoding or "utf-8", errors)
    elif not isinstance(s, str):
        raise TypeError("expected str, bytes, or bytearray not %s" % type(s))
    if normalize:
        import unicodedata

        s = unicodedata.normalize("NFC", s)
    return s


to_str = to_unicode


def to_num(text):
    """The number in a text, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            pass
    return text


def to_none(text):
    """None for an empty text, else the text."""
    return text if str(text).strip() else None


def is_quoted(value):
    """The quote at the beginning and the end of a text, or ""."""
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[0]
    return ""


def dequote(value):
    return value[1:-1] if is_quoted(value) else value


def is_hex(value):
    """Whether a text is a hexadecimal number."""
    try:
        int(value, 16)
    except (TypeError, ValueError):
        return False
    return True


def is_binary(data):
    """Whether data do not look like text."""
    from thin.utils.files import diff

    if not data:
        return False
    return diff.is_binary(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)


def random(size=32):
    """Random characters, as in base64."""
    import base64
    import os

    return to_unicode(base64.b64encode(os.urandom(size))[:size])


def contains_whitespace(text):
    return any(char.isspace() for char in text)


def human_to_bytes(size, default_unit="B", handle_metric=False):
    """The bytes of ``10M``, ``1.5 GiB``, ``2GB``; 0 for an invalid size. Units are powers of 1024; with
    ``handle_metric``, those in the form ``MB`` are powers of 1000."""
    match = re.match(r"\s*([\d.]+)\s*([A-Za-z]*)\s*$", str(size))
    if not match:
        return 0
    number, unit = match.group(1), (match.group(2) or default_unit).upper()
    power = "BKMGTPEZY".find(unit[0])
    if power < 0 or unit[1:] not in ("", "B", "IB"):
        return 0
    base = 1000 if handle_metric and unit[1:] == "B" else 1024
    try:
        return int(base**power * (float(number) if "." in number else int(number)))
    except ValueError:
        return 0


def build_whitespace_split_regex(text):
    """A regular expression for the text with any white space in place of its white space."""
    lines = ("".join(r"(?:[\s]+)?%s" % re.escape(word) for word in line.split()) for line in text.splitlines())
    return r"(?m)^%s(?:[\s]+)?$" % r"(?:[\s]+)?".join(lines)


def expr_match(line, expr):
    """Whether a line equals the expression, or matches it as a glob or as a whole as a regular expression."""
    if line == expr or fnmatch.fnmatch(line, expr):
        return True
    try:
        return re.match(r"\A(?:%s)\Z" % expr, line) is not None
    except (re.error, TypeError):
        return False


def check_whitelist_blacklist(value, whitelist=None, blacklist=None):
    """Whether a value is allowed: on the whitelist, if there is one, and not on the blacklist."""

    def listed(patterns):
        if isinstance(patterns, str):
            patterns = [patterns]
        if not hasattr(patterns, "__iter__"):
            raise TypeError("Expecting iterable, but got %s (%s)" % (type(patterns).__name__, patterns))
        return any(expr_match(value, one) for one in patterns)

    if blacklist and listed(blacklist):
        return False
    return listed(whitelist) if whitelist else True


def check_include_exclude(path_str, include_pat=None, exclude_pat=None):
    """Whether a path is selected; patterns are globs, or regular expressions after ``E@``."""
    from thin.utils.files import walk

    return walk.check_include_exclude(path_str, include_pat, exclude_pat)


def print_cli(msg, retries=10, step=0.01):
    print(msg)


def get_context(template, line, num_lines=5, marker=None):
    """The lines around a line of a template, with that line marked."""
    lines = template.splitlines()
    if line > len(lines):
        return template
    start, end = max(0, line - num_lines - 1), min(len(lines), line + num_lines)
    out = lines[start:end]
    if start:
        out.insert(0, "[...]")
    if end < len(lines):
        out.append("[...]")
    at = line - 1 - start + (1 if start else 0)
    out[at] += marker or ""
    return "---\n%s\n---" % "\n".join(out)


def get_diff_list(a, b, *args, **kwargs):
    """The lines of a unified diff."""
    import difflib

    return list(difflib.unified_diff(list(map(to_unicode, a)), list(map(to_unicode, b)), *args, **kwargs))


def get_diff(a, b, *args, **kwargs):
    return "".join(get_diff_list(a, b, *args, **kwargs))


def camel_to_snake_case(camel_input):
    """``some_vm_name`` from ``SomeVMName``."""
    out = ""
    for at, char in enumerate(camel_input):
        before, after = camel_input[at - 1 : at], camel_input[at + 1 : at + 2]
        if char.isupper() and at and (before.islower() or (after.islower() and before != "_")):
            out += "_"
        out += char
    return out.lower()


def snake_to_camel_case(snake_input, uppercamel=False):
    """``someName``, or ``SomeName``, from ``some_name``."""
    first, *words = snake_input.split("_")
    return (first.capitalize() if uppercamel else first) + "".join(word.capitalize() for word in words)
