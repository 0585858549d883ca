"""Users of RabbitMQ. Salt: states/rabbitmq_user.py"""

from thin.exceptions import CommandExecutionError


def __virtual__():
    return True if "rabbitmq.add_user" in __salt__ else (False, "Command not found: rabbitmqctl")


def present(name, password=None, force=False, tags=None, perms=(), runas=None):
    """The user exists. changes: ``{user, password, tags, perms}``, each ``{old, new}``, of what changed.

    ``password`` is compared; with ``force`` it is set each time, or removed if none is given. ``tags``: a list, or text
    with spaces. ``perms``: a list of ``{virtual host: [configure, write, read]}``. ``runas``: the account to run
    rabbitmqctl as.
    """
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    try:
        users = __salt__["rabbitmq.list_users"](runas=runas)  # each call of rabbitmqctl takes a second
        exists = name in users
        if exists:
            wrong = password is not None and not __salt__["rabbitmq.check_password"](name, password, runas=runas)
            if not any((force, perms, tags, wrong)):
                return dict(ret, comment="User '%s' is already present." % name)
            if force or wrong:
                _password(ret["changes"], name, password, runas)
        else:
            ret["changes"]["user"] = {"old": "", "new": name}
            if __opts__["test"]:
                return dict(ret, result=None, comment="User '%s' is set to be created." % name)
            __salt__["rabbitmq.add_user"](name, password, runas=runas)
        if tags is not None:
            _tags(ret["changes"], name, users.get(name, [""]), tags, runas)
        if perms:
            now = __salt__["rabbitmq.list_user_permissions"](name, runas=runas) if exists else {}
            _permissions(ret["changes"], name, now, perms, runas)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Error: %s" % exc)
    if not ret["changes"]:
        return dict(ret, comment="'%s' is already in the desired state." % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Configuration for '%s' will change." % name)
    return dict(ret, comment="'%s' was configured." % name)


def _password(changes, name, password, runas):
    if not __opts__["test"]:
        if password is not None:
            __salt__["rabbitmq.change_password"](name, password, runas=runas)
        else:
            __salt__["rabbitmq.clear_password"](name, runas=runas)
    changes["password"] = (
        {"old": "", "new": "Set password."} if password is not None else {"old": "Removed password.", "new": ""}
    )


def _tags(changes, name, now, tags, runas):
    tags = tags.split() if isinstance(tags, str) else tags
    if {tag for tag in now if tag} == set(tags):
        return
    if not __opts__["test"]:
        __salt__["rabbitmq.set_user_tags"](name, tags, runas=runas)
    changes["tags"] = {"old": now, "new": tags}


def _permissions(changes, name, now, perms, runas):
    for entry in perms:
        for vhost, words in entry.items():
            new = dict(zip(("configure", "write", "read"), words))
            if now.get(vhost) == new:
                continue
            if not __opts__["test"]:
                __salt__["rabbitmq.set_permissions"](vhost, name, *words[:3], runas=runas)
            seen = changes.setdefault("perms", {"new": {}})
            if vhost in now:
                seen.setdefault("old", {}).update(now[vhost])
            seen["new"][vhost] = new


def absent(name, runas=None):
    """The user does not exist. changes: ``{name: {old: name, new: ""}}``."""
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    try:
        if not __salt__["rabbitmq.user_exists"](name, runas=runas):
            return dict(ret, comment="The user '%s' is not present." % name)
        ret["changes"] = {"name": {"old": name, "new": ""}}
        if __opts__["test"]:
            return dict(ret, result=None, comment="The user '%s' will be removed." % name)
        __salt__["rabbitmq.delete_user"](name, runas=runas)
    except CommandExecutionError as exc:
        return dict(ret, result=False, changes={}, comment="Error: %s" % exc)
    return dict(ret, comment="The user '%s' was removed." % name)
