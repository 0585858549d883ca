"""
The mine, for modules and states on a target: values of this target. Values of others are available only on the
controller, for command lines, SLS, pillar and templates
"""

from thin import link
from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils import minevalues

__reads__ = ("get",)
__changes__ = ("send", "update", "delete", "flush")

log = getLogger(__name__)


def get(tgt, fun, tgt_type="glob", exclude_minion=False):
    """
    Return ``{id: value}`` of a mine function for the matching targets, from the controller's cache; for several
    functions, by function. Only available in command lines, SLS, pillar and templates; pass the value to modules on a
    target

    tgt, tgt_type
        A target expression and its type; pillar values are compared exactly
    fun
        The function, a list of them, or names with commas between them
    exclude_minion
        Leave out this target

    CLI Example:

    .. code-block:: bash

        pushsalt run lb1 mine.get 'web*' network.ip_addrs
    """
    raise CommandExecutionError(
        "mine.get is answered where templates are rendered: have the SLS call it, and hand its value to %s"
        % __opts__.get("id", "the target")
    )


def send(name, *args, **kwargs):
    """
    Call one function and keep its value for others; whether that went well

    name
        The name of the value, and of the function unless ``mine_function`` is given
    args, kwargs
        Its arguments; ``allow_tgt`` and ``allow_tgt_type`` select the targets that may read the value

    CLI Example:

    .. code-block:: bash

        pushsalt run web1 mine.send web_ip ens3 mine_function=network.ip_addrs
    """
    options = {key: value for key, value in kwargs.items() if not key.startswith("__pub_")}
    values = _called({name: list(args) + [options]})
    return bool(values) and _keep(values, False)


def update(clear=False, mine_functions=None):
    """
    Call the ``mine_functions`` of options and pillar, and store the results; returns None if there are none

    clear
        Delete all other stored values
    mine_functions
        Call these instead

    CLI Example:

    .. code-block:: bash

        pushsalt run web1 mine.update
    """
    functions = mine_functions or __salt__["config.merge"]("mine_functions", {})
    if isinstance(functions, list):
        functions = {str(name): {} for name in functions}
    if not functions or not isinstance(functions, dict):
        return None
    return _keep(_called(functions), clear)


def delete(fun):
    """
    Delete one value of this target

    fun
        The name of the value

    CLI Example:

    .. code-block:: bash

        pushsalt run web1 mine.delete web_ip
    """
    return link.ask("mine.delete", [fun])


def flush():
    """
    Delete all values of this target

    CLI Example:

    .. code-block:: bash

        pushsalt run web1 mine.flush
    """
    return link.ask("mine.flush")


def _called(functions):
    """The values by name; functions that fail are reported and left out."""
    values = {}
    for name, given in functions.items():
        function, args, kwargs, whom, how = minevalues.parse(given)
        try:
            values[str(name)] = minevalues.wrapped(__salt__[function or name](*args, **kwargs), whom, how)
        except Exception as exc:
            log.error("the mine function %s is not stored: %s", function or name, exc)
    return values


def _keep(values, clear):
    return link.ask("mine.store", [values, bool(clear)])
