"""Lists of functions, their arguments and documentation. Salt: ``salt/modules/sysmod.py``.

It lists the modules of the target; the controller adds its own functions.
"""

from thin import link
from thin.utils import sysdoc

__virtualname__ = "sys"
__reads__ = (
    "doc",
    "state_doc",
    "list_functions",
    "list_state_functions",
    "list_modules",
    "list_state_modules",
    "argspec",
    "state_argspec",
    "reload_modules",
    "runner_doc",
    "runner_argspec",
    "list_runners",
    "list_runner_functions",
    "returner_doc",
    "returner_argspec",
    "list_returners",
    "list_returner_functions",
    "list_renderers",
    "renderer_doc",
    "state_schema",
)


def __virtual__():
    return __virtualname__


def doc(*args):
    """
    Return ``{function: docstring}`` of all modules, of some, or of those that match a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.doc cmd
        pushsalt run '*' sys.doc 'test.*'
    """
    return _docs({name: __salt__[name] for name in sysdoc.chosen(__salt__, args)})


def state_doc(*args):
    """
    Return ``{state or state module: docstring}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.state_doc file
    """
    names = sysdoc.chosen(__states__, args)
    modules = {}
    for name in names:
        modules.setdefault(name.split(".")[0], __states__.module(name)["__module_object__"])
    return _docs(dict(modules, **{name: __states__[name] for name in names}))


def _docs(documented):
    """``{name: docstring}`` of functions and modules. Those of pushsalt are here without it: the controller has it."""
    places = {name: _place(value) for name, value in documented.items() if not value.__doc__}
    asked = sorted({module for module, _ in places.values() if module.startswith("thin.")})
    texts = link.ask("sys.docs", [asked]) if asked and link.connected() else {}
    docs = {}
    for name, value in documented.items():
        module, function = places.get(name, ("", ""))
        docs[name] = sysdoc.plain(texts.get(module, {}).get(function, value.__doc__))
    return docs


def _place(value):
    """The module's full name, and the function's own name there ("" for the module itself)."""
    if isinstance(value, type(link)):
        return value.__name__, ""
    return str(getattr(value, "__module__", "")), getattr(value, "__name__", "")


def list_functions(*args, **kwargs):
    """
    Return the names of all functions, of some modules, or of those that match a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_functions
        pushsalt run '*' sys.list_functions test
    """
    return sysdoc.chosen(__salt__, args)


def list_state_functions(*args, **kwargs):
    """
    Return the names of all states, of some modules, or of those that match a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_state_functions service
    """
    return sysdoc.chosen(__states__, args)


def list_modules(*args):
    """
    Return the names of all modules, or of those that match

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_modules 'p*'
    """
    return sysdoc.modules(__salt__, args)


def list_state_modules(*args):
    """
    Return the names of all state modules, or of those that match

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_state_modules
    """
    return sysdoc.modules(__states__, args)


def argspec(module=""):
    """
    Return ``{function: {args, defaults, varargs, kwargs}}`` of a module, or of those that match a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.argspec service.start
    """
    return sysdoc.argspecs(__salt__, module)


def state_argspec(module=""):
    """
    Return ``{state: {args, defaults, varargs, kwargs}}`` of a state module, or of those that match a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.state_argspec service.running
    """
    return sysdoc.argspecs(__states__, module)


def reload_modules():
    """
    Return True: modules are loaded for each session

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.reload_modules
    """
    return True


def runner_doc(*args):
    """
    Return {}: there are no runners

    args
        Names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.runner_doc
    """
    return {}


def runner_argspec(module=""):
    """
    Return {}: there are no runners

    module
        A name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.runner_argspec
    """
    return {}


def list_runners(*args):
    """
    Return an empty list: there are no runners

    args
        Names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_runners
    """
    return []


def list_runner_functions(*args, **kwargs):
    """
    Return an empty list: there are no runners

    args, kwargs
        Names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_runner_functions
    """
    return []


def returner_doc(*args):
    """
    Return {}: there are no returners

    args
        Names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.returner_doc
    """
    return {}


def returner_argspec(module=""):
    """
    Return {}: there are no returners

    module
        A name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.returner_argspec
    """
    return {}


def list_returners(*args):
    """
    Return an empty list: there are no returners

    args
        Names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_returners
    """
    return []


def list_returner_functions(*args, **kwargs):
    """
    Return an empty list: there are no returners

    args, kwargs
        Names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_returner_functions
    """
    return []


def list_renderers(*args):
    """
    Return the renderers that a target can request from the controller

    args
        Globs of names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.list_renderers 'j*'
    """
    import fnmatch

    return [
        name
        for name in ("jinja", "json", "yaml")
        if not args or any(fnmatch.fnmatch(name, pattern) for pattern in args)
    ]


def renderer_doc(*args):
    """
    Return {}: renderers are on the controller

    args
        Names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.renderer_doc gpg
    """
    return {}


def state_schema(module=""):
    """
    Return a JSON schema of the arguments of each state of a module, or of those that match a glob

    module
        The module, or a glob of states

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sys.state_schema service.running
    """
    specs = state_argspec(module)
    return [sysdoc.schema(name, specs[name]) for name in specs]
