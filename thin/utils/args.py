"""Signatures of functions, and calls with data, without ``inspect``, whose import takes 10 ms."""

from thin.exceptions import SaltInvocationError

_VARARGS, _KEYWORDS = 0x04, 0x08
_FUNCTION = type(lambda: None)


class Spec(object):
    """``args``: positional names in order; ``defaults``: tuple of the values of the last of them; ``varargs``,
    ``keywords``: the names of ``*args`` and ``**kwargs``, or None; ``kwonly``: {name: default}, REQUIRED without one.
    """

    def __init__(self, args, varargs, keywords, defaults, kwonly):
        self.args, self.varargs, self.keywords = args, varargs, keywords
        self.defaults, self.kwonly = defaults, kwonly

    @property
    def required(self):
        """Names that have no default."""
        cut = len(self.args) - len(self.defaults)
        return self.args[:cut] + [name for name in self.kwonly if self.kwonly[name] is REQUIRED]

    @property
    def optional(self):
        """{name: default} of the others."""
        cut = len(self.args) - len(self.defaults)
        optional = dict(zip(self.args[cut:], self.defaults))
        optional.update((name, value) for name, value in self.kwonly.items() if value is not REQUIRED)
        return optional


class _Required(object):
    def __repr__(self):
        return "REQUIRED"


REQUIRED = _Required()


#: function -> (its code, defaults and those of keyword-only arguments, and its Spec), for functions of modules
_SPECS = {}
_SPECS_MOST = 2000


def spec(function):
    """The Spec of a function; of the wrapped one for decorated functions (``__wrapped__``); partials are resolved.

    It must not be changed.
    """
    if type(function) is not _FUNCTION or hasattr(function, "__wrapped__"):
        return _spec(function)
    code, defaults, only = function.__code__, function.__defaults__, function.__kwdefaults__
    spec = _SPECS.get(function)
    if spec is None or spec[0] is not code or spec[1] is not defaults or spec[2] is not only:
        spec = code, defaults, only, _spec(function)
        if len(_SPECS) < _SPECS_MOST:
            _SPECS[function] = spec
    return spec[3]


def _spec(function):
    bound, given = 0, {}
    while True:
        if hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "func") and hasattr(function, "keywords"):  # functools.partial
            bound += len(function.args)
            given = dict(function.keywords or {}, **given)
            function = function.func
        elif hasattr(function, "__func__"):
            bound, function = bound + 1, function.__func__
        else:
            break
    if not hasattr(function, "__code__"):
        return _slow(function)
    code = function.__code__
    names, count = list(code.co_varnames), code.co_argcount
    only = names[count : count + code.co_kwonlyargcount]
    rest = names[count + code.co_kwonlyargcount :]
    varargs = rest.pop(0) if code.co_flags & _VARARGS else None
    keywords = rest.pop(0) if code.co_flags & _KEYWORDS else None
    defaults = function.__defaults__ or ()
    args = names[:count]
    values = dict(zip(args[count - len(defaults) :], defaults))
    values.update(given)
    args = args[bound:]
    # A value of a partial makes its argument optional, and those after it keyword-only.
    cut = next((at for at, name in enumerate(args) if name in given), len(args))
    kwonly = {name: values.get(name, REQUIRED) for name in args[cut:]}
    kwonly.update((name, (function.__kwdefaults__ or {}).get(name, REQUIRED)) for name in only)
    args = args[:cut]
    tail = [values[name] for name in args if name in values]
    return Spec(args, varargs, keywords, tuple(tail), kwonly)


def _slow(function):
    import inspect

    args, varargs, keywords, defaults, kwonly = [], None, None, [], {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return Spec([], "args", "kwargs", (), {})
    for item in parameters:
        if item.kind == item.VAR_POSITIONAL:
            varargs = item.name
        elif item.kind == item.VAR_KEYWORD:
            keywords = item.name
        elif item.kind == item.KEYWORD_ONLY:
            kwonly[item.name] = REQUIRED if item.default is item.empty else item.default
        else:
            args.append(item.name)
            if item.default is not item.empty:
                defaults.append(item.default)
    return Spec(args, varargs, keywords, tuple(defaults), kwonly)


def bind(function, data, ignored=(), label=None):
    """``(args, kwargs)`` to call ``function`` with the items of a dict, as for a state's chunk.

    ``ignored``: keys that are no arguments. Raises SaltInvocationError for missing arguments and for unknown
    keys. Salt: ``salt.utils.args.format_call``.
    """
    shape = spec(function)
    data = dict(data)
    kwargs = {name: data.pop(name, default) for name, default in shape.optional.items()}
    required = shape.args[: len(shape.args) - len(shape.defaults)]
    missing = [name for name in shape.required if name not in data]
    if missing:
        count = len(shape.required)
        raise SaltInvocationError(
            "%s takes at least %d argument%s (%d given)"
            % (function.__name__, count, "s" if count > 1 else "", count - len(missing))
        )
    args = [data.pop(name) for name in required]
    kwargs.update((name, data.pop(name)) for name in shape.required[len(required) :])
    extra = {key: data[key] for key in data if key not in ignored}
    if shape.keywords:
        kwargs.update(extra)
    elif extra:
        raise SaltInvocationError(unknown_words(list(extra), label or function.__name__))
    return args, kwargs


def unknown_words(names, label):
    """Salt's error text about unknown arguments."""
    if len(names) == 1:
        return "'%s' is an invalid keyword argument for '%s'" % (names[0], label)
    return "%s and '%s' are invalid keyword arguments for '%s'" % (
        ", ".join("'%s'" % name for name in names[:-1]),
        names[-1],
        label,
    )
