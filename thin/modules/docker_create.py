"""Creates containers, and runs them until they exit: a part of ``docker``.

Salt (until 3007): ``salt/modules/dockermod.py``.
"""

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.formats import dockerwords

__virtualname__ = "docker"
__changes__ = ("create", "run_container")


def __virtual__():
    if process.which("docker") or process.which("podman"):
        return __virtualname__
    return False, "The docker execution module cannot be loaded: neither docker nor podman is installed."


def create(
    image,
    name=None,
    start=False,
    skip_translate=None,
    ignore_collisions=False,
    validate_ip_addrs=True,
    client_timeout=60,
    **kwargs,
):
    """
    Create a container; returns ``{Id, Name, Time_Elapsed}``

    image
        Its image.
    name
        Its name; docker chooses one by default.
    start
        Start it, too.
    kwargs
        Settings: command, environment, volumes (binds), port_bindings, ports, hostname, labels, restart_policy, user,
        working_dir, mem_limit, cap_add, network_mode, networks … Lists may be texts with commas.
    skip_translate, ignore_collisions, validate_ip_addrs, client_timeout
        Without effect.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.create registry.example.org/app:2.1 name=web port_bindings=8080:80
    """
    import time

    began = time.time()
    settings = {key: value for key, value in kwargs.items() if not key.startswith("__pub_")}
    networks = settings.pop("networks", None) or {}
    try:
        options, command, variables = dockerwords.container(settings, ignore_collisions)
    except ValueError as exc:
        raise SaltInvocationError(str(exc))
    naming = ["--name=%s" % name] if name else []
    out = __salt__["docker.cli"]("create", *(naming + options + [image] + command), env=variables)
    result = {"Id": out.split()[-1]}
    result["Name"] = __salt__["docker.inspect_container"](result["Id"])["Name"].lstrip("/")
    for network, how in dockerwords.networks(networks).items():
        __salt__["docker.connect_container_to_network"](result["Name"], network, **how)
    if start:
        __salt__["docker.start"](result["Name"])
        result["Started"] = True
    result["Time_Elapsed"] = time.time() - began
    return result


def run_container(
    image,
    name=None,
    skip_translate=None,
    ignore_collisions=False,
    validate_ip_addrs=True,
    client_timeout=60,
    bg=False,
    replace=False,
    force=False,
    networks=None,
    **kwargs,
):
    """
    Create a container, run it until it exits, and return ``{Id, Name, Logs, ExitCode, Time_Elapsed}``

    bg
        Do not wait for its exit; the return then has no Logs and ExitCode.
    replace
        Remove a container of this name first.
    force
        With ``replace``: even if it runs.
    networks
        The networks to connect it to, with options: ``{network: {ipv4_address: ...}}``.
    image, name, kwargs
        As ``docker.create``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.run_container registry.example.org/app:2.1 command='app --check'
    """
    result = {}
    if name and name in __salt__["docker.list_containers"](all=True):
        if not replace:
            raise CommandExecutionError("Container '%s' exists. Run with replace=True to remove it first" % name)
        result["Replaces"] = __salt__["docker.rm"](name, force=force)
    remove = kwargs.pop("auto_remove", kwargs.pop("rm", False))
    if bg and remove:
        kwargs["auto_remove"] = True
    result.update(create(image, name=name, networks=networks, ignore_collisions=ignore_collisions, **kwargs))
    __salt__["docker.start"](result["Id"])
    if not bg:
        result["ExitCode"] = __salt__["docker.wait"](result["Id"], ignore_already_stopped=True)["exit_status"]
        result["Logs"] = __salt__["docker.logs"](result["Id"])
        if remove:
            __salt__["docker.rm"](result["Id"])
    return result
