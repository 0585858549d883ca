"""The grains file of a minion that is or was on the machine (/etc/salt/grains).

There is no YAML parser on a target. ``parse`` supports the syntax of usual grains files: keys with text, numbers,
true/false, lists and mappings in block style, and lists and mappings in one line. It raises ValueError for other syntax
(anchors, tags, block texts); then the controller can parse the file.
"""

import re

_KEY = re.compile(
    r"""^(?:"([^"\\]*)"|'([^']*)'|([^\s\-?:,\[\]{}#&*!|>'"%@`][^:#]*?|-[^\s:#][^:#]*?))\s*:(?:\s+(.*))?$"""
)
_INTEGER = re.compile(r"^[-+]?\d[\d_]*$")
_FLOAT = re.compile(r"^[-+]?(\d[\d_]*)?\.\d+([eE][-+]\d+)?$|^[-+]?\d[\d_]*\.\d*([eE][-+]\d+)?$")
_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "false": False,
    "no": False,
    "off": False,
    "null": None,
    "~": None,
    "": None,
}
MAX_DEPTH = 20


def parse(text):
    """The mapping in the text. Raises ValueError for syntax that this reader does not support."""
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        stripped = _uncommented(raw)
        if not stripped.strip() or (stripped.strip() in ("---", "...") and not raw.startswith(" ")):
            continue
        if "\t" in stripped[: len(stripped) - len(stripped.lstrip())]:
            raise ValueError("line %d: a tab in the indentation" % number)
        lines.append((len(stripped) - len(stripped.lstrip(" ")), stripped.strip(), number))
    if not lines:
        return {}
    value, rest = _block(lines, 0, lines[0][0], 0)
    if rest != len(lines) or not isinstance(value, dict):
        raise ValueError("line %d: not a mapping" % lines[min(rest, len(lines) - 1)][2])
    return value


def _uncommented(line):
    quote = None
    for at, char in enumerate(line):
        if quote:
            quote = None if char == quote else quote
        elif char in "\"'" and (at == 0 or line[at - 1] in " [{,:"):
            quote = char
        elif char == "#" and (at == 0 or line[at - 1] in " \t"):
            return line[:at].rstrip()
    return line.rstrip()


def _block(lines, at, indent, depth):
    """(value, index of the next line) of the mapping or list at this indentation."""
    if depth > MAX_DEPTH:
        raise ValueError("line %d: nested too deeply" % lines[at][2])
    if lines[at][1] == "-" or lines[at][1].startswith("- "):
        return _list(lines, at, indent, depth)
    result = {}
    while at < len(lines) and lines[at][0] == indent:
        _, text, number = lines[at]
        match = _KEY.match(text)
        if not match:
            raise ValueError("line %d: no key" % number)
        quoted = match.group(1) if match.group(1) is not None else match.group(2)
        key = quoted if quoted is not None else _scalar(match.group(3), number)
        if key in result:
            raise ValueError("line %d: %r a second time" % (number, key))
        rest = match.group(4)
        at += 1
        if rest is not None and rest.strip():
            result[key] = _inline(rest.strip(), number)
        elif at < len(lines) and (
            lines[at][0] > indent or (lines[at][0] == indent and (lines[at][1] + " ").startswith("- "))
        ):
            result[key], at = _block(lines, at, lines[at][0], depth + 1)
        else:
            result[key] = None
    if at < len(lines) and lines[at][0] > indent:
        raise ValueError("line %d: indented without reason" % lines[at][2])
    return result, at


def _list(lines, at, indent, depth):
    entries = []
    while at < len(lines) and lines[at][0] == indent and (lines[at][1] + " ").startswith("- "):
        _, text, number = lines[at]
        rest = text[1:].strip()
        if not rest:
            at += 1
            if at < len(lines) and lines[at][0] > indent:
                value, at = _block(lines, at, lines[at][0], depth + 1)
            else:
                value = None
        elif (rest + " ").startswith("- ") or (rest[0] not in "[{\"'" and _KEY.match(rest)):
            # the item is a block that begins in this line
            inner = indent + len(text) - len(rest)
            lines[at] = (inner, rest, number)
            value, at = _block(lines, at, inner, depth + 1)
        else:
            value = _inline(rest, number)
            at += 1
        entries.append(value)
    return entries, at


def _inline(text, number):
    value, rest = _flow(text, number, 0)
    if rest.strip():
        raise ValueError("line %d: %r is left over" % (number, rest))
    return value


def _flow(text, number, depth):
    """(value, the text after it) of a value in one line."""
    if depth > MAX_DEPTH:
        raise ValueError("line %d: nested too deeply" % number)
    if text[0] in "\"'":
        end = text.find(text[0], 1)
        if end < 0 or "\\" in text[:end] or text[end : end + 2] == "''":
            raise ValueError("line %d: a quoted text with escapes" % number)
        return text[1:end], text[end + 1 :]
    if text[0] in "[{":
        return _collection(text, number, depth)
    if depth == 0:
        return _scalar(text, number), ""
    end = min([at for at in (text.find(char) for char in ",]}") if at >= 0] or [len(text)])
    return _scalar(text[:end].strip(), number), text[end:]


def _collection(text, number, depth):
    mapping, close = text[0] == "{", "}" if text[0] == "{" else "]"
    result, rest = ({} if mapping else []), text[1:].strip()
    while not rest.startswith(close):
        if not rest:
            raise ValueError("line %d: no %r" % (number, close))
        if mapping:
            key, colon, rest = rest.partition(":")
            if not colon or (rest[:1] not in ("", " ")):
                raise ValueError("line %d: no key" % number)
            key, rest = _scalar(key.strip().strip("\"'"), number), rest.strip() or close
            result[key], rest = (None, rest) if rest[0] in ",}" else _flow(rest, number, depth + 1)
        else:
            value, rest = _flow(rest, number, depth + 1)
            result.append(value)
        rest = rest.strip()
        if rest.startswith(","):
            rest = rest[1:].strip()
        elif not rest.startswith(close):
            raise ValueError("line %d: no %r" % (number, close))
    return result, rest[1:]


def _scalar(text, number):
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text[0] in "&*!|>%@`" or ": " in text or text.endswith(":"):
        raise ValueError("line %d: %r is beyond this reader" % (number, text))
    if _INTEGER.match(text):
        digits = text.lstrip("+-").replace("_", "")
        if len(digits) > 1 and digits.startswith("0"):
            raise ValueError("line %d: is %s a number?" % (number, text))
        return int(text.replace("_", ""))
    if _FLOAT.match(text) and text.strip("+-") != ".":
        return float(text.replace("_", ""))
    if re.match(r"^\d+(:\d+)+$|^[-+]?0[xob]|^[-+]?\.(inf|nan)$", text, re.IGNORECASE):
        raise ValueError("line %d: %r is beyond this reader" % (number, text))
    return text
