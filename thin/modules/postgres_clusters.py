"""Debian's clusters of PostgreSQL, through postgresql-common: the part of ``postgres`` that only Debian has.

Salt (until 3007): ``salt/modules/deb_postgres.py``.
"""

from thin import process
from thin.log import getLogger

__virtualname__ = "postgres"
__reads__ = ("cluster_list", "cluster_exists")
__changes__ = ("cluster_create", "cluster_remove")

log = getLogger(__name__)


def __virtual__():
    if process.which("pg_createcluster"):
        return __virtualname__
    return False, "postgres execution module not loaded: pg_createcluster command not found."


def cluster_create(
    version,
    name="main",
    port=None,
    locale=None,
    encoding=None,
    datadir=None,
    allow_group_access=None,
    data_checksums=None,
    wal_segsize=None,
):
    """
    Create a cluster of an installed version; returns what cmd.run_all returns, or False after an error

    port, locale, encoding, datadir
        as pg_createcluster takes them
    allow_group_access
        the group of the owner may read the files
    data_checksums
        enable checksums of pages
    wal_segsize
        the size of the log's segments in megabytes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.cluster_create 15 shop
    """
    argv = ["pg_createcluster"]
    for word, value in (("--port", port), ("--locale", locale), ("--encoding", encoding), ("--datadir", datadir)):
        if value:
            argv += [word, str(value)]
    argv += [str(version), str(name)]
    rest = ["--allow-group-access"] if allow_group_access is True else []
    rest += ["--data-checksums"] if data_checksums is True else []
    rest += ["--wal-segsize", str(wal_segsize)] if wal_segsize else []
    done = _run(argv + (["--"] + rest if rest else []))
    if done["retcode"] != 0:
        log.error("Error creating a Postgresql cluster %s/%s", version, name)
        return False
    return done


def cluster_list(verbose=False):
    """
    Return ``version/name`` of the clusters; ``verbose``: ``{version/name: {port, status, user, datadir, log}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.cluster_list verbose=True
    """
    done = _run(["pg_lsclusters", "--no-header"])
    if done["retcode"] != 0:
        log.error("Error listing clusters")
    result = {}
    for line in done["stdout"].splitlines():
        words = line.split(None, 6)
        if len(words) == 7:
            about = dict(zip(("status", "user", "datadir", "log"), words[3:]), port=int(words[2]))
            result["%s/%s" % (words[0], words[1])] = about
    return result if verbose else list(result)


def cluster_exists(version, name="main"):
    """
    Whether there is a cluster of this version and name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.cluster_exists 15 shop
    """
    return "%s/%s" % (version, name) in cluster_list()


def cluster_remove(version, name="main", stop=False):
    """
    Remove a cluster with all its data; returns what cmd.run_all returns, with ``changes`` on success

    stop
        stop its server first

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.cluster_remove 15 main stop=True
    """
    done = _run(["pg_dropcluster"] + (["--stop"] if stop else []) + [str(version), str(name)])
    if done["retcode"] != 0:
        log.error("Error removing a Postgresql cluster %s/%s", version, name)
    else:
        done["changes"] = "Successfully removed cluster %s/%s" % (version, name)
    return done


def _run(argv):
    done = __salt__["cmd.run_all"](argv, python_shell=False, env={"LC_ALL": "C"})
    if done["retcode"] != 0:
        __context__["postgres.error"] = " ".join((done["stderr"] or done["stdout"]).split())
    return done
