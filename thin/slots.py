"""``__slot__:salt:module.function(arg, key=value).path ~ suffix``: arguments computed when a state runs.

Salt: ``State.format_slots``, ``salt.utils.args.parse_function``.
"""

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils import data

MARK = "__slot__:"
#: The key of a chunk with the functions that its guards and slots may not call in a dry run: function -> reason (see
#: minion/dryrun.py).
REFUSED = "__refused__"
_CLOSING = {"[": "]", "{": "}", "(": ")"}

log = getLogger(__name__)


class Refused(CommandExecutionError):
    """A function was not called, because this is a dry run."""


class Allowed(object):
    """The functions without those that a chunk's guards and slots may not call."""

    def __init__(self, functions, refused):
        self._functions, self._refused = functions, refused

    def __contains__(self, name):
        return name in self._functions

    def __getitem__(self, name):
        if name in self._refused:
            raise Refused(self._refused[name])
        return self._functions[name]


def fill_all(values, functions):
    """The dict with the slots in its values replaced by results. Fast, since most values have no slot."""
    filled = dict(values)
    for key, value in values.items():
        if value.__class__ is str:
            if value.startswith(MARK):
                filled[key] = evaluate(value, functions)
        elif value is not None and value is not True and value is not False:
            filled[key] = fill(value, functions)
    return filled


def fill(value, functions):
    """The value with slots replaced by results: a text, values of a dict, items of a list and values of dicts in it."""
    if isinstance(value, str):
        return evaluate(value, functions) if value.startswith(MARK) else value
    if isinstance(value, dict):
        return {key: _text(value[key], functions) for key in value}
    if isinstance(value, list):
        return [fill(item, functions) if isinstance(item, (dict, str)) else item for item in value]
    return value


def _text(value, functions):
    return evaluate(value, functions) if isinstance(value, str) and value.startswith(MARK) else value


def evaluate(slot, functions):
    """The result of the slot's function; a malformed slot is returned unchanged, with a warning."""
    parts = slot.split(":", 2)
    if len(parts) != 3 or parts[1] != "salt":
        log.warning("Malformed slot: %s (it should start with __slot__:salt:)", slot)
        return slot
    name, args, kwargs = parse(parts[2])
    if not name or name not in functions:
        log.warning("Malformed slot: %s (it should be a call like test.arg('arg', kw='kwarg'))", slot)
        return slot
    result = functions[name](*args, **kwargs)
    call, _, suffix = parts[2].partition("~")
    path = call[call.rfind(")") + 1 :] if ")" in call else ""  # there may be a ~ inside of the brackets
    if "." in path:
        result = data.traverse_dict_and_list(result, path.split(".", 1)[1].strip(), None, ".")
    if suffix:
        if not isinstance(result, str):
            log.error("a slot's suffix can only be appended to text: its result has another type")
        else:
            suffix = suffix.strip()
            quoted = len(suffix) >= 2 and suffix[0] == suffix[-1] and suffix[0] in "\"'"
            result += suffix[1:-1] if quoted else suffix
    return result


def parse(text):
    """``(name, args, kwargs)`` of a call written as ``module.function(arg, key=value)``; Nones when it is none.

    Every value is text, without its quotes; brackets nest. Raises ValueError for a quote that has no end.
    """
    tokens = _tokens(text)
    name, part = "", None
    for part in tokens:
        if part == "(":
            break
        name += part
    if part != "(" or not name:
        return None, None, None
    word, args, kwargs, open_brackets, key = [], [], {}, [], None
    for part in tokens:
        if part in _CLOSING:
            open_brackets.append(part)
            word.append(part)
        elif part in (",", ")") and not open_brackets:
            if key:
                kwargs[key] = "".join(word)
            elif word:
                args.append("".join(word))
            if part == ")":
                return name, args, kwargs
            key, word = None, []
        elif part in _CLOSING.values():
            if not open_brackets or _CLOSING[open_brackets.pop()] != part:
                break
            word.append(part)
        elif part == "=" and not open_brackets:
            key, word = "".join(word), []
        else:
            word.append(part)
    return None, None, None


def _tokens(text):
    """Yield words, and each other character separately. As in Salt, a quoted character stays that character."""
    from thin.utils import words

    word, at = None, 0
    while at < len(text):
        char = text[at]
        if char in " \t\r\n#":
            at = text.find("\n", at) + 1 or len(text) if char == "#" else at + 1
        elif char in "'\"":
            inside, at = words.quoted(text, at + 1, char, escapes=True)
            word = (word or "") + inside
            continue
        elif char == "\\":
            if at + 1 == len(text):
                raise ValueError("No escaped character")
            word = (word or "") + text[at + 1]
            at += 2
            continue
        elif char == "_" or (char.isalnum() and (ord(char) < 128 or 192 <= ord(char) < 256)):
            word = (word or "") + char
            at += 1
            continue
        elif word is None:
            yield char
            at += 1
        if word is not None:
            yield word
        word = None
    if word is not None:
        yield word
