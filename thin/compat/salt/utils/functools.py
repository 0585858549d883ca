"""Salt: ``salt/utils/functools.py``."""

import types


def namespaced_function(function, global_dict):
    """A copy of the function with the globals of another module."""
    new = types.FunctionType(
        function.__code__,
        global_dict,
        name=function.__name__,
        argdefs=function.__defaults__,
        closure=function.__closure__,
    )
    new.__dict__.update(function.__dict__)
    new.__kwdefaults__ = function.__kwdefaults__
    return new


def alias_function(fun, name, doc=None):
    """A copy of the function with another name."""
    new = namespaced_function(fun, fun.__globals__)
    new.__name__ = name
    new.__doc__ = (
        doc
        if isinstance(doc, str) and doc
        else "This function is an alias of ``%s``.\n%s" % (fun.__name__, fun.__doc__ or "")
    )
    return new


def call_function(salt_function, *args, **kwargs):
    """Call a function with the positional arguments, and those of the named ones that it accepts."""
    from thin.utils import args as signatures

    shape = signatures.spec(salt_function)
    accepted = kwargs if shape.keywords else {key: kwargs[key] for key in kwargs if key in shape.args}
    return salt_function(*args, **accepted)
