"""Arguments of functions. Salt: ``salt/utils/args.py``."""

from collections import namedtuple

from thin.exceptions import SaltInvocationError
from thin.utils import args as signatures
from thin.utils.words import split

_WORDS = {"yes": True, "on": True, "no": False, "off": False}  # as in YAML 1.1

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")


def clean_kwargs(**kwargs):
    """The arguments without those that Salt adds (``__pub_fun`` and others)."""
    return {key: value for key, value in kwargs.items() if not key.startswith("__")}


def invalid_kwargs(invalid_kwargs, raise_exc=True):
    """Raise SaltInvocationError that names these arguments, or return its text."""
    text = "The following keyword arguments are not valid: %s" % ", ".join(
        "%s=%s" % (key, invalid_kwargs[key]) for key in invalid_kwargs
    )
    if raise_exc:
        raise SaltInvocationError(text)
    return text


def get_function_argspec(func, is_class_method=None):
    """args, varargs, keywords, defaults of a function or method; the last two are None if there are none."""
    if not callable(func):
        raise TypeError("Cannot inspect argument list for '%s'" % (func,))
    if not hasattr(func, "__code__"):
        import inspect

        spec = inspect.getfullargspec(func)
        args, varargs, keywords, defaults = spec.args, spec.varargs, spec.varkw, spec.defaults
    else:
        spec = signatures.spec(func)
        args, varargs, keywords = list(spec.args), spec.varargs, spec.keywords
        defaults = tuple(spec.defaults) or None
    bound = hasattr(func, "__self__") and isinstance(getattr(func, "__func__", None), type(get_function_argspec))
    if (bound or is_class_method) and args and args[0] in ("self", "cls"):
        args = args[1:]
    return ArgSpec(args, varargs, keywords, defaults)


def arg_lookup(fun, aspec=None):
    """``{"args": [names], "kwargs": {name: default}}``."""
    aspec = aspec or get_function_argspec(fun)
    cut = len(aspec.args) - len(aspec.defaults or ())
    return {"args": list(aspec.args[:cut]), "kwargs": dict(zip(aspec.args[cut:], aspec.defaults or ()))}


def shlex_split(s, **kwargs):
    """The words of a shell line; a value that is not text is returned unchanged."""
    if not isinstance(s, str):
        return s
    if kwargs:
        import shlex

        return shlex.split(s, **kwargs)
    return split(s)


def split_input(val, mapper=None):
    """A list of strings, from a list or a comma-separated string."""
    items = val if isinstance(val, list) else str(val).split(",")
    return [
        (mapper or (lambda item: item.strip()))(item) if isinstance(item, str) else (mapper or str)(item)
        for item in items
    ]


def test_mode(**kwargs):
    """Whether ``test`` is among the arguments and true."""
    from thin.utils.data import is_true

    return any(is_true(value) for key, value in kwargs.items() if key.lower() == "test")


def yamlify_arg(arg):
    """The value that a word of a command line stands for."""
    if not isinstance(arg, str) or not arg.strip():
        return arg
    if "_" in arg and all(char.isdigit() or char == "_" for char in arg):
        return arg
    from thin.utils.data import scalar

    if not any(char in arg for char in "{}[]:,'\"\n|>&*!%@`#"):
        if arg.lower() in _WORDS and arg in (arg.lower(), arg.upper(), arg.capitalize()):
            return _WORDS[arg.lower()]
        value = scalar(arg)
        return arg if isinstance(value, float) and "." not in arg else value
    from salt.utils import yaml

    try:
        value = yaml.safe_load(arg)
    except Exception:
        return arg
    return arg if value is None or (isinstance(value, dict) and not arg.lstrip().startswith("{")) else value


def parse_input(args, condition=True, no_parse=None, **kwargs):
    """The positional arguments; as the last item a dict of the keyword arguments, marked with ``__kwarg__``."""
    result, named = [], {}
    for arg in args:
        if isinstance(arg, dict) and arg.pop("__kwarg__", False):
            named.update(arg)
            continue
        key, equals, value = arg.partition("=") if isinstance(arg, str) else (arg, "", "")
        if equals and key.isidentifier():
            named[key] = value if key in (no_parse or ()) else yamlify_arg(value)
        else:
            result.append(yamlify_arg(arg))
    if condition and named:
        result.append(dict(named, __kwarg__=True))
    return result if condition else (result, named)


def condition_input(args, kwargs):
    """One list: the positional arguments, then a dict of the named ones, marked with ``__kwarg__``."""
    return list(args or ()) + ([dict(kwargs, __kwarg__=True)] if kwargs else [])


def format_call(fun, data, initial_ret=None, expected_extra_kws=(), is_class_method=None):
    """``{"args": [...], "kwargs": {...}}`` for a call of ``fun`` with those items of ``data`` that it accepts.

    Raises SaltInvocationError for a missing argument.
    """
    ret = dict(initial_ret or {})
    aspec = get_function_argspec(fun, is_class_method)
    signature = arg_lookup(fun, aspec)
    missing = [name for name in signature["args"] if name not in data]
    if missing:
        wanted = len(signature["args"])
        raise SaltInvocationError(
            "%s takes at least %d argument%s (%d given)"
            % (fun.__name__, wanted, "" if wanted == 1 else "s", wanted - len(missing))
        )
    ret["args"] = [data[name] for name in signature["args"]]
    ret["kwargs"] = {name: data.get(name, signature["kwargs"][name]) for name in signature["kwargs"]}
    extra = {
        key: value
        for key, value in data.items()
        if key not in signature["args"] and key not in signature["kwargs"] and key not in expected_extra_kws
    }
    if aspec.keywords:
        ret["kwargs"].update(extra)
    elif extra:
        ret["warnings"] = [invalid_kwargs(extra, raise_exc=False)]
    return ret


def prepare_kwargs(all_kwargs, class_init_kwargs):
    """Two dicts: the arguments named in ``class_init_kwargs``, and the others."""
    wanted = dict.fromkeys(class_init_kwargs)
    return (
        {key: all_kwargs[key] for key in all_kwargs if key in wanted},
        {key: all_kwargs[key] for key in all_kwargs if key not in wanted},
    )


def argspec_report(functions, module=""):
    """``{function: {args, defaults, varargs, kwargs}}`` of a module's functions."""
    ret = {}
    for name in sorted(functions):
        if name == module or name.startswith(module + ".") or not module:
            aspec = get_function_argspec(functions[name])
            ret[name] = {
                "args": aspec.args or None,
                "defaults": list(aspec.defaults or ()) or None,
                "varargs": True if aspec.varargs else None,
                "kwargs": True if aspec.keywords else None,
            }
    return ret
