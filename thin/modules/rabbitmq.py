"""RabbitMQ through rabbitmqctl and rabbitmq-plugins. Salt: modules/rabbitmq.py

``runas`` is the account to run them as: that of the broker where we are root, since the wrappers of packages take it
from there, and let a shell read the arguments otherwise. Passwords go in by stdin, where RabbitMQ is 3.8 or newer.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils import serial

__reads__ = (
    "list_users",
    "list_vhosts",
    "list_upstreams",
    "user_exists",
    "vhost_exists",
    "upstream_exists",
    "check_password",
    "list_permissions",
    "list_user_permissions",
    "status",
    "cluster_status",
    "list_queues",
    "list_queues_vhost",
    "list_policies",
    "policy_exists",
    "list_available_plugins",
    "list_enabled_plugins",
    "plugin_is_enabled",
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
    "set_policy",
    "delete_policy",
    "enable_plugin",
    "disable_plugin",
    "set_upstream",
    "delete_upstream",
)

log = getLogger(__name__)

OWNER = "rabbitmq"

#: that it is UTF-8 is what Erlang asks of a locale; it warns about others
_ENV = {"LC_ALL": "C.UTF-8"}


def __virtual__():
    if process.which("rabbitmqctl"):
        return True
    return False, "Module rabbitmq: module only works when RabbitMQ is installed"


def list_users(runas=None):
    """
    Return ``{user: [tag]}``; a user without tags has one empty one

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


def list_upstreams(runas=None):
    """
    Return ``{name: definition as JSON}`` of the parameters, which upstreams are

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_upstreams
    """
    return {row["name"]: _json(row["value"]) for row in _listed(["list_parameters"], runas)}


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


def upstream_exists(name, runas=None):
    """
    Whether there is an upstream

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.upstream_exists mq02
    """
    return name in list_upstreams(runas)


def add_user(name, password=None, runas=None):
    """
    Add a user, without a password when none is given; returns ``{Added: what rabbitmqctl said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.add_user app 'correct horse'
    """
    done = _with_password(["add_user", name], os.urandom(24).hex() if password is None else password, runas)
    ret = _answer(done, "Added")
    if password is None:
        try:
            clear_password(name, runas)
        except CommandExecutionError:
            delete_user(name, runas)
            raise
    return ret


def delete_user(name, runas=None):
    """
    Delete a user; returns ``{Deleted: what rabbitmqctl said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.delete_user app
    """
    return _answer(_ctl(["delete_user", name], runas), "Deleted")


def change_password(name, password, runas=None):
    """
    Change a user's password; returns ``{Password Changed: what rabbitmqctl said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.change_password app 'correct horse'
    """
    return _answer(_with_password(["change_password", name], password, runas), "Password Changed")


def clear_password(name, runas=None):
    """
    Leave a user without a password; returns ``{Password Cleared: what rabbitmqctl said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.clear_password app
    """
    return _answer(_ctl(["clear_password", name], runas), "Password Cleared")


def check_password(name, password, runas=None):
    """
    Whether a user's password is this one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.check_password app 'correct horse'
    """
    return _good(_with_password(["authenticate_user", name], password, runas))


def add_vhost(vhost, runas=None):
    """
    Add a virtual host; returns ``{Added: what rabbitmqctl said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.add_vhost shop
    """
    return _answer(_ctl(["add_vhost", vhost], runas), "Added")


def delete_vhost(vhost, runas=None):
    """
    Delete a virtual host; returns ``{Deleted: what rabbitmqctl said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.delete_vhost shop
    """
    return _answer(_ctl(["delete_vhost", vhost], runas), "Deleted")


