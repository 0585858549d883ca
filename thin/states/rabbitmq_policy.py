"""Policies of RabbitMQ. Salt: states/rabbitmq_policy.py"""

from thin.exceptions import CommandExecutionError
from thin.utils.files import serial


def __virtual__():
    return True if "rabbitmq.set_policy" in __salt__ else (False, "Command not found: rabbitmqctl")


def present(name, pattern, definition, priority=0, vhost="/", runas=None, apply_to=None):
    """The policy exists in the virtual host. changes: ``{old: {}, new: name}``, or of one that differs
    ``{old: the policy, new: [what differs]}``.

    ``pattern``: matches the names of queues and exchanges; ``definition``: a dict, or JSON; ``apply_to``: queues,
    exchanges or all. ``runas``: the account to run rabbitmqctl as.
    """
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    try:
        policy = __salt__["rabbitmq.list_policies"](vhost=vhost, runas=runas).get(vhost, {}).get(name)
        if policy:
            differ = _differing(policy, pattern, definition, priority, apply_to)
            if not differ:
                return dict(ret, comment="Policy %s %s is already present" % (vhost, name))
            changes = {"old": policy, "new": differ}
        else:
            changes = {"old": {}, "new": name}
        if __opts__["test"]:
            answer = "updated" if policy else "created"
            comment = "Policy %s %s is set to be %s" % (vhost, name, answer)
            return dict(ret, result=None, changes=changes, comment=comment)
        answer = __salt__["rabbitmq.set_policy"](
            vhost, name, pattern, definition, priority=priority, runas=runas, apply_to=apply_to
        )
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Error: %s" % exc)
    return dict(ret, changes=changes, comment=answer["Set"])


def _differing(policy, pattern, definition, priority, apply_to):
    differ = ["Pattern"] if policy["pattern"] != pattern else []
    wanted = serial.loads(definition) if isinstance(definition, str) and definition else definition
    if serial.loads(policy["definition"] or '""') != wanted:
        differ.append("Definition")
    if apply_to and policy["apply_to"] != apply_to:
        differ.append("Applyto")
    if int(policy["priority"]) != int(priority):
        differ.append("Priority")
    return differ


def absent(name, vhost="/", runas=None):
    """The policy does not exist in the virtual host. changes: ``{old: name, new: ""}``."""
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    try:
        if not __salt__["rabbitmq.policy_exists"](vhost, name, runas=runas):
            return dict(ret, comment="Policy '%s %s' is not present." % (vhost, name))
        changes = {"old": name, "new": ""}
        if __opts__["test"]:
            comment = "Policy '%s %s' will be removed." % (vhost, name)
            return dict(ret, result=None, changes=changes, comment=comment)
        __salt__["rabbitmq.delete_policy"](vhost, name, runas=runas)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Error: %s" % exc)
    return dict(ret, changes=changes, comment="Deleted")
