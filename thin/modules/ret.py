"""Jobs in the data bases of returners, of which there are none here: each function says so. Salt: modules/ret.py"""

from thin.utils import nomaster

__reads__ = ("get_jid", "get_fun", "get_jids", "get_minions")

_JOBS = "the controller keeps the returns of each job (option keep_jobs_seconds): see `pushsalt jobs list`"


def get_jid(returner, jid):
    """
    Not supported: there are no returners

    returner, jid
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ret.get_jid postgres 20261121204500000000
    """
    nomaster.refuse("ret.get_jid", _JOBS)


def get_fun(returner, fun):
    """
    Not supported: there are no returners

    returner, fun
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ret.get_fun postgres state.apply
    """
    nomaster.refuse("ret.get_fun", _JOBS)


def get_jids(returner):
    """
    Not supported: there are no returners

    returner
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ret.get_jids postgres
    """
    nomaster.refuse("ret.get_jids", _JOBS)


def get_minions(returner):
    """
    Not supported: there are no returners

    returner
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ret.get_minions postgres
    """
    nomaster.refuse("ret.get_minions", _JOBS)
