"""Containers. Salt (until 3007): ``salt/states/docker_container.py``."""

from thin.exceptions import CommandExecutionError, SaltException
from thin.utils import dockerwords


def __virtual__():
    return True if "docker.version" in __salt__ else (False, "docker module could not be loaded")


def running(name, image=None, skip_translate=None, ignore_collisions=False, validate_ip_addrs=True, force=False,
            watch_action="force", start=True, shutdown_timeout=None, client_timeout=60, networks=None,
            **kwargs):  # fmt: skip
    """
    There is a container, made of this image with these settings, and it runs; one made otherwise is replaced.

    Whether it was made otherwise shows a second container, which is made for that and taken away again.

    name
        The container.
    image
        Its image; fetched if it is lacking.
    force
        Replace it in any case.
    watch_action
        What a change in something watched does: ``force``, or the name of a signal to send.
    start
        Whether a new container is started.
    shutdown_timeout
        How many seconds a container that is replaced may take to stop.
    networks
        The networks that it is in: names, or ``{name: {ipv4_address, aliases, links}}``. Others are left.
    kwargs
        Settings: command, environment, binds, port_bindings, hostname, labels, restart_policy … as ``docker.create``.
    skip_translate, ignore_collisions, validate_ip_addrs, client_timeout
        Of no meaning here.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if image is None:
        return dict(ret, result=False, comment="The 'image' argument is required")
    signal = kwargs.pop("send_signal", False)
    said = []
    try:
        image_id = _image(ret, str(image))
        now = _inspected(name)
        wanted = dockerwords.networks(networks)
        if image_id is None:
            words = "Image '%s' would be pulled, and container '%s' created"
            return dict(ret, result=None, comment=words % (image, name))
        if now is None or force or _bare(now["Image"]) != _bare(image_id):
            if __opts__["test"]:
                if now is None or not force:
                    ret["changes"]["image"] = {"old": now and now["Image"], "new": image_id}
                else:
                    ret["changes"]["forced_update"] = True
                words = "Container '%s' would be %s" % (name, "replaced" if now else "created")
                return dict(ret, result=None, comment=words)
            if now:
                temporary = __salt__["docker.create"](image, **kwargs)
                _replace(ret, said, name, temporary, shutdown_timeout)
            else:
                temporary = __salt__["docker.create"](image, name=name, **kwargs)
                said.append("Created container '%s'" % name)
                ret["changes"]["container_id"] = {"added": temporary["Id"]}
            replaced = True
        else:
            replaced = _compared(ret, said, name, image, kwargs, shutdown_timeout)
            if not replaced and ret["result"] and not ret["changes"]:
                _signalled(ret, said, name, signal and watch_action)
        if not (__opts__["test"] and ret["result"] is None):
            _connected(ret, said, name, networks, wanted)
        _started(ret, said, name, now, replaced, start)
    except SaltException as exc:
        ret["result"] = False
        said.append(str(exc))
    ret["comment"] = "\n".join(said)
    return ret


def run(name, image=None, onlyif=None, unless=None, creates=None, bg=False, failhard=True, replace=False, force=False,
        skip_translate=None, ignore_collisions=False, validate_ip_addrs=True, client_timeout=60,
        **kwargs):  # fmt: skip
    """
    A container is made, run to its end, and what it printed is in the changes.

    name
        The container.
    image
        Its image; fetched if it is lacking.
    bg
        Do not wait for its end.
    failhard
        An exit code other than 0 is a failure.
    replace
        A container of this name is taken away first.
    force
        With ``replace``: even if it runs.
    kwargs
        Settings, as ``docker.create``; ``auto_remove``: take the container away at its end.
    skip_translate, ignore_collisions, validate_ip_addrs, client_timeout
        Of no meaning here.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if image is None:
        return dict(ret, result=False, comment="The 'image' argument is required")
    if __opts__["test"]:
        words = "Container would be run%s" % (" in the background" if bg else "")
        return dict(ret, result=None, comment=words)
    try:
        _image(ret, str(image))
        done = __salt__["docker.run_container"](image, name=name, bg=bg, replace=replace, force=force, **kwargs)
    except SaltException as exc:
        return dict(ret, result=False, comment="Encountered error running container: %s" % exc)
    ret["changes"].update(done)
    if bg:
        return dict(ret, comment="Container was run in the background")
    code = done.get("ExitCode")
    result = code == 0 if failhard else True
    return dict(ret, result=result, comment="Container ran and exited with a return code of %s" % code)


