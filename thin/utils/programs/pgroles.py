"""The common part of the states of PostgreSQL's users and groups; both are roles."""

from thin.exceptions import CommandExecutionError
from thin.utils.formats import pgpass
from thin.utils.programs.psql import last_error

#: Argument -> its name in the result of ``postgres.role_get``.
_ATTRIBUTES = {
    "createdb": "can create databases",
    "inherit": "inherits privileges",
    "login": "can login",
    "createroles": "can create roles",
    "replication": "replication",
    "superuser": "superuser",
}


def present(salt, opts, context, kind, name, wanted, connection, refresh_password=None, default_password=None):
    """The return of a state that makes a role as ``wanted``: arguments of ``postgres.user_create``, whose
    ``rolepassword`` is in the form that the user gave. ``kind`` is user or group.
    """
    title = kind.capitalize()
    ret = {"name": name, "changes": {}, "result": True, "comment": "%s %s is already present" % (title, name)}
    encrypted = wanted["encrypted"] = pgpass.DEFAULT if wanted["encrypted"] is None else wanted["encrypted"]
    role = salt["postgres.role_get"](name, return_password=not refresh_password, **connection)
    password = wanted["rolepassword"]
    if password is None and role is None:
        password = default_password
    if password is not None:
        same = role and not refresh_password and pgpass.verified(name, password, role["password"], encrypted)
        password = None if same else pgpass.stored(name, password, encrypted)
    wanted["rolepassword"] = password
    verb, update = "create", {}
    if role is not None:
        verb = "update"
        try:
            update = _differing(salt, role, wanted, connection)
        except CommandExecutionError as exc:
            comment = "Failed to update %s %s: %s%s" % (kind, name, exc, last_error(context))
            return dict(ret, result=False, comment=comment)
        if not update:
            return ret
    if opts["test"]:
        return dict(
            ret,
            result=None,
            changes={name: update} if update else {},
            comment="%s %s is set to be %sd" % (title, name, verb),
        )
    if salt["postgres.%s_%s" % (kind, verb)](name, **dict(wanted, **connection)):
        comment = "The %s %s has been %sd" % (kind, name, verb)
        return dict(ret, changes={name: update or "Present"}, comment=comment)
    return dict(ret, result=False, comment="Failed to %s %s %s%s" % (verb, kind, name, last_error(context)))


def _differing(salt, role, wanted, connection):
    """{argument: value} of the differences; True for a password."""
    update = {
        key: wanted[key] for key in _ATTRIBUTES if wanted[key] is not None and role[_ATTRIBUTES[key]] != wanted[key]
    }
    if wanted["rolepassword"] is not None:
        update["password"] = True
    until = wanted.get("valid_until")
    if until is not None and _moment(salt, until, connection) != role["expiry time"]:
        update["valid_until"] = until
    groups = wanted["groups"]
    if isinstance(groups, str):
        groups = groups.split(",")
    missing = [group for group in groups or () if group not in role["groups"]]
    if missing:
        update["groups"] = missing
    return update


def _moment(salt, until, connection):
    """The time that the server understands by this text; None for infinity. Raises CommandExecutionError for an invalid
    one."""
    import datetime

    query = "SELECT '%s'::timestamp(0) AS dt" % str(until).replace("'", "''")
    rows = salt["postgres.psql_query"](query, **connection)
    if not rows:
        raise CommandExecutionError("valid_until %s" % until)
    try:
        return datetime.datetime.strptime(rows[0]["dt"], "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None


def absent(salt, opts, context, kind, name, connection):
    """The return of a state that removes a role."""
    title = kind.capitalize()
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if not salt["postgres.user_exists"](name, **connection):
        return dict(ret, comment="%s %s is not present, so it cannot be removed" % (title, name))
    if opts["test"]:
        return dict(ret, result=None, comment="%s %s is set to be removed" % (title, name))
    if salt["postgres.%s_remove" % kind](name, **connection):
        return dict(ret, changes={name: "Absent"}, comment="%s %s has been removed" % (title, name))
    return dict(ret, result=False, comment="%s %s failed to be removed%s" % (title, name, last_error(context)))
