"""Running jobs, of which a target has only the current one, and functions that need a master: a part of ``saltutil``.

Salt: ``salt/modules/saltutil.py``.
"""

from thin import link
from thin.exceptions import CommandExecutionError
from thin.utils import nomaster

__virtualname__ = "saltutil"
__reads__ = (
    "running",
    "is_running",
    "find_job",
    "find_cached_job",
    "signal_job",
    "term_job",
    "kill_job",
    "term_all_jobs",
    "kill_all_jobs",
    "clear_job_cache",
    "regen_keys",
    "revoke_auth",
    "cmd",
    "cmd_iter",
    "runner",
    "wheel",
)

_KEYS = "targets are known by their SSH host keys"
_OTHERS = "run it from the controller, `pushsalt run TARGET FUNCTION`; for data of other targets there is mine.get"


def running():
    """
    Return an empty list: a target runs only the job that calls this function

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.running
    """
    return []


def is_running(fun):
    """
    Return an empty list, as ``saltutil.running``

    fun
        A function, or a glob of functions

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.is_running state.apply
    """
    return []


def find_job(jid):
    """
    Return an empty mapping, as ``saltutil.running``

    jid
        The job

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.find_job 20261121204500000000
    """
    return {}


def find_cached_job(jid):
    """
    Report that no jobs are stored on a target

    jid
        The job

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.find_cached_job 20261121204500000000
    """
    return "Local jobs cache directory not found; you may need to enable cache_jobs on this minion"


def signal_job(jid, sig):
    """
    Return an empty text: there is no such job

    jid
        The job
    sig
        The signal

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.signal_job 20261121204500000000 15
    """
    return ""


def term_job(jid):
    """
    Return an empty text, as ``saltutil.signal_job``

    jid
        The job

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.term_job 20261121204500000000
    """
    return ""


def kill_job(jid):
    """
    Return an empty text, as ``saltutil.signal_job``

    jid
        The job

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.kill_job 20261121204500000000
    """
    return ""


def term_all_jobs():
    """
    Return an empty list: no job was ended

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.term_all_jobs
    """
    return []


def kill_all_jobs():
    """
    Return an empty list: no job was ended

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.kill_all_jobs
    """
    return []


def clear_job_cache(hours=24):
    """
    Return True: no jobs are stored on a target

    hours
        Older ones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.clear_job_cache hours=48
    """
    return True


def regen_keys():
    """
    Not supported: a target has no keys of Salt's

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.regen_keys
    """
    nomaster.refuse("saltutil.regen_keys", _KEYS)


def revoke_auth(preserve_minion_cache=False):
    """
    Not supported: a target has no keys of Salt's

    preserve_minion_cache
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.revoke_auth
    """
    nomaster.refuse("saltutil.revoke_auth", _KEYS)


def cmd(tgt, fun, arg=(), timeout=None, tgt_type="glob", ret="", kwarg=None, ssh=False, **kwargs):
    """
    Not supported: a target never reaches other targets

    tgt, fun, arg, timeout, tgt_type, ret, kwarg, ssh, kwargs
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.cmd 'web*' grains.items
    """
    nomaster.refuse("saltutil.cmd", _OTHERS)


def cmd_iter(tgt, fun, arg=(), timeout=None, tgt_type="glob", ret="", kwarg=None, ssh=False, **kwargs):
    """
    Not supported: a target never reaches other targets

    tgt, fun, arg, timeout, tgt_type, ret, kwarg, ssh, kwargs
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.cmd_iter 'web*' grains.items
    """
    nomaster.refuse("saltutil.cmd_iter", _OTHERS)


def runner(name, arg=None, kwarg=None, full_return=False, saltenv="base", jid=None, **kwargs):
    """
    Return what a runner function returns, in the templates and states of an orchestration; elsewhere an error

    name
        The runner function
    arg, kwarg, kwargs
        Its arguments
    full_return
        Return also whether it was successful, and its jid
    saltenv
        For functions that have such an argument
    jid
        Not used

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.runner cache.grains
    """
    answer = _asked("runner", [name, saltenv], dict(kwargs, arg=arg or [], kwarg=kwarg or {}), _OTHERS)
    return answer if full_return else answer["return"]


def wheel(name, *args, **kwargs):
    """
    Return what a wheel function returns, in the templates and states of an orchestration; elsewhere an error

    name
        The wheel function
    args, kwargs
        Its arguments

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.wheel key.list_all
    """
    return _asked("wheel", [name], dict(zip(("match",), args), **kwargs), _KEYS)["return"]


def _asked(kind, args, kwargs, instead):
    """The answer of a runner or wheel function, which the controller calls for orchestrations only."""
    try:
        return link.ask("orchestrate." + kind, args, kwargs)
    except CommandExecutionError as exc:
        if exc.message != nomaster.ONLY_IN_ORCHESTRATION:
            raise
    nomaster.refuse("saltutil." + kind, instead)
