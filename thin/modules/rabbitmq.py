"""Users, virtual hosts and nodes of RabbitMQ, through rabbitmqctl. Salt: modules/rabbitmq.py

``runas`` is the account that runs rabbitmqctl; for root by default that of the broker, because the packages' wrappers
would otherwise change to it through a shell that evaluates the arguments. Since RabbitMQ 3.8, passwords are passed on
stdin. Policies, upstreams and plugins are in rabbitmq_policies.py.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.programs import rabbitrun

__reads__ = (
    "list_users",
    "list_vhosts",
    "user_exists",
    "vhost_exists",
    "check_password",
    "list_permissions",
    "list_user_permissions",
    "status",
    "cluster_status",
    "list_queues",
    "list_queues_vhost",
)
__changes__ = (
    "add_user",
    "delete_user",
    "change_password",
    "clear_password",
    "add_vhost",
    "delete_vhost",
    "set_permissions",
    "set_user_tags",
    "join_cluster",
    "stop_app",
    "start_app",
    "reset",
    "force_reset",
)


def __virtual__():
    if process.which("rabbitmqctl"):
        return True
    return False, "Module rabbitmq: module only works when RabbitMQ is installed"


def list_users(runas=None):
    """
    Return ``{user: [tag]}``; for a user without tags, the list has one empty text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_users
    """
    return {row["user"]: list(row["tags"]) or [""] for row in _listed(["list_users"], runas)}


def list_vhosts(runas=None):
    """
    Return the names of the virtual hosts

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_vhosts
    """
    return [row["name"] for row in _listed(["list_vhosts"], runas)]


def user_exists(name, runas=None):
    """
    Whether there is a user

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.user_exists app
    """
    return name in list_users(runas)


def vhost_exists(name, runas=None):
    """
    Whether there is a virtual host

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.vhost_exists shop
    """
    return name in list_vhosts(runas)


def add_user(name, password=None, runas=None):
    """
    Add a user, without a password if none is given; returns ``{Added: output of rabbitmqctl}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.add_user app 'correct horse'
    """
    done = _with_password(["add_user", name], os.urandom(24).hex() if password is None else password, runas)
    ret = rabbitrun.answer(done, "Added")
    if password is None:
        try:
            clear_password(name, runas)
        except CommandExecutionError:
            delete_user(name, runas)
            raise
    return ret


def delete_user(name, runas=None):
    """
    Delete a user; returns ``{Deleted: output of rabbitmqctl}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.delete_user app
    """
    return rabbitrun.answer(_ctl(["delete_user", name], runas), "Deleted")


def change_password(name, password, runas=None):
    """
    Change a user's password; returns ``{Password Changed: output of rabbitmqctl}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.change_password app 'correct horse'
    """
    return rabbitrun.answer(_with_password(["change_password", name], password, runas), "Password Changed")


def clear_password(name, runas=None):
    """
    Remove the password of a user; returns ``{Password Cleared: output of rabbitmqctl}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.clear_password app
    """
    return rabbitrun.answer(_ctl(["clear_password", name], runas), "Password Cleared")


def check_password(name, password, runas=None):
    """
    Whether a user has this password

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.check_password app 'correct horse'
    """
    return rabbitrun.good(_with_password(["authenticate_user", name], password, runas))


def add_vhost(vhost, runas=None):
    """
    Add a virtual host; returns ``{Added: output of rabbitmqctl}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.add_vhost shop
    """
    return rabbitrun.answer(_ctl(["add_vhost", vhost], runas), "Added")


def delete_vhost(vhost, runas=None):
    """
    Delete a virtual host; returns ``{Deleted: output of rabbitmqctl}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.delete_vhost shop
    """
    return rabbitrun.answer(_ctl(["delete_vhost", vhost], runas), "Deleted")


def set_permissions(vhost, user, conf=".*", write=".*", read=".*", runas=None):
    """
    Set the permissions of a user to configure, write and read in a virtual host

    conf, write, read
        regular expressions of the names of queues and exchanges

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.set_permissions shop app
    """
    return rabbitrun.answer(_ctl(["set_permissions", "-p", vhost, user, conf, write, read], runas), "Permissions Set")


def list_permissions(vhost, runas=None):
    """
    Return ``{user: {configure, write, read}}`` of a virtual host

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_permissions shop
    """
    return {row.pop("user"): row for row in _listed(["list_permissions", "-p", vhost], runas)}


def list_user_permissions(name, runas=None):
    """
    Return ``{virtual host: {configure, write, read}}`` of a user

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_user_permissions app
    """
    return {row.pop("vhost"): row for row in _listed(["list_user_permissions", name], runas)}


def set_user_tags(name, tags, runas=None):
    """
    Set the tags of a user: a list, or one; returns ``{Tag(s) set: output of rabbitmqctl}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.set_user_tags app monitoring
    """
    tags = list(tags) if isinstance(tags, (list, tuple)) else [tags]
    return rabbitrun.answer(_ctl(["set_user_tags", name] + tags, runas), "Tag(s) set")


def status(runas=None):
    """
    Return rabbitmqctl's status of the broker

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.status
    """
    return rabbitrun.checked(_ctl(["status"], runas))


def cluster_status(runas=None):
    """
    Return rabbitmqctl's status of the cluster

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.cluster_status
    """
    return rabbitrun.checked(_ctl(["cluster_status"], runas))


def join_cluster(host, user="rabbit", ram_node=None, runas=None):
    """
    Join the cluster of the node ``user@host``; the application is stopped meanwhile. ``ram_node``: as a node without a
    disk

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.join_cluster mq01 rabbit
    """
    stop_app(runas)
    done = _ctl(["join_cluster"] + (["--ram"] if ram_node else []) + ["%s@%s" % (user, host)], runas)
    start_app(runas)
    return rabbitrun.answer(done, "Join")


def stop_app(runas=None):
    """
    Stop the application; the node keeps running

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.stop_app
    """
    return rabbitrun.checked(_ctl(["stop_app"], runas))


def start_app(runas=None):
    """
    Start the application

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.start_app
    """
    return rabbitrun.checked(_ctl(["start_app"], runas))


def reset(runas=None):
    """
    Reset the node: all its data is removed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.reset
    """
    return rabbitrun.checked(_ctl(["reset"], runas))


def force_reset(runas=None):
    """
    Reset the node in any state: all its data is removed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.force_reset
    """
    return rabbitrun.checked(_ctl(["force_reset"], runas))


def list_queues(runas=None, *args):
    """
    Return ``{queue: [value]}`` of the virtual host ``/``; ``args``: the columns to list after the name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_queues rabbitmq name memory
    """
    return _queues([], args, runas)


def list_queues_vhost(vhost, runas=None, *args):
    """
    Return ``{queue: [value]}`` of a virtual host; ``args``: the columns to list after the name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_queues_vhost shop rabbitmq name memory
    """
    return _queues(["-p", vhost], args, runas)


def _queues(where, args, runas):
    output = rabbitrun.checked(_ctl(["list_queues", "-q", "--no-table-headers"] + where + list(args), runas))
    rows = [line.split("\t") for line in output.splitlines() if line.strip()]
    return {row[0]: row[1:] if len(row) > 1 else "" for row in rows}


def _with_password(argv, password, runas):
    done = _ctl(argv, runas, stdin="%s\n" % password)
    if done["retcode"] != 0 and "usage" in (done["stdout"] + done["stderr"]).lower():
        done = _ctl(argv + [password], runas, quiet=True)  # older versions than 3.8 have no other way
    done["stdout"] = "\n".join(line for line in done["stdout"].splitlines() if line.strip() != "Password:")
    return done


def _ctl(argv, runas, stdin=None, quiet=False):
    return rabbitrun.ctl(__salt__, argv, runas, stdin, quiet)


def _listed(argv, runas):
    return rabbitrun.listed(__salt__, argv, runas)
