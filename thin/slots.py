"""``__slot__:salt:module.function(arg, key=value).path ~ suffix``: arguments computed when a state runs.

Salt: ``State.format_slots``, ``salt.utils.args.parse_function``.
"""

from thin.log import getLogger
from thin.utils import data

MARK = "__slot__:"
_CLOSING = {"[": "]", "{": "}", "(": ")"}

log = getLogger(__name__)


def fill(value, functions):
    """The value with its slots called: a text itself, the values of a dict, the items of a list and the dicts in it."""
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
    """What the slot's function returns; the slot itself, with a warning, when it is malformed."""
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
    path = call[call.rindex(")") + 1:]
    if "." in path:
        result = data.traverse_dict_and_list(result, path.split(".", 1)[1].strip(), None, ".")
    if suffix:
        if not isinstance(result, str):
            log.error("Ignoring slot append, slot result is not a string")
        else:
            suffix = suffix.strip()
            quoted = len(suffix) >= 2 and suffix[0] == suffix[-1] and suffix[0] in "\"'"
            result += suffix[1:-1] if quoted else suffix
    return result


def parse(text):
    """``(name, args, kwargs)`` of a call written as ``module.function(arg, key=value)``; Nones when it is none.

    Every value is text, without its quotes; brackets nest.
    """
    from thin.utils import words

    tokens = words.tokens(text, special="()[]{},=", escapes="\"'", comment="#")
    name, word, args, kwargs, open_brackets, key = "", [], [], {}, [], None
    try:
        for part in tokens:
            if part == "(":
                break
            name += part
        else:
            return None, None, None
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
                    return (name, args, kwargs) if name else (None, None, None)
                key, word = None, []
            elif part in _CLOSING.values():
                if not open_brackets or _CLOSING[open_brackets.pop()] != part:
                    break
                word.append(part)
            elif part == "=" and not open_brackets:
                key, word = "".join(word), []
            else:
                word.append(part)
    except ValueError:  # an open quote
        pass
    return None, None, None
