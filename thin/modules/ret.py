"""
Jobs stored by returners. ``local_cache``, Salt's name, is the record of jobs on the controller. Only available on the
controller: for command lines, SLS, pillar and templates
"""

from thin.exceptions import CommandExecutionError

__reads__ = ("get_jid", "get_fun", "get_jids", "get_minions")


def _refuse(name):
    raise CommandExecutionError(
        "%s is answered on the controller: have the SLS call it, and hand its value to %s"
        % (name, __opts__.get("id", "the target"))
    )


def get_jid(returner, jid):
    """
    The returns of a job, by id, with ``return``, ``retcode``, ``success``, ``fun``, ``jid`` and ``id``

    returner
        ``local_cache``, ``sqlite3``, ``postgres``, ``mysql``, or one of your own that has this function
    jid
        The job; for ``local_cache`` also ``last``, or the beginning of its JID

    CLI Example:

    .. code-block:: bash

        pushsalt run localhost ret.get_jid local_cache last
    """
    _refuse("ret.get_jid")


def get_fun(returner, fun):
    """
    The last return of a function on each target, by id

    returner
        As for ``ret.get_jid``
    fun
        The function

    CLI Example:

    .. code-block:: bash

        pushsalt run localhost ret.get_fun local_cache state.apply
    """
    _refuse("ret.get_fun")


def get_jids(returner):
    """
    The jobs, by JID

    returner
        As for ``ret.get_jid``

    CLI Example:

    .. code-block:: bash

        pushsalt run localhost ret.get_jids local_cache
    """
    _refuse("ret.get_jids")


def get_minions(returner):
    """
    The ids of all targets with a stored return

    returner
        As for ``ret.get_jid``

    CLI Example:

    .. code-block:: bash

        pushsalt run localhost ret.get_minions local_cache
    """
    _refuse("ret.get_minions")
