"""Containers. Salt (until 3007): ``salt/states/docker_container.py``."""

from thin.exceptions import CommandExecutionError, SaltException
from thin.utils.formats import dockernets, dockerwords

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt


def __virtual__():
    return True if "docker.version" in __salt__ else (False, "docker module could not be loaded")


def running(
    name,
    image=None,
    skip_translate=None,
    ignore_collisions=False,
    validate_ip_addrs=True,
    force=False,
    watch_action="force",
    start=True,
    shutdown_timeout=None,
    client_timeout=60,
    networks=None,
    **kwargs,
):
    """
    A container of this image with these settings runs; one with other settings is replaced.

    To find differences, a second container is created for comparison and removed again.

    name
        The container.
    image
        Its image; pulled if it is missing.
    force
        Replace it in any case.
    watch_action
        The action after a change of a watched state: ``force``, or the name of a signal to send.
    start
        Whether an existing container that is stopped or replaced is started; a new one always is.
    shutdown_timeout
        How many seconds a container that is replaced may take to stop.
    networks
        The only networks of the container: names, or ``{name: {ipv4_address, aliases, links}}``. Without this argument,
        it is in docker's default network.
    ignore_collisions
        Accept a setting that is given under two of its names.
    kwargs
        Settings: command, environment, binds, port_bindings, hostname, labels, restart_policy … as ``docker.create``.
    skip_translate, validate_ip_addrs, client_timeout
        Without effect.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if image is None:
        return dict(ret, result=False, comment="The 'image' argument is required")
    image = str(image)
    signal = kwargs.pop("send_signal", False) and watch_action
    kwargs = dict(kwargs, ignore_collisions=ignore_collisions)
    comments = []
    try:
        wanted = _networks(networks)
        image_id = _image(ret, image)
        now = _inspected(name)
        other_image = now is not None and _bare(now["Image"]) != _bare(image_id)
        anew = force or now is None or other_image or not image_id
        if anew and __opts__["test"]:
            if force:
                ret["changes"]["forced_update"] = True
            else:
                ret["changes"]["image"] = {"old": now and now["Image"], "new": image_id or image}
            words = "Container '%s' would be %s" % (name, "replaced" if now else "created")
            words += "" if image_id else ", and its image %s pulled" % image
            return dict(ret, result=None, comment=words)
        made = __salt__["docker.create"](image, name=None if now else name, **kwargs)
        replaced = _settled(ret, comments, name, now, made, anew, signal, wanted, kwargs, shutdown_timeout)
        if ret["result"] is not False:
            _started(ret, comments, name, now, replaced, start)
            if other_image and not __opts__["test"]:
                comments.append("Container has a new image")
                ret["changes"]["image"] = {"old": now["Image"], "new": image_id}
    except SaltException as exc:
        ret["result"] = False
        comments.append(str(exc))
    return _finished(ret, comments)


def run(
    name,
    image=None,
    onlyif=None,
    unless=None,
    creates=None,
    bg=False,
    failhard=True,
    replace=False,
    force=False,
    skip_translate=None,
    ignore_collisions=False,
    validate_ip_addrs=True,
    client_timeout=60,
    **kwargs,
):
    """
    A container is created and run to its end; its output is in the changes.

    name
        The container.
    image
        Its image; pulled if it is missing.
    bg
        Do not wait for its end.
    failhard
        An exit code other than 0 is a failure.
    replace
        A container of this name is removed first.
    force
        With ``replace``: even if it runs.
    kwargs
        Settings, as ``docker.create``; ``auto_remove``: remove the container when it exits; ``networks``.
    ignore_collisions
        Accept a setting that is given under two of its names.
    skip_translate, validate_ip_addrs, client_timeout
        Without effect.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    for word in ("watch_action", "start", "shutdown_timeout", "follow"):
        if word in kwargs:
            return dict(ret, result=False, comment="The '%s' argument is not supported" % word)
    if image is None:
        return dict(ret, result=False, comment="The 'image' argument is required")
    image = str(image)
    try:
        networks = _networks(kwargs.pop("networks", None)) or None
        _image(ret, image)
    except SaltException as exc:
        return dict(ret, result=False, comment=str(exc))
    if __opts__["test"]:
        words = "Container would be run%s" % (" in the background" if bg else "")
        return dict(ret, result=None, comment=words)
    kwargs = dict(kwargs, networks=networks, ignore_collisions=ignore_collisions)
    try:
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
        Stop paused containers, too.
    error_on_absent
        A container that does not exist is a failure.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    if not name and not containers:
        return dict(ret, comment="One of 'name' and 'containers' must be provided")
    if containers is not None and not isinstance(containers, list):
        return dict(ret, comment="containers must be a list")
    timeout = shutdown_timeout if shutdown_timeout is not None else kwargs.get("stop_timeout")
    every = [str(each) for each in ([name] if containers is None else containers)]
    by_state = {}
    for each in every:
        by_state.setdefault(_state(each), []).append(each)
    absent_ones, paused = by_state.get("absent", []), by_state.get("paused", [])
    wrong = []
    if absent_ones and error_on_absent:
        wrong.append("The following container(s) are absent: %s" % ", ".join(absent_ones))
    if paused and not unpause:
        wrong.append("The following container(s) are paused: %s" % ", ".join(paused))
    if wrong:
        return dict(ret, comment=". ".join(wrong))
    todo = by_state.get("running", []) + paused
    if not todo:
        words = "Container '%s' is" % every[0] if len(every) == 1 else "All specified containers are"
        return dict(ret, result=True, comment="%s %snot running" % (words, "absent or " if absent_ones else ""))
    if __opts__["test"]:
        return dict(ret, result=None, comment="The following container(s) will be stopped: %s" % ", ".join(todo))
    for each in todo:
        try:
            done = __salt__["docker.stop"](each, timeout=timeout, unpause=unpause)
            if done["result"]:
                ret["changes"][each] = done
            else:
                wrong.append(done.get("comment") or "Failed to stop container '%s'" % each)
        except CommandExecutionError as exc:
            wrong.append("Failed to stop container '%s': %s" % (each, exc))
    if wrong:
        return dict(ret, comment="; ".join(wrong))
    return dict(ret, result=True, comment="The following container(s) were stopped: %s" % ", ".join(todo))


