"""Environment variables of the process that runs modules. Salt: ``salt/modules/environ.py``.

Changes apply to this session and the programs that it starts; nothing is written to the target's disk.
"""

import os

from thin.log import getLogger

__usual__ = True
__reads__ = ("get", "has_value", "item", "items", "setval", "setenv")

log = getLogger(__name__)


def get(key, default=""):
    """
    Return a variable, or the default

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' environ.get PATH
    """
    return os.environ.get(key, default) if isinstance(key, str) else False


def has_value(key, value=None):
    """
    Whether there is a variable, with this value if one is given

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' environ.has_value PATH
    """
    if not isinstance(key, str) or key not in os.environ:
        return False
    return value is None or os.environ[key] == value


def item(keys, default=""):
    """
    Return ``{name: value}`` of one variable or a list of them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' environ.item '[PATH, HOME]'
    """
    names = [keys] if isinstance(keys, str) else keys if isinstance(keys, list) else []
    return {name: os.environ.get(name, default) for name in names}


def items():
    """
    Return all variables

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' environ.items
    """
    return dict(os.environ)


def setval(key, val, false_unsets=False, permanent=False):
    """
    Set a variable and return its value; with ``false_unsets``, False removes it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' environ.setval APP_MODE production
    """
    if not isinstance(key, str):
        return False
    if val is False:
        if false_unsets:
            os.environ.pop(key, None)
            return None
        val = ""
    if not isinstance(val, str):
        return False
    os.environ[key] = val
    return val


def setenv(environ, false_unsets=False, clear_all=False, update_minion=False, permanent=False):
    """
    Set variables from a dict and return them; ``clear_all`` sets all others to empty

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' environ.setenv '{APP_MODE: production, APP_PORT: 8080}'
    """
    if not isinstance(environ, dict):
        return False
    ret = {}
    if clear_all is True:
        for key in [key for key in os.environ if key not in environ]:
            ret[key] = setval(key, False, false_unsets)
    for key in environ:
        if not isinstance(environ[key], str) and environ[key] is not False:
            return False
        ret[key] = setval(key, environ[key], false_unsets)
    return ret
