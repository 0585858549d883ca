"""Names, signatures and docstrings of functions, for the module ``sys``. ``functions`` maps names to functions."""

import fnmatch
import re

from thin.utils import args as signatures

_WORDS = (
    (".. note::", "Note:"),
    (".. warning::", "Warning:"),
    (".. versionadded::", "New in version"),
    (".. versionchanged::", "Changed in version"),
)


def chosen(functions, patterns):
    """The sorted names of functions whose module or name is one of ``patterns``, or that match a glob of these."""
    if not patterns:
        return sorted(functions)
    result = set()
    for pattern in patterns:
        if "*" in pattern:
            result.update(fnmatch.filter(functions, pattern))
        elif "." in pattern:
            result.update([pattern] if pattern in functions else [])
        else:
            result.update(_of(functions, pattern))
    return sorted(result)


def _of(functions, module):
    """The names of a module's functions. A thin.loader.Loader need not load other modules for this."""
    if hasattr(functions, "_load"):
        functions._load(module)
        functions = functions._functions
    return [name for name in functions if name.startswith(module + ".")]


def modules(functions, patterns):
    """The sorted names of modules: all, or those that match a glob."""
    names = {name.split(".")[0] for name in functions}
    return sorted(
        name for name in names if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    )


def argspecs(functions, pattern):
    """``{function: {args, defaults, varargs, kwargs}}`` of a module, or of functions that match a glob."""
    if "*" in pattern or "." in pattern:
        names = fnmatch.filter(functions, pattern) if "*" in pattern else [pattern] if pattern in functions else []
    else:
        names = _of(functions, pattern)
    return {name: argspec(functions[name]) for name in names}


def argspec(function):
    """The signature of a function, in the form of ``argspecs``. As in Salt, keyword-only arguments follow the
    others."""
    shape = signatures.spec(function)
    only = list(shape.kwonly)
    defaults = list(shape.defaults) + [
        shape.kwonly[name] for name in only if shape.kwonly[name] is not signatures.REQUIRED
    ]
    return {
        "args": shape.args + only or None,
        "defaults": defaults or None,
        "varargs": True if shape.varargs else None,
        "kwargs": True if shape.keywords else None,
    }


def plain(text):
    """A docstring without reStructuredText markup that is not useful on a terminal."""
    if not isinstance(text, str):
        return text
    text = re.sub(r" *\.\. code-block:: \S+\n{1,2}", "", text)
    for mark, word in _WORDS:
        text = text.replace(mark, word)
    return text


def schema(name, spec):
    """The JSON schema of a function's arguments from the result of ``argspec``; each may have any simple type."""
    args, defaults = spec["args"] or [], spec["defaults"] or []
    values = dict(zip(args[len(args) - len(defaults) :], defaults))
    properties = {}
    for arg in args:
        words = {"title": arg, "description": arg}
        if arg in values:
            words["default"] = values[arg]
        kinds = ("boolean", "integer", "number", "string")
        properties[arg] = {"oneOf": [dict(words, type=kind) for kind in kinds]}
    return {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "title": name,
        "description": name,
        "type": "object",
        "properties": properties,
        "x-ordering": args,
        "additionalProperties": False,
    }
