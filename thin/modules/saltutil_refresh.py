"""Functions without effect, since each run loads everything: a part of ``saltutil``.

Salt: ``salt/modules/saltutil.py``.
"""

__virtualname__ = "saltutil"
__usual__ = True
__reads__ = (
    "refresh_pillar",
    "refresh_grains",
    "refresh_modules",
    "refresh_beacons",
    "refresh_matchers",
    "refresh_resources",
    "pillar_refresh",
    "update",
)


def refresh_pillar(*args, **kwargs):
    """
    Return True: pillar is compiled for each run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.refresh_pillar
    """
    return True


def refresh_grains(*args, **kwargs):
    """
    Return True: grains are collected for each run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.refresh_grains
    """
    return True


def refresh_modules(*args, **kwargs):
    """
    Return True: modules are loaded for each run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.refresh_modules
    """
    return True


def refresh_beacons(*args, **kwargs):
    """
    Return True: there are none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.refresh_beacons
    """
    return True


def refresh_matchers(*args, **kwargs):
    """
    Return True: matchers are loaded for each run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.refresh_matchers
    """
    return True


def refresh_resources(*args, **kwargs):
    """
    Return True: resources are discovered when their manager is reached

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.refresh_resources
    """
    return True


def pillar_refresh(*args, **kwargs):
    """
    Return True: pillar is compiled for each run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.pillar_refresh
    """
    return True


def update(version=None):
    """
    Report that there is nothing to update: the runtime is sent with each run

    version
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' saltutil.update
    """
    return {"_error": "Esky not available as import"}
