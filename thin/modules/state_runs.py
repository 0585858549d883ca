"""Functions of Salt for running jobs and for other minions. On a target, each returns why it does nothing. Salt:
modules/state.py; the controller has the functions that compile and run states.
"""

from thin.utils import nomaster

__virtualname__ = "state"
__reads__ = ("get_pauses", "pause", "resume", "soft_kill", "orchestrate", "event", "clear_cache", "pkg")

_STOP = "Ctrl-C ends a run where it was started, and what was done is told"
_ORDER = "`pushsalt apply` with --batch, and `order` and requisites in the states, say what comes after what"
_EVENT = "what event.send and `fire_event` tell is kept with the run"


def get_pauses(jid=None):
    """
    Return {}: no run is ever paused

    jid
        A job

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.get_pauses
    """
    return {}


def pause(jid, state_id=None, duration=None):
    """
    Not supported: a run is not paused

    jid, state_id, duration
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.pause 20261121204500000000
    """
    nomaster.refuse("state.pause", _STOP)


def resume(jid, state_id=None):
    """
    Not supported: a run is not paused

    jid, state_id
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.resume 20261121204500000000
    """
    nomaster.refuse("state.resume", _STOP)


def soft_kill(jid, state_id=None):
    """
    Not supported: another job cannot end a run

    jid, state_id
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.soft_kill 20261121204500000000 app_config
    """
    nomaster.refuse("state.soft_kill", _STOP)


def orchestrate(mods, saltenv="base", test=None, exclude=None, pillar=None, pillarenv=None):
    """
    Not supported: a target cannot reach other targets

    mods, saltenv, test, exclude, pillar, pillarenv
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.orchestrate release.app
    """
    nomaster.refuse("state.orchestrate", _ORDER)


def event(tagmatch="*", count=-1, quiet=False, sock_dir=None, pretty=False, node="minion"):
    """
    Not supported: there is no event bus

    tagmatch, count, quiet, sock_dir, pretty, node
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.event 'salt/job/*'
    """
    nomaster.refuse("state.event", _EVENT)


def clear_cache():
    """
    Return an empty list: no compiled states are stored on a target

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.clear_cache
    """
    return []


def pkg(pkg_path, pkg_sum, hash_type, test=None, **kwargs):
    """
    Not supported: salt-ssh runs this on a target, pushsalt does not

    pkg_path, pkg_sum, hash_type, test, kwargs
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.pkg /tmp/app.tgz 2f05477fc24bb4faefd86517156dafdecec45b8ad3cf2522a563582b95c8a7b1 sha256
    """
    nomaster.refuse("state.pkg", "`pushsalt apply` applies states")