def stopped(name=None, containers=None, shutdown_timeout=None, unpause=False, error_on_absent=True, **kwargs):
    """
    Containers do not run.

    name
        The container.
    containers
        A list of containers, in place of ``name``.
    shutdown_timeout
        How many seconds each may take before it is killed.
    unpause
        Stop those that are held, too.
    error_on_absent
        A container that does not exist is a failure.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    if not name and not containers:
        return dict(ret, comment="One of 'name' and 'containers' must be provided")
    timeout = shutdown_timeout if shutdown_timeout is not None else kwargs.get("stop_timeout")
    by_state = {}
    for each in [name] if containers is None else containers:
        by_state.setdefault(_state(each), []).append(each)
    absent_ones, paused = by_state.get("absent", []), by_state.get("paused", [])
    said = []
    if absent_ones:
        words = "The following container(s) are absent: %s" % ", ".join(absent_ones)
        if error_on_absent:
            return dict(ret, comment=words)
        said.append(words)
    if paused and not unpause:
        words = "The following container(s) are paused: %s" % ", ".join(paused)
        return dict(ret, comment="\n".join([*said, words]))
    todo = by_state.get("running", []) + paused
    if not todo:
        words = "Container(s) %s already stopped" % ", ".join(by_state.get("stopped", []))
        return dict(ret, result=True, comment="\n".join(said + ([words] if "stopped" in by_state else [])))
    if __opts__["test"]:
        words = "The following container(s) will be stopped: %s" % ", ".join(todo)
        return dict(ret, result=None, comment="\n".join([*said, words]))
    wrong = []
    for each in todo:
        try:
            done = __salt__["docker.stop"](each, timeout=timeout, unpause=unpause)
            if done["result"]:
                ret["changes"][each] = done["state"]
            else:
                wrong.append(done.get("comment") or "Failed to stop container '%s'" % each)
        except CommandExecutionError as exc:
            wrong.append("Failed to stop container '%s': %s" % (each, exc))
    if wrong:
        return dict(ret, comment="\n".join(said + wrong))
    said.append("The following container(s) were stopped: %s" % ", ".join(todo))
    return dict(ret, result=True, comment="\n".join(said))


def absent(name, force=False):
    """
    There is no such container.

    name
        The container.
    force
        Even if it runs.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    try:
        before = _state(name)
        if before == "absent":
            return dict(ret, result=True, comment="Container '%s' does not exist" % name)
        if before != "stopped" and not force:
            words = "Container is running, set force to True to forcibly remove it"
            return dict(ret, result=None if __opts__["test"] else False, comment=words)
        if __opts__["test"]:
            return dict(ret, result=None, comment="Container '%s' will be removed" % name)
        ret["changes"]["removed"] = __salt__["docker.rm"](name, force=force)
    except CommandExecutionError as exc:
        return dict(ret, comment="Failed to remove container '%s': %s" % (name, exc))
    how = "Forcibly" if force and before != "stopped" else "Successfully"
    return dict(ret, result=True, comment="%s removed container '%s'" % (how, name))


def mod_watch(name, sfun=None, **kwargs):
    """A change in what is watched: the container is replaced, gets a signal, or is restarted."""
    if sfun == "running":
        action = kwargs.get("watch_action", "force")
        if action == "force":
            return running(name, **dict(kwargs, force=True))
        return running(name, **dict(kwargs, send_signal=True))
    if sfun == "stopped":
        return stopped(name, **kwargs)
    if sfun == "run":
        return run(name, **kwargs)
    words = "watch requisite is not implemented for %s" % sfun
    return {"name": name, "changes": {}, "result": False, "comment": words}


def _bare(identity):
    return str(identity).replace("sha256:", "")


def _inspected(name):
    try:
        return __salt__["docker.inspect_container"](name)
    except CommandExecutionError as exc:
        if "404" in str(exc):
            return None
        raise


def _state(name):
    return __salt__["docker.state"](name) if _inspected(name) else "absent"