def absent(name, force=False):
    """
    The container does not exist.

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
            return dict(ret, comment=words)
        if __opts__["test"]:
            return dict(ret, result=None, comment="Container '%s' will be removed" % name)
        ret["changes"]["removed"] = __salt__["docker.rm"](name, force=force)
    except CommandExecutionError as exc:
        return dict(ret, comment="Failed to remove container '%s': %s" % (name, exc))
    how = "Forcibly" if force and before != "stopped" else "Successfully"
    return dict(ret, result=True, comment="%s removed container '%s'" % (how, name))


def mod_watch(name, sfun=None, **kwargs):
    """A watched state changed: the container is replaced, gets a signal, or is restarted."""
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
    """The image's id; the image is pulled if it is missing. None in a dry run that would pull it."""
    image_id = __salt__["docker.resolve_image_id"](image)
    if image_id is not False:
        return image_id
    if __opts__["test"]:
        return None
    try:
        done = __salt__["docker.pull"](image)
    except CommandExecutionError as exc:
        raise CommandExecutionError("Failed to pull %s: %s" % (image, exc))
    ret["changes"]["image"] = done
    return __salt__["docker.resolve_image_id"](image)


def _networks(given):
    """``{network: how to connect}``. Raises CommandExecutionError for networks that do not exist."""
    wanted = dockerwords.networks(given)
    if wanted:
        present = [about["Name"] for about in __salt__["docker.networks"]()]
        missing = sorted(name for name in wanted if name not in present)
        if missing:
            raise CommandExecutionError("The following networks are not present: %s" % ", ".join(missing))
    return wanted if given is not None else None


