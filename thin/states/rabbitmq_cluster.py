"""Clusters of RabbitMQ. Salt: states/rabbitmq_cluster.py"""

from thin.exceptions import CommandExecutionError


def __virtual__():
    return True if "rabbitmq.join_cluster" in __salt__ else (False, "Command not found: rabbitmqctl")


def joined(name, host, user="rabbit", ram_node=None, runas="root"):
    """This node is in a cluster with the node ``user@host``. changes: ``{old: "", new: user@host}``.

    ``name`` is only a name. ``ram_node``: join as a node without a disk. ``runas``: the account to run rabbitmqctl as.
    """
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    node = "%s@%s" % (user, host)
    try:
        if node in __salt__["rabbitmq.cluster_status"]():
            return dict(ret, comment="Already in cluster")
        changes = {"old": "", "new": node}
        if __opts__["test"]:
            return dict(ret, result=None, changes=changes, comment="Node is set to join cluster " + node)
        answer = __salt__["rabbitmq.join_cluster"](host, user, ram_node, runas=runas)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Error: %s" % exc)
    return dict(ret, changes=changes, comment=answer["Join"])


def join(name, host, user="rabbit", ram_node=None, runas="root"):
    """Another name of ``joined``."""
    return joined(name, host, user, ram_node, runas)
