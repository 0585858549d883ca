"""Virtual hosts of RabbitMQ. Salt: states/rabbitmq_vhost.py"""

from thin.exceptions import CommandExecutionError


def __virtual__():
    return True if "rabbitmq.add_vhost" in __salt__ else (False, "Command not found: rabbitmqctl")


def present(name):
    """The virtual host exists. changes: ``{old: "", new: name}``."""
    return _made(name, True)


def absent(name):
    """The virtual host does not exist. changes: ``{old: name, new: ""}``."""
    return _made(name, False)


def _made(name, wanted):
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    try:
        if __salt__["rabbitmq.vhost_exists"](name) is wanted:
            answer = "already exists" if wanted else "is not present"
            return dict(ret, comment="Virtual Host '%s' %s." % (name, answer))
        changes = {"old": "", "new": name} if wanted else {"old": name, "new": ""}
        if __opts__["test"]:
            answer = "created" if wanted else "removed"
            return dict(ret, result=None, changes=changes, comment="Virtual Host '%s' will be %s." % (name, answer))
        answer = __salt__["rabbitmq.%s_vhost" % ("add" if wanted else "delete")](name)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Error: %s" % exc)
    return dict(ret, changes=changes, comment=answer["Added" if wanted else "Deleted"])