def set_permissions(vhost, user, conf=".*", write=".*", read=".*", runas=None):
    """
    Set what a user may configure, write and read in a virtual host

    conf, write, read
        regular expressions of the names of queues and exchanges

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.set_permissions shop app
    """
    return _answer(_ctl(["set_permissions", "-p", vhost, user, conf, write, read], runas), "Permissions Set")


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
    Make these the tags of a user: a list, or one; returns ``{Tag(s) set: what rabbitmqctl said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.set_user_tags app monitoring
    """
    tags = list(tags) if isinstance(tags, (list, tuple)) else [tags]
    return _answer(_ctl(["set_user_tags", name] + tags, runas), "Tag(s) set")


def status(runas=None):
    """
    Return what rabbitmqctl says of the broker

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.status
    """
    return _checked(_ctl(["status"], runas))


def cluster_status(runas=None):
    """
    Return what rabbitmqctl says of the cluster

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.cluster_status
    """
    return _checked(_ctl(["cluster_status"], runas))


def join_cluster(host, user="rabbit", ram_node=None, runas=None):
    """
    Join the cluster of the node ``user@host``, stopping the application for that; ``ram_node``: as one without a disk

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.join_cluster mq01 rabbit
    """
    stop_app(runas)
    done = _ctl(["join_cluster"] + (["--ram"] if ram_node else []) + ["%s@%s" % (user, host)], runas)
    start_app(runas)
    return _answer(done, "Join")


def stop_app(runas=None):
    """
    Stop the application; the node goes on

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.stop_app
    """
    return _checked(_ctl(["stop_app"], runas))


def start_app(runas=None):
    """
    Start the application

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.start_app
    """
    return _checked(_ctl(["start_app"], runas))


def reset(runas=None):
    """
    Make the node a new one: all that it holds is gone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.reset
    """
    return _checked(_ctl(["reset"], runas))


def force_reset(runas=None):
    """
    Make the node a new one, whatever state it is in

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.force_reset
    """
    return _checked(_ctl(["force_reset"], runas))


def list_queues(runas=None, *args):
    """
    Return ``{queue: [value]}`` of the virtual host ``/``; ``args``: what to tell of a queue, after its name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_queues rabbitmq name memory
    """
    return _queues([], args, runas)


def list_queues_vhost(vhost, runas=None, *args):
    """
    Return ``{queue: [value]}`` of a virtual host; ``args``: what to tell of a queue, after its name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_queues_vhost shop rabbitmq name memory
    """
    return _queues(["-p", vhost], args, runas)


def _queues(where, args, runas):
    said = _checked(_ctl(["list_queues", "-q", "--no-table-headers"] + where + list(args), runas))
    rows = [line.split("\t") for line in said.splitlines() if line.strip()]
    return {row[0]: row[1:] if len(row) > 1 else "" for row in rows}


def list_policies(vhost="/", runas=None):
    """
    Return ``{virtual host: {name: {pattern, apply_to, definition, priority}}}``, all text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_policies
    """
    ret = {}
    for row in _listed(["list_policies", "-p", vhost], runas):
        ret.setdefault(row["vhost"], {})[row["name"]] = {
            "pattern": row["pattern"],
            "apply_to": row.get("apply-to", ""),
            "definition": _json(row["definition"]),
            "priority": str(row["priority"]),
        }
    return ret


def set_policy(vhost, name, pattern, definition, priority=None, runas=None, apply_to=None):
    """
    Set a policy for queues, exchanges or all (``apply_to``) whose names fit the pattern

    definition
        a dict, or JSON

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.set_policy shop mirrored '^orders' '{"ha-mode": "all"}'
    """
    if not isinstance(definition, (dict, str)):
        raise SaltInvocationError("The 'definition' argument must be a dictionary or JSON string")
    argv = ["set_policy", "-p", vhost]
    argv += ["--priority", str(priority)] if priority else []
    argv += ["--apply-to", apply_to] if apply_to else []
    return _answer(_ctl(argv + [name, pattern, _json(definition)], runas), "Set")


def delete_policy(vhost, name, runas=None):
    """
    Delete a policy; returns ``{Deleted: what rabbitmqctl said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.delete_policy shop mirrored
    """
    return _answer(_ctl(["clear_policy", "-p", vhost, name], runas), "Deleted")


def policy_exists(vhost, name, runas=None):
    """
    Whether there is a policy

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.policy_exists shop mirrored
    """
    return name in list_policies(vhost, runas).get(vhost, {})


def list_available_plugins(runas=None):
    """
    Return the names of all plugins

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_available_plugins
    """
    return _plugin_names(["list", "-q", "-m"], runas)


def list_enabled_plugins(runas=None):
    """
    Return the names of the plugins that are enabled, by somebody or because others need them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_enabled_plugins
    """
    return _plugin_names(["list", "-q", "-m", "-e"], runas)


def _plugin_names(argv, runas):
    lines = _checked(_plugins(argv, runas)).splitlines()
    # older ones write all names on one line
    return [name for line in lines if not line.startswith("Listing") for name in line.split()]


def plugin_is_enabled(name, runas=None):
    """
    Whether a plugin is enabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.plugin_is_enabled rabbitmq_management
    """
    return name in list_enabled_plugins(runas)


def enable_plugin(name, runas=None):
    """
    Enable a plugin; returns ``{Enabled: what rabbitmq-plugins said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.enable_plugin rabbitmq_management
    """
    return _answer(_plugins(["enable", name], runas), "Enabled")


def disable_plugin(name, runas=None):
    """
    Disable a plugin; returns ``{Disabled: what rabbitmq-plugins said}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.disable_plugin rabbitmq_management
    """
    return _answer(_plugins(["disable", name], runas), "Disabled")


def set_upstream(
    name,
    uri,
    prefetch_count=None,
    reconnect_delay=None,
    ack_mode=None,
    trust_user_id=None,
    exchange=None,
    max_hops=None,
    expires=None,
    message_ttl=None,
    ha_policy=None,
    queue=None,
    runas=None,
):
    """
    Set an upstream of federated exchanges and queues

    uri
        its address, or several with spaces between them
    prefetch_count, reconnect_delay, ack_mode, trust_user_id, exchange, max_hops, expires, message_ttl, ha_policy, queue
        the parameters of these names; what is not given is the broker's default

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.set_upstream mq02 ack_mode=on-publish max_hops=2 uri=amqp://mq02.example.org
    """
    given = (
        ("uri", uri),
        ("prefetch-count", prefetch_count),
        ("reconnect-delay", reconnect_delay),
        ("ack-mode", ack_mode),
        ("trust-user-id", trust_user_id),
        ("exchange", exchange),
        ("max-hops", max_hops),
        ("expires", expires),
        ("message-ttl", message_ttl),
        ("ha-policy", ha_policy),
        ("queue", queue),
    )
    value = {key: each for key, each in given if each}
    if "@" not in uri:
        _checked(_ctl(["set_parameter", "federation-upstream", name, serial.dumps(value)], runas))
        return True
    # an address with a password must not be an argument
    wanted = [{"component": "federation-upstream", "vhost": "/", "name": name, "value": value}]
    _checked(_ctl(["import_definitions", "-q"], runas, stdin=serial.dumps({"parameters": wanted})))
    return True


def delete_upstream(name, runas=None):
    """
    Delete an upstream

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.delete_upstream mq02
    """
    _checked(_ctl(["clear_parameter", "federation-upstream", name], runas))
    return True


# What they share


def _account(runas):
    if runas is not None or os.geteuid() != 0:
        return runas
    import pwd

    try:
        return pwd.getpwnam(OWNER).pw_name
    except KeyError:
        return None


def _ctl(argv, runas, stdin=None, quiet=False):
    argv = [process.which("rabbitmqctl") or "rabbitmqctl"] + [str(word) for word in argv]
    level = "quiet" if stdin is not None or quiet else "debug"
    return __salt__["cmd.run_all"](
        argv,
        python_shell=False,
        runas=_account(runas),
        env=_ENV,
        stdin=stdin,
        stdin_raw_newlines=True,
        reset_system_locale=False,
        output_loglevel=level,
    )


def _plugins(argv, runas):
    """rabbitmq-plugins writes a file of root's, and sees to the account itself."""
    program = process.which("rabbitmq-plugins") or "rabbitmq-plugins"
    return __salt__["cmd.run_all"](
        [program] + argv, python_shell=False, runas=runas, env=_ENV, reset_system_locale=False
    )


def _with_password(argv, password, runas):
    done = _ctl(argv, runas, stdin="%s\n" % password)
    if done["retcode"] != 0 and "usage" in (done["stdout"] + done["stderr"]).lower():
        done = _ctl(argv + [password], runas, quiet=True)  # before 3.8 there is no other way
    done["stdout"] = "\n".join(line for line in done["stdout"].splitlines() if line.strip() != "Password:")
    return done


def _good(done):
    return done["retcode"] == 0 and not done["stderr"].lstrip().startswith("Error")


def _checked(done):
    if not _good(done):
        said = done["stderr"].strip() or done["stdout"].strip()
        raise CommandExecutionError("RabbitMQ command failed: %s" % said)
    return done["stdout"]


def _answer(done, word):
    return {word: _checked(done)}


def _listed(argv, runas):
    """The rows of a list, as dicts."""
    return serial.loads(_checked(_ctl([argv[0], "-q", "--formatter=json"] + argv[1:], runas, quiet=True)) or "[]")


def _json(value):
    return value if isinstance(value, str) else serial.dumps(value)