def _image(ret, image):
    """The image's id, after it was fetched if need be; None in a dry run that would fetch it."""
    found = __salt__["docker.resolve_image_id"](image)
    if found is not False:
        return found
    if __opts__["test"]:
        return None
    try:
        done = __salt__["docker.pull"](image)
    except CommandExecutionError as exc:
        raise CommandExecutionError("Failed to pull %s: %s" % (image, exc))
    ret["changes"]["image"] = done
    return __salt__["docker.resolve_image_id"](image)


def _compared(ret, said, name, image, settings, timeout):
    """Whether the container was replaced, because one made now would be another. A dry run only says so."""
    temporary = __salt__["docker.create"](image, **settings)
    keep = False
    try:
        differ = __salt__["docker.compare_containers"](name, temporary["Name"])
        if not differ:
            return False
        ret["changes"]["container"] = differ
        if __opts__["test"]:
            ret["result"] = None
            said.append("Container '%s' would be replaced" % name)
            return False
        keep = True
        _replace(ret, said, name, temporary, timeout)
        return True
    finally:
        if not keep:
            __salt__["docker.rm"](temporary["Name"])


def _replace(ret, said, name, temporary, timeout):
    more = {} if timeout is None else {"timeout": timeout}
    ids = ret["changes"].setdefault("container_id", {})
    try:
        ids["removed"] = __salt__["docker.rm"](name, stop=True, **more)
        __salt__["docker.rename"](temporary["Name"], name)
    except CommandExecutionError as exc:
        raise CommandExecutionError("Failed to replace container '%s' by '%s': %s" % (name, temporary["Name"], exc))
    ids["added"] = temporary["Id"]
    said.append("Replaced container '%s'" % name)


def _signalled(ret, said, name, signal):
    if not signal:
        said.append("Container '%s' is already configured as specified" % name)
    elif __opts__["test"]:
        said.append("Signal %s would be sent to container" % signal)
    else:
        __salt__["docker.signal"](name, signal=signal)
        ret["changes"]["signal"] = signal
        said.append("Sent signal %s to container" % signal)


def _connected(ret, said, name, given, wanted):
    """Bring the container into its networks, and out of others if any are given."""
    if given is None:
        return
    now = (_inspected(name) or {}).get("NetworkSettings", {}).get("Networks") or {}
    changes = {}
    for network in sorted(set(now) | set(wanted)):
        if network in wanted and network in now and not _differs(now[network], wanted[network]):
            continue
        old, new = now.get(network) is not None, network in wanted
        changes[network] = {"old": _short(now.get(network)), "new": wanted.get(network)}
        if __opts__["test"]:
            continue
        if old:
            __salt__["docker.disconnect_container_from_network"](name, network)
        if new:
            __salt__["docker.connect_container_to_network"](name, network, **wanted[network])
        verb = "Reconnected to" if old and new else "Disconnected from" if old else "Connected to"
        said.append("%s network '%s'" % (verb, network))
    if changes:
        ret["changes"].setdefault("container", {})["Networks"] = changes
        if __opts__["test"]:
            ret["result"] = None
            said.append("Network configuration would be updated")


def _short(about):
    return None if about is None else {key: about.get(key) for key in ("IPAddress", "Aliases") if about.get(key)}


def _differs(now, wanted):
    """Whether a connection is not as it is wanted."""
    fixed = (now.get("IPAMConfig") or {}).get("IPv4Address") or now.get("IPAddress")
    if wanted.get("ipv4_address") and fixed and fixed != wanted["ipv4_address"]:
        return True
    aliases = dockerwords.listed(wanted.get("aliases") or [])
    return any(alias not in (now.get("Aliases") or []) for alias in aliases)


def _started(ret, said, name, before, replaced, start):
    """Start the container if it shall run and does not."""
    if not start or ret["result"] is False:
        return
    if __salt__["docker.state"](name) == "running":
        return
    if __opts__["test"]:
        ret["result"] = None
        said.append("Container would be started")
        return
    old = "stopped" if before is None or replaced else __salt__["docker.state"](name)
    done = __salt__["docker.start"](name)
    if done["state"]["new"] != "running":
        ret["result"] = False
        said.append("Container '%s' did not stay running: %s" % (name, done.get("comment") or "it ended at once"))
        return
    ret["changes"]["state"] = {"old": old, "new": "running"}
    if not replaced:
        said.append("Container '%s' changed state." % name)