def _settled(ret, comments, name, now, made, anew, signal, wanted, settings, timeout):
    """Connect the new container to its networks, and keep it if it is needed. Returns whether it now has the name
    ``name``."""
    keep = False
    try:
        new = _inspected(made["Name"])
        old = now or new
        new = _placed(new, wanted)
        nets = __salt__["docker.compare_container_networks"](old, new) if old is not new else {}
        differ = {}
        if not anew:
            ignored = [key for key, given in _OWN if not settings.get(given)]
            differ = __salt__["docker.compare_containers"](name, made["Name"], ignore=ignored)
        if differ:
            ret["changes"]["container"] = differ
        if now is None:
            keep = True
            comments.append("Created container '%s'" % name)
        elif differ and __opts__["test"]:
            ret["result"] = None
            comments.append("Container '%s' would be replaced" % name)
        elif anew or differ:
            more = {} if timeout is None else {"timeout": timeout}
            ret["changes"]["container_id"] = {"removed": __salt__["docker.rm"](name, stop=True, **more)}
            keep = True
            __salt__["docker.rename"](made["Name"], name)
            comments.append("Replaced container '%s'" % name)
        else:
            _signalled(ret, comments, name, signal)
        if keep:
            ret["changes"].setdefault("container_id", {})["added"] = made["Id"]
        if nets:
            ret["changes"].setdefault("container", {})["Networks"] = nets
        if nets and __opts__["test"]:
            ret["result"] = None
            comments.append("Network configuration would be updated")
        elif nets and not keep:
            _connected(ret, comments, name, old, nets, wanted or {}, new)
        return keep
    finally:
        if not keep:  # its anonymous volumes are removed, too
            __salt__["docker.rm"](made["Name"], volumes=True)


#: properties that docker sets differently for each container, and the setting that overrides each
_OWN = (("Hostname", "hostname"), ("MacAddress", "mac_address"))


def _placed(about, wanted):
    """Connect a stopped container to exactly these networks; None: no change."""
    if wanted is None:
        return about
    name = about["Name"].lstrip("/")
    for network in wanted:
        __salt__["docker.connect_container_to_network"](name, network, **wanted[network])
    for network in dockernets.of_container(about):
        if network not in wanted:
            __salt__["docker.disconnect_container_from_network"](name, network)
    return _inspected(name)


def _signalled(ret, comments, name, signal):
    if not signal:
        comments.append("Container '%s' is already configured as specified" % name)
    elif __opts__["test"]:
        comments.append("Signal %s would be sent to container" % signal)
    else:
        __salt__["docker.signal"](name, signal=signal)
        ret["changes"]["signal"] = signal
        comments.append("Sent signal %s to container" % signal)


def _connected(ret, comments, name, old, nets, wanted, made):
    """Connect a container to the networks of a newly created one, and disconnect it from others."""
    existing, shall = dockernets.of_container(old), dockernets.of_container(made)
    for network in sorted(nets):
        try:
            if network in existing:
                __salt__["docker.disconnect_container_from_network"](name, network)
            if network in shall:
                __salt__["docker.connect_container_to_network"](name, network, **wanted.get(network, {}))
        except CommandExecutionError as exc:
            ret["result"] = False
            comments.append(str(exc))
            continue
        if network in existing and network in shall:
            comments.append("Reconnected to network '%s' with updated configuration" % network)
        else:
            verb = "Connected to" if network in shall else "Disconnected from"
            comments.append("%s network '%s'" % (verb, network))


def _started(ret, comments, name, before, replaced, start):
    """Start the container if it should run and does not, and report its state."""
    old = None
    if before is not None:
        flags = before["State"]
        old = "paused" if flags.get("Paused") else "running" if flags.get("Running") else "stopped"
    new = old
    if (replaced and (start or before is None)) or (start and old != "running"):
        if __opts__["test"]:
            ret["result"] = None
            comments.append("Container would be started")
            return
        try:
            new = __salt__["docker.start"](name)["state"]["new"]
        except CommandExecutionError as exc:
            ret["result"] = False
            comments.append("Failed to start container '%s': '%s'" % (name, exc))
            return
    elif replaced:
        new = __salt__["docker.state"](name)
    _told_addresses(ret, name, new)
    if new != old:
        ret["changes"]["state"] = {"old": old, "new": new}
        if old is not None:
            comments.append("State changed from '%s' to '%s'" % (old, new))
    if new != "running" and start:
        ret["result"] = False
        comments.append("Container is not running")


def _told_addresses(ret, name, state):
    """Report the addresses that were assigned at the start or connection of the container, in place of
    ``automatic``."""
    nets = ret["changes"].get("container", {}).get("Networks", {})
    unknown = [one for one in nets if nets[one].get("IPConfiguration", {}).get("new") == "automatic"]
    if unknown and state == "running" and not __opts__["test"]:
        now = dockernets.of_container(_inspected(name))
        for one in unknown:
            addresses = dockernets.chosen(now.get(one) or {})
            if addresses:
                nets[one].pop("IPConfiguration")
                nets[one].update(addresses)


def _finished(ret, comments):
    return dict(ret, comment=". ".join(comments) + ("." if len(comments) > 1 else ""))
