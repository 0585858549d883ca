"""Clusters of PostgreSQL on Debian and similar systems. Salt: states/postgres_cluster.py"""

from thin.utils.programs.psql import last_error


def __virtual__():
    if "postgres.cluster_exists" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(
    version,
    name,
    port=None,
    encoding=None,
    locale=None,
    datadir=None,
    allow_group_access=None,
    data_checksums=None,
    wal_segsize=None,
):
    """There is a cluster of this version and name. changes: ``{version/name: Present}``.

    The other arguments are those of pg_createcluster for a new cluster. An existing cluster with another ``port`` or
    ``datadir`` is a failure.
    """
    full = "%s/%s" % (version, name)
    ret = {"name": name, "changes": {}, "result": True, "comment": "Cluster %s is already present" % full}
    cluster = __salt__["postgres.cluster_list"](verbose=True).get(full)
    if cluster is not None:
        if (port and int(port) != cluster["port"]) or (datadir and datadir != cluster["datadir"]):
            comment = "Cluster %s has wrong parameters which couldn't be changed on fly." % full
            return dict(ret, result=False, comment=comment)
        return ret
    if __opts__["test"]:
        return dict(ret, result=None, comment="Cluster %s is set to be created" % full)
    if __salt__["postgres.cluster_create"](
        version,
        name,
        port=port,
        locale=locale,
        encoding=encoding,
        datadir=datadir,
        allow_group_access=allow_group_access,
        data_checksums=data_checksums,
        wal_segsize=wal_segsize,
    ):
        return dict(ret, changes={full: "Present"}, comment="The cluster %s has been created" % full)
    return dict(ret, result=False, comment="Failed to create cluster %s%s" % (full, last_error(__context__)))


def absent(version, name):
    """The cluster does not exist; its server is stopped and its data removed. changes: ``{name: Absent}``."""
    full = "%s/%s" % (version, name)
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if not __salt__["postgres.cluster_exists"](version, name):
        return dict(ret, comment="Cluster %s is not present, so it cannot be removed" % full)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Cluster %s is set to be removed" % full)
    if __salt__["postgres.cluster_remove"](version, name, True)["retcode"] == 0:
        return dict(ret, changes={name: "Absent"}, comment="Cluster %s has been removed" % full)
    return dict(ret, result=False, comment="Failed to remove cluster %s%s" % (full, last_error(__context__)))
