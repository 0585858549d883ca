"""Data directories of PostgreSQL. Salt: states/postgres_initdb.py"""

from thin.exceptions import CommandExecutionError
from thin.utils.programs.psql import last_error


def __virtual__():
    if "postgres.datadir_init" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(
    name,
    user=None,
    password=None,
    auth="password",
    encoding="UTF8",
    locale=None,
    runas=None,
    waldir=None,
    checksums=False,
):
    """The directory ``name`` holds the data of a server. changes: ``{name: Present}``.

    A new one is created by initdb: ``user`` and ``password`` of its superuser, ``auth`` (authentication of local
    connections), ``encoding`` and ``locale`` of new databases, ``waldir`` (directory of the write-ahead log),
    ``checksums`` of pages. ``runas``: the account that it belongs to.
    """
    comment = "Postgres data directory %s is already present" % name
    ret = {"name": name, "changes": {}, "result": True, "comment": comment}
    if __salt__["postgres.datadir_exists"](name):
        return ret
    if __opts__["test"]:
        return dict(ret, result=None, comment="Postgres data directory %s is set to be initialized" % name)
    try:
        good = __salt__["postgres.datadir_init"](
            name,
            user=user,
            password=password,
            auth=auth,
            encoding=encoding,
            locale=locale,
            waldir=waldir,
            checksums=checksums,
            runas=runas,
        )
        error = last_error(__context__)
    except CommandExecutionError as exc:
        good, error = False, ": %s" % exc
    if good:
        comment = "Postgres data directory %s has been initialized" % name
        return dict(ret, changes={name: "Present"}, comment=comment)
    return dict(ret, result=False, comment="Postgres data directory %s initialization failed%s" % (name, error))
