"""Functions that synchronize a Salt minion: in pushsalt, users' modules are sent with the job, and grains and pillar
are collected and compiled for each run.

Each ``sync_*`` returns the modules that are available, from the controller. saltutil_refresh.py has functions without
effect, saltutil_jobs.py those for jobs and for a master. Salt: ``salt/modules/saltutil.py``.
"""

__usual__ = True
__reads__ = (
    "sync_all",
    "sync_beacons",
    "sync_clouds",
    "sync_engines",
    "sync_executors",
    "sync_grains",
    "sync_log_handlers",
    "sync_matchers",
    "sync_modules",
    "sync_output",
    "sync_outputters",
    "sync_pillar",
    "sync_proxymodules",
    "sync_renderers",
    "sync_returners",
    "sync_sdb",
    "sync_serializers",
    "sync_states",
    "sync_thorium",
    "sync_tops",
    "sync_utils",
    "sync_resources",
    "sync_wrapper",
    "list_extmods",
)
__changes__ = ("clear_cache", "mmodule")


def _ask(kind):
    from thin import link

    return link.ask("saltutil.sync_" + kind)


def sync_all(*args, **kwargs):
    """
    Return the names of all users' own modules, by kind

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_all
    """
    return _ask("all")


def sync_beacons(*args, **kwargs):
    """
    Return the names of the users' own beacons

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_beacons
    """
    return _ask("beacons")


def sync_clouds(*args, **kwargs):
    """
    Return the names of the users' own clouds

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_clouds
    """
    return _ask("clouds")


def sync_engines(*args, **kwargs):
    """
    Return the names of the users' own engines

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_engines
    """
    return _ask("engines")


def sync_executors(*args, **kwargs):
    """
    Return the names of the users' own executors

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_executors
    """
    return _ask("executors")


def sync_grains(*args, **kwargs):
    """
    Return the names of the users' own grains

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_grains
    """
    return _ask("grains")


def sync_log_handlers(*args, **kwargs):
    """
    Return the names of the users' own log handlers

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_log_handlers
    """
    return _ask("log_handlers")


def sync_matchers(*args, **kwargs):
    """
    Return the names of the users' own matchers

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_matchers
    """
    return _ask("matchers")


def sync_modules(*args, **kwargs):
    """
    Return the names of the users' own modules

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_modules
    """
    return _ask("modules")


def sync_output(*args, **kwargs):
    """
    Return the names of the users' own output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_output
    """
    return _ask("output")


def sync_outputters(*args, **kwargs):
    """
    Return the names of the users' own outputters

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_outputters
    """
    return _ask("outputters")


def sync_pillar(*args, **kwargs):
    """
    Return the names of the users' own pillar

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_pillar
    """
    return _ask("pillar")


def sync_proxymodules(*args, **kwargs):
    """
    Return the names of the users' own proxymodules

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_proxymodules
    """
    return _ask("proxymodules")


def sync_renderers(*args, **kwargs):
    """
    Return the names of the users' own renderers

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_renderers
    """
    return _ask("renderers")


def sync_returners(*args, **kwargs):
    """
    Return the names of the users' own returners

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_returners
    """
    return _ask("returners")


def sync_sdb(*args, **kwargs):
    """
    Return the names of the users' own sdb

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_sdb
    """
    return _ask("sdb")


def sync_serializers(*args, **kwargs):
    """
    Return the names of the users' own serializers

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_serializers
    """
    return _ask("serializers")


def sync_states(*args, **kwargs):
    """
    Return the names of the users' own states

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_states
    """
    return _ask("states")


def sync_thorium(*args, **kwargs):
    """
    Return the names of the users' own thorium

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_thorium
    """
    return _ask("thorium")


def sync_tops(*args, **kwargs):
    """
    Return the names of the users' own tops

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_tops
    """
    return _ask("tops")


def sync_utils(*args, **kwargs):
    """
    Return the names of the users' own utils

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_utils
    """
    return _ask("utils")


def sync_resources(*args, **kwargs):
    """
    Return the names of the users' own resources

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_resources
    """
    return _ask("resources")


def sync_wrapper(*args, **kwargs):
    """
    Return the names of the users' own wrapper

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.sync_wrapper
    """
    return _ask("wrapper")


def list_extmods():
    """
    Return the names of the users' own modules by kind; kinds without any are left out

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.list_extmods
    """
    extmods = {kind: [name.partition(".")[2] for name in names] for kind, names in _ask("all").items()}
    return {kind: names for kind, names in extmods.items() if names}


def clear_cache():
    """
    Remove the files that are stored on the target between runs; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.clear_cache
    """
    import os

    from thin.log import getLogger
    from thin.utils.files import safetree
    from thin.utils.files.arguments import cachedir

    top = cachedir(__opts__)
    for folder in safetree.descend(top) if os.path.isdir(top) else ():
        for name in folder.others:
            try:
                folder.place(name).unlink()
            except OSError as exc:
                getLogger(__name__).error("saltutil.clear_cache: the cache cannot be removed: %s", exc)
                return False
    return True


def mmodule(saltenv, fun, *args, **kwargs):
    """
    Call a function; on a target, all modules are those of the run's saltenv

    saltenv
        As in Salt
    fun
        The function
    args, kwargs
        Its arguments

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.mmodule base grains.items
    """
    given = {key: kwargs[key] for key in kwargs if not key.startswith("__")}
    return __salt__[fun](*args, **given)
