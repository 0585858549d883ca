"""What functions there are, and what they take and say of themselves. Salt: ``salt/modules/sysmod.py``.

It tells of the target's own modules; the controller adds the functions that only it can answer.
"""

import fnmatch

from thin.utils import args as signatures

__virtualname__ = "sys"


def __virtual__():
    return __virtualname__


def doc(*args):
    """
    Return ``{function: docstring}`` of all modules, of some, or of what fits a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.doc cmd
        pushsalt run '*' sys.doc 'test.*'
    """
    return {name: _plain(__salt__[name].__doc__) for name in _chosen(__salt__, args)}


def state_doc(*args):
    """
    Return ``{state or state module: docstring}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.state_doc file
    """
    docs = {}
    for name in _chosen(__states__, args):
        module = name.split(".")[0]
        docs.setdefault(module, _plain(__states__.module(name).get("__doc__")))
        docs[name] = _plain(__states__[name].__doc__)
    return docs


def list_functions(*args, **kwargs):
    """
    Return the names of all functions, of some modules, or of what fits a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_functions
        pushsalt run '*' sys.list_functions test
    """
    return _chosen(__salt__, args)


def list_state_functions(*args, **kwargs):
    """
    Return the names of all states, of some modules, or of what fits a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_state_functions file
    """
    return _chosen(__states__, args)


def list_modules(*args):
    """
    Return the names of all modules, or of what fits

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_modules 's*'
    """
    return _modules(__salt__, args)


def list_state_modules(*args):
    """
    Return the names of all state modules, or of what fits

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_state_modules
    """
    return _modules(__states__, args)


def argspec(module=""):
    """
    Return ``{function: {args, defaults, varargs, kwargs}}`` of a module, or of what fits a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.argspec pkg.install
    """
    return _argspec(__salt__, module)


def state_argspec(module=""):
    """
    Return ``{state: {args, defaults, varargs, kwargs}}`` of a state module, or of what fits a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.state_argspec pkg.installed
    """
    return _argspec(__states__, module)


def reload_modules():
    """
    Return True: modules are loaded anew for each session

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.reload_modules
    """
    return True


def _chosen(functions, patterns):
    """Names of functions: of modules named exactly, of functions named exactly, or fitting a glob."""
    if not patterns:
        return sorted(functions)
    found = set()
    for pattern in patterns:
        if "*" in pattern:
            found.update(fnmatch.filter(functions, pattern))
        elif "." in pattern:
            found.update([pattern] if pattern in functions else [])
        else:
            found.update(name for name in functions if name.startswith(pattern + "."))
    return sorted(found)


def _modules(functions, patterns):
    names = {name.split(".")[0] for name in functions}
    return sorted(name for name in names
                  if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))


def _argspec(functions, pattern):
    if "*" in pattern or "." in pattern:
        names = fnmatch.filter(functions, pattern)
    else:
        names = [name for name in functions if name.startswith(pattern + ".")]
    ret = {}
    for name in names:
        shape = signatures.spec(functions[name])
        ret[name] = {
            "args": shape.args or None, "defaults": list(shape.defaults) or None,
            "varargs": True if shape.varargs else None, "kwargs": True if shape.keywords else None,
        }
    return ret


def _plain(text):
    """A docstring without the marks of reStructuredText that only get in the way on a terminal."""
    if not isinstance(text, str):
        return text
    lines = [line for line in text.split("\n") if not line.strip().startswith(".. code-block::")]
    out = []
    for line in lines:
        if line.strip().startswith(".. versionadded") or line.strip().startswith(".. versionchanged"):
            line = line.replace(".. ", "", 1)
        if not (out and not out[-1].strip() and not line.strip()):
            out.append(line)
    return "\n".join(out).replace("``", "`")
