"""Policies, upstreams and plugins of RabbitMQ: a part of ``rabbitmq``. Salt: modules/rabbitmq.py

See rabbitmq.py for ``runas``.
"""

from thin import process
from thin.exceptions import SaltInvocationError
from thin.utils.files import serial
from thin.utils.programs import rabbitrun

__virtualname__ = "rabbitmq"
__reads__ = (
    "list_upstreams",
    "upstream_exists",
    "list_policies",
    "policy_exists",
    "list_available_plugins",
    "list_enabled_plugins",
    "plugin_is_enabled",
)
__changes__ = ("set_policy", "delete_policy", "enable_plugin", "disable_plugin", "set_upstream", "delete_upstream")


def __virtual__():
    if process.which("rabbitmqctl"):
        return __virtualname__
    return False, "Module rabbitmq: module only works when RabbitMQ is installed"


def _ctl(argv, runas, stdin=None, quiet=False):
    return rabbitrun.ctl(__salt__, argv, runas, stdin, quiet)


def list_upstreams(runas=None):
    """
    Return ``{name: definition as JSON}`` of the runtime parameters, which include upstreams

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_upstreams
    """
    return {
        row["name"]: rabbitrun.as_json(row["value"]) for row in rabbitrun.listed(__salt__, ["list_parameters"], runas)
    }


def upstream_exists(name, runas=None):
    """
    Whether there is an upstream

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.upstream_exists mq02
    """
    return name in list_upstreams(runas)


def list_policies(vhost="/", runas=None):
    """
    Return ``{virtual host: {name: {pattern, apply_to, definition, priority}}}``, all text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_policies
    """
    ret = {}
    for row in rabbitrun.listed(__salt__, ["list_policies", "-p", vhost], runas):
        ret.setdefault(row["vhost"], {})[row["name"]] = {
            "pattern": row["pattern"],
            "apply_to": row.get("apply-to", ""),
            "definition": rabbitrun.as_json(row["definition"]),
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
    return rabbitrun.answer(_ctl(argv + [name, pattern, rabbitrun.as_json(definition)], runas), "Set")


def delete_policy(vhost, name, runas=None):
    """
    Delete a policy; returns ``{Deleted: output of rabbitmqctl}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.delete_policy shop mirrored
    """
    return rabbitrun.answer(_ctl(["clear_policy", "-p", vhost, name], runas), "Deleted")


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
    Return the names of enabled plugins, including those that others require

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.list_enabled_plugins
    """
    return _plugin_names(["list", "-q", "-m", "-e"], runas)


def _plugin_names(argv, runas):
    lines = rabbitrun.checked(_plugins(argv, runas)).splitlines()
    # older versions print all names on one line
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
    Enable a plugin; returns ``{Enabled: output of rabbitmq-plugins}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.enable_plugin rabbitmq_management
    """
    return rabbitrun.answer(_plugins(["enable", name], runas), "Enabled")


def disable_plugin(name, runas=None):
    """
    Disable a plugin; returns ``{Disabled: output of rabbitmq-plugins}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.disable_plugin rabbitmq_management
    """
    return rabbitrun.answer(_plugins(["disable", name], runas), "Disabled")


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
        the parameters of these names; the default of each is the broker's

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
        rabbitrun.checked(_ctl(["set_parameter", "federation-upstream", name, serial.dumps(value)], runas))
        return True
    # an address with a password must not be an argument
    wanted = [{"component": "federation-upstream", "vhost": "/", "name": name, "value": value}]
    rabbitrun.checked(_ctl(["import_definitions", "-q"], runas, stdin=serial.dumps({"parameters": wanted})))
    return True


def delete_upstream(name, runas=None):
    """
    Delete an upstream

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rabbitmq.delete_upstream mq02
    """
    rabbitrun.checked(_ctl(["clear_parameter", "federation-upstream", name], runas))
    return True


def _plugins(argv, runas):
    """rabbitmq-plugins writes a file that belongs to root, and changes the account itself."""
    program = process.which("rabbitmq-plugins") or "rabbitmq-plugins"
    return __salt__["cmd.run_all"](
        [program] + argv, python_shell=False, runas=runas, env=rabbitrun.ENVIRONMENT, reset_system_locale=False
    )
