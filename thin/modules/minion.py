"""The minion's daemon. There is none on targets: each function raises an error. Salt: modules/minion.py"""

from thin.utils import nomaster

__func_alias__ = {"list_": "list"}
__reads__ = ("list", "kill", "restart")

_NO_DAEMON = "nothing of it stays on a target between runs"


def list_():
    """
    Return ``{minions, minions_pre, minions_rejected, minions_denied}`` with empty lists: there are no keys to accept

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' minion.list
    """
    return {"minions": [], "minions_pre": [], "minions_rejected": [], "minions_denied": []}


def kill(timeout=15):
    """
    Not supported: there is no daemon

    timeout
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' minion.kill
    """
    nomaster.refuse("minion.kill", _NO_DAEMON)


def restart(systemd=True, win_service=True, schedule_retry=False, retry_delay=180):
    """
    Not supported: there is no daemon

    systemd, win_service, schedule_retry, retry_delay
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' minion.restart
    """
    nomaster.refuse("minion.restart", "%s; service.restart salt-minion restarts one of Salt's" % _NO_DAEMON)
