"""Aliases of services, and broken entries in the watched folder: a part of ``runit``.

Salt: modules/runit.py
"""

import os

from thin.utils.system import initsystem, runitdirs

__virtualname__ = "runit"
__reads__ = ("get_svc_alias", "get_svc_broken_path")


def __virtual__():
    if any(os.path.exists(os.path.join(folder, "sv")) for folder in initsystem.FOLDERS):
        return __virtualname__
    return False, "Runit not available.  Please install sv"


def get_svc_alias():
    """
    Return ``{service: [paths of its aliases]}``: links in the folders of services

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.get_svc_alias
    """
    return runitdirs.aliases(__salt__["runit.get_svc_avail_path"]())


def get_svc_broken_path(name="*"):
    """
    Return the entries of the watched folder that are no services: broken links, folders without a program ``run``

    name
        a glob of services' names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.get_svc_broken_path
    """
    present = {os.path.basename(path): path for path in runitdirs.entries(runitdirs.watched(runitdirs.SERVICE_DIRS))}
    return sorted(present[one] for one in initsystem.matching(name, present) if not runitdirs.is_service(present[one]))
