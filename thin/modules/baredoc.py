"""The modules, their arguments and docstrings, read from their files without loading them. Salt: modules/baredoc.py

Unlike ``sys``, it lists all modules of pushsalt, for every system, by their virtual names. Users' own modules are only
listed by ``sys``.
"""

import ast

from thin import runtime
from thin.exceptions import ArgumentValueError
from thin.utils import sysdoc

__reads__ = ("list_states", "list_modules", "state_docs", "module_docs")


def list_states(name=False, names_only=False):
    """
    Return ``{module: [{function: {argument: default}}]}`` of all state modules, or of one

    name
        The name of the module's file
    names_only
        Only the names of functions

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' baredoc.list_states
        pushsalt run '*' baredoc.list_states pkg names_only=True
    """
    return _functions("states", name, names_only)


def list_modules(name=False, names_only=False):
    """
    Return ``{module: [{function: {argument: default}}]}`` of all execution modules, or of one

    name
        The name of the module's file
    names_only
        Only the names of functions

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' baredoc.list_modules
        pushsalt run '*' baredoc.list_modules aptpkg names_only=True
    """
    return _functions("modules", name, names_only)


def state_docs(*names):
    """
    Return ``{module or module.function: docstring}`` of all state modules, or of some

    names
        Modules or functions, by the names of the modules' files

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' baredoc.state_docs timezone.system
    """
    return _docs("states", names)


def module_docs(*names):
    """
    Return ``{module or module.function: docstring}`` of all execution modules, or of some

    names
        Modules or functions, by the names of the modules' files

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' baredoc.module_docs aptpkg.install
    """
    return _docs("modules", names)


def _files(kind, name):
    files = [full.rpartition(".")[2] for full in runtime.names("thin.%s" % kind)]
    return sorted(file for file in files if name in (None, file))


def _parsed(kind, file):
    """(virtual name, tree, ``{name: public function}``)."""
    tree = ast.parse(runtime.source("thin.%s.%s" % (kind, file)))
    values = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                values[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    alias = values.get("__func_alias__", {})
    public = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return values.get("__virtualname__", file), tree, {alias.get(node.name, node.name): node for node in public}


def _functions(kind, name, names_only):
    if name and "." in name:
        raise ArgumentValueError("Function name given")
    by_name = {}
    for file in _files(kind, name or None):
        module, _, functions = _parsed(kind, file)
        rows = list(functions) if names_only else [{each: _arguments(functions[each])} for each in functions]
        by_name.setdefault(module, []).extend(rows)
    return dict(sorted(by_name.items()))


def _arguments(function):
    given = function.args
    names = [each.arg for each in given.args]
    defaults = [_constant(each) for each in given.defaults]
    arguments = dict(zip(names, [None] * (len(names) - len(defaults)) + defaults))
    if given.vararg:
        arguments["args"] = given.vararg.arg
    if given.kwarg:
        arguments["kwargs"] = given.kwarg.arg
    return arguments


def _constant(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _docs(kind, names):
    docs = {}
    for wanted in names or [None]:
        module, _, only = (wanted or "").partition(".")
        for file in _files(kind, module or None):
            virtual, tree, functions = _parsed(kind, file)
            if not only:
                docs.setdefault(virtual, sysdoc.plain(ast.get_docstring(tree)))
            for name, node in functions.items():
                if only in ("", name):
                    docs["%s.%s" % (virtual, name)] = sysdoc.plain(ast.get_docstring(node))
    return dict(sorted(docs.items()))
