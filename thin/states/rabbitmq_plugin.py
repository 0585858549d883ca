"""Plugins of RabbitMQ. Salt: states/rabbitmq_plugin.py"""

from thin.exceptions import CommandExecutionError


def __virtual__():
    return True if "rabbitmq.enable_plugin" in __salt__ else (False, "Command not found: rabbitmqctl")


def enabled(name, runas=None):
    """The plugin is enabled. changes: ``{old: "", new: name}``. ``runas``: the account to run rabbitmq-plugins as."""
    return _made(name, runas, True)


def disabled(name, runas=None):
    """The plugin is disabled. changes: ``{old: name, new: ""}``. ``runas``: the account to run rabbitmq-plugins as."""
    return _made(name, runas, False)


def _made(name, runas, wanted):
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    word = "enable" if wanted else "disable"
    try:
        if __salt__["rabbitmq.plugin_is_enabled"](name, runas=runas) is wanted:
            return dict(ret, comment="Plugin '%s' is already %sd." % (name, word))
        changes = {"old": "", "new": name} if wanted else {"old": name, "new": ""}
        if __opts__["test"]:
            return dict(ret, result=None, changes=changes, comment="Plugin '%s' is set to be %sd." % (name, word))
        __salt__["rabbitmq.%s_plugin" % word](name, runas=runas)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Error: %s" % exc)
    return dict(ret, changes=changes, comment="Plugin '%s' was %sd." % (name, word))
