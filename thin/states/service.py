"""Services: running or dead, enabled or disabled at boot, masked or not. Salt: states/service.py

``enable`` of ``running`` and ``dead`` says whether the service also starts at boot; without it, this is not changed. A
watched change makes ``mod_watch`` restart (or ``reload``) the service.
"""

import contextlib

from thin import detail
from thin.exceptions import CommandExecutionError

__usual__ = True

#: arguments of systemd: passed to those of the provider's functions that accept them
SYSTEMD_ONLY = ("no_block", "unmask", "unmask_runtime")

#: whether the service runs (None: as it was) -> the end of the comment on enabling or disabling it
_DONE = {True: "and is running", None: "and is in the desired state", False: "and is dead"}
#: enabling or disabling -> whether the service runs -> the comment when that failed
_FAILED = {
    True: {
        True: "Failed when setting service %s to start at boot, but the service is running",
        None: "Failed when setting service %s to start at boot, but the service was already running",
        False: "Failed when setting service %s to start at boot, and the service is dead",
    },
    False: {
        True: "Failed when setting service %s to not start at boot, and is running",
        None: "Failed when setting service %s to not start at boot, but the service was already running",
        False: "Failed when setting service %s to not start at boot, and the service is dead",
    },
}
_UNAVAILABLE = {
    True: "%s is not available on this minion, service %s started",
    None: "%s is not available on this minion, service %s is in the desired state",
    False: "%s is not available on this minion, service %s is dead",
}


def __virtual__():
    if "service.start" in __salt__:
        return "service"
    words = "No service execution module loaded: check support for service management on %s (%s)"
    return False, words % (__grains__.get("osfinger", __grains__.get("os")), __salt__.missing("service.start"))


def running(name, enable=None, sig=None, init_delay=None, **kwargs):
    """
    The service runs

    name
        the service's name
    enable
        it also starts at boot (True), or does not (False); without it, this is not changed
    sig
        a text in the command line of its process, for a service that does not tell whether it runs
    init_delay
        seconds to wait after a start before looking whether it still runs
    no_block
        do not wait until it has started (systemd)
    unmask
        remove a mask first (systemd)
    unmask_runtime
        remove a mask in /run first (systemd)
    runlevels
        the runlevels in which it shall be enabled (OpenRC)
    provider
        the file of the execution module to use in the place of the system's own, such as ``runit``

    .. code-block:: yaml

        nginx:
          service.running:
            - enable: true
            - watch:
              - file: /etc/nginx/nginx.conf
    """
    with _one_look():
        return _running(_ret(name), enable, sig, init_delay, kwargs)


def _running(ret, enable, sig, init_delay, kwargs):
    name = ret["name"]
    ready = _ready(ret, kwargs, "started")
    if ready is not None:
        return ready
    enable = _boolean(enable)
    looking = _systemd_only(__salt__["service.status"], kwargs, ret)
    was_running = __salt__["service.status"](name, sig, **looking)
    was_enabled = _enabled(name)
    unmask_words = unmasked(name, kwargs.get("unmask_runtime", False))["comment"] if kwargs.get("unmask") else ""
    if was_running:
        ret["comment"] = _lines("The service %s is already running" % name, unmask_words)
        return _boot(ret, enable, was_enabled, None, True, kwargs)
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = _lines("Service %s is set to start" % name, unmask_words)
        return ret

    if __grains__.get("kernel") == "Darwin" and not was_enabled:  # launchd does not start disabled services
        if not enable:
            words = "The service %s is disabled but enable is not True. Set enable to True to successfully start it."
            return _with(ret, False, words % name)
        ret.update(_toggle(name, True, None, True, kwargs))
        enable = None
    try:
        started = __salt__["service.start"](name, **_systemd_only(__salt__["service.start"], kwargs, ret))
    except CommandExecutionError as exc:
        return _with(ret, False, str(exc))
    if not started:
        _with(ret, False, "Service %s failed to start%s" % (name, _complaint()))
        return _boot(ret, enable, None, False, False, kwargs)
    _pause(init_delay)
    runs = __salt__["service.status"](name, sig, **looking)
    if (runs or was_enabled != _enabled(name)) and not ret["changes"]:
        ret["changes"][name] = runs
    _with(ret, bool(runs), ("Started service %s" if runs else "Service %s failed to start") % name)
    _boot(ret, enable, None, runs, runs, kwargs)
    if init_delay:
        ret["comment"] += "\nDelayed return for %s seconds" % init_delay
    ret["comment"] = _lines(ret["comment"], unmask_words)
    return ret


def dead(name, enable=None, sig=None, init_delay=None, **kwargs):
    """
    The service does not run; one that does not exist is dead, too

    name
        the service's name
    enable
        it also starts at boot (True), or does not (False); without it, this is not changed
    sig
        a text in the command line of its process, for a service that does not tell whether it runs
    init_delay
        seconds to wait after a stop before looking whether it still runs
    no_block
        do not wait until it has stopped (systemd)

    .. code-block:: yaml

        exim4:
          service.dead:
            - enable: false
    """
    with _one_look():
        return _dead(_ret(name), enable, sig, init_delay, kwargs)


def _dead(ret, enable, sig, init_delay, kwargs):
    name = ret["name"]
    ready = _ready(ret, kwargs, "stopped")
    if ready is not None:
        return ready
    enable = _boolean(enable)
    looking = _systemd_only(__salt__["service.status"], kwargs, ret)
    was_enabled = _enabled(name)
    if not __salt__["service.status"](name, sig, **looking):
        ret["comment"] = "The service %s is already dead" % name
        return _boot(ret, enable, was_enabled, None, True, kwargs)
    if __opts__["test"]:
        return _with(ret, None, "Service %s is set to be killed" % name)

    try:
        stopped = __salt__["service.stop"](name, **_systemd_only(__salt__["service.stop"], kwargs, ret))
    except CommandExecutionError as exc:
        return _with(ret, False, str(exc))
    if not stopped:
        _with(ret, False, "Service %s failed to die%s" % (name, _complaint()))
        return _boot(ret, enable, None, True, False, kwargs)
    _pause(init_delay)
    runs = __salt__["service.status"](name, **looking)
    if not runs or was_enabled != _enabled(name):
        ret["changes"][name] = runs
    _with(ret, not runs, ("Service %s failed to die" if runs else "Service %s was killed") % name)
    return _boot(ret, enable, None, runs, not runs, kwargs)


def enabled(name, **kwargs):
    """
    The service starts at boot; it may run or not

    name
        the service's name
    runlevels
        in just these runlevels (OpenRC)

    .. code-block:: yaml

        nginx:
          service.enabled: []
    """
    ret = _ret(name)
    ret.update(_toggle(name, True, None, True, kwargs))
    if __opts__.get("test") and ret["comment"].startswith(_missing(name)):
        words = "Service %s not present; if created in this state run, it would have been enabled" % name
        return _with(ret, None, words)
    return ret


def disabled(name, **kwargs):
    """
    The service does not start at boot; it may run or not

    name
        the service's name
    runlevels
        only these runlevels do not start it (OpenRC)

    .. code-block:: yaml

        exim4:
          service.disabled: []
    """
    ret = _ret(name)
    ret.update(_toggle(name, False, None, True, kwargs))
    return ret


def masked(name, runtime=False):
    """
    The unit cannot be started at all; only systemd has this

    name
        the unit's name
    runtime
        until the next boot

    .. code-block:: yaml

        apache2:
          service.masked: []
    """
    return _mask(name, True, runtime)


def unmasked(name, runtime=False):
    """
    The unit is not masked; only systemd has this

    name
        the unit's name
    runtime
        a mask until the next boot

    .. code-block:: yaml

        apache2:
          service.unmasked: []
    """
    return _mask(name, False, runtime)


def mod_watch(name, sfun=None, sig=None, reload=False, full_restart=False, init_delay=None, force=False, **kwargs):
    """
    A watched state changed: the service of ``running`` is restarted, that of ``dead`` is stopped

    name
        the service's name
    sfun
        the state that watches
    sig
        a text in the command line of its process
    reload
        reload it; one that is down is started
    full_restart
        restart it fully, where the system knows a difference
    init_delay
        seconds to wait afterwards
    force
        with ``reload``: restart a service that cannot reload
    no_block
        do not wait until that is done (systemd)
    """
    ret = _ret(name)
    if sfun not in ("running", "dead"):
        return _with(ret, False, "Unable to trigger watch for service.%s" % sfun)
    runs = __salt__["service.status"](name, sig, **_systemd_only(__salt__["service.status"], kwargs, ret))
    if sfun == "dead" and not runs:
        ret["comment"] = "Service is already stopped"
        return ret
    action, verb = _watch_action(sfun, runs, reload, force, full_restart)
    done = verb + ("ped" if verb == "stop" else "ed")
    if __opts__["test"]:
        return _with(ret, None, "Service is set to be %s" % done)
    if verb == "start" and "service.stop" in __salt__:
        __salt__["service.stop"](name)  # the rest of a failed or half-started service
    function = __salt__["service." + action]
    try:
        result = function(name, **_systemd_only(function, kwargs, ret))
    except CommandExecutionError as exc:
        return _with(ret, False, str(exc))
    _pause(init_delay)
    ret["changes"] = {name: result}
    return _with(ret, result, "Service %s" % done if result else "Failed to %s the service%s" % (verb, _complaint()))


def mod_beacon(name, **kwargs):
    """
    Without effect: beacons are configured in pillar, and run while `pushsalt watch` does

    name
        the service's name
    """
    sfun = kwargs.get("sfun")
    if sfun not in ("running", "dead"):
        return _with(_ret(name), False, "service.%s does not work with the beacon state function" % sfun)
    if not kwargs.get("beacon"):
        return _with(_ret(name), True, "Not adding beacon.")
    return _with(_ret(name), False, "Beacons need a resident minion; the service %s is not watched" % name)


# Private functions


def _watch_action(sfun, runs, reload, force, full_restart):
    """``(function of service, verb)``."""
    if sfun == "dead":
        return "stop", "stop"
    if not runs:
        return "start", "start"
    if reload and "service.reload" in __salt__:
        if force and "service.force_reload" in __salt__:
            return "force_reload", "forcefully reload"
        return "reload", "reload"
    if full_restart and "service.full_restart" in __salt__:
        return "full_restart", "fully restart"
    return "restart", "restart"


@contextlib.contextmanager
def _one_look():
    """All queries of a service until the next change use the same data, so the provider calls its program only once."""
    __context__["service.seen"] = {}
    try:
        yield
    finally:
        __context__.pop("service.seen", None)


def _ready(ret, kwargs, would):
    """The final return if the service cannot be managed, otherwise None."""
    name = ret["name"]
    if "enabled" in kwargs:
        words = 'Service %s uses non-existent option "enabled".  Perhaps "enable" option was intended?' % name
        return _with(ret, False, words)
    if "service.offline" in __salt__ and __salt__["service.offline"]():
        return _with(ret, True, "Running in OFFLINE mode. Nothing to do")
    try:
        if _available(name):
            return None
    except CommandExecutionError as exc:
        return _with(ret, False, str(exc))
    if __opts__["test"]:
        words = "Service %s not present; if created in this state run, it would have been %s" % (name, would)
        if would == "stopped":
            detail.same()  # unless a state before makes it
        return _with(ret, None, words)
    return _with(ret, would == "stopped", _missing(name))


def _boot(ret, enable, was_enabled, runs, result, kwargs):
    """``ret`` after ``enable`` was carried out; ``was_enabled``: the known status (None: read it)."""
    if enable is True and not was_enabled:
        ret.update(_toggle(ret["name"], True, runs, result, kwargs))
    elif enable is False and was_enabled is not False:
        ret.update(_toggle(ret["name"], False, runs, result, kwargs))
    return ret


def _toggle(name, on, runs, result, kwargs):
    """Enable (``on``) or disable: the keys of the return that this decides. ``runs`` is for the comment."""
    try:
        if not _available(name):
            return {"result": not on, "comment": _missing(name)}
    except CommandExecutionError as exc:
        return {"result": False, "comment": str(exc)}
    verb = "enable" if on else "disable"
    if "service." + verb not in __salt__ or "service.%sd" % verb not in __salt__:
        return {"result": result, "comment": _UNAVAILABLE[runs] % (verb.capitalize(), name)}
    is_so = _asking("service.%sd" % verb, name, kwargs)
    if is_so():
        return {"result": result, "comment": "Service %s is already %sd, %s" % (name, verb, _DONE[runs])}
    if __opts__["test"]:
        if detail.on() and "service.show" in __salt__:
            kind = __salt__["service.show"](name).get("UnitFileState")
            if kind not in (None, "", "enabled", "disabled", "linked"):
                detail.unsure("systemd may leave a unit as it is that is neither enabled nor disabled, but %s" % kind)
        return {"result": None, "comment": "Service %s set to be %sd" % (name, verb)}
    words = ""
    try:
        if __salt__["service." + verb](name, **kwargs):
            changes = {name: True} if is_so() else {}
            words = "Service %s has been %sd, %s" % (name, verb, _DONE[runs])
            return {"result": result, "changes": changes, "comment": words}
    except CommandExecutionError as exc:
        words = ". Additional information follows:\n\n%s" % exc
    return {"result": False, "comment": _FAILED[on][runs] % name + (words or _complaint())}


def _mask(name, on, runtime):
    ret = _ret(name)
    if "service.masked" not in __salt__:
        return _with(ret, False, "Service masking not available on this minion")
    kind = "runtime masked" if runtime else "masked"
    action = kind if on else kind.replace("masked", "unmasked")
    changes = {kind: {"old": not on, "new": on}}
    try:
        if __salt__["service.masked"](name, runtime) == on:
            ret["comment"] = "Service %s %s already %s" % (name, "is" if on else "was", action)
            return ret
        if __opts__["test"]:
            ret["changes"] = changes
            return _with(ret, None, "Service %s would be %s" % (name, action))
        __salt__["service.mask" if on else "service.unmask"](name, runtime)
        if __salt__["service.masked"](name, runtime) != on:
            return _with(ret, False, "Failed to %s service %s" % ("mask" if on else "unmask", name))
    except CommandExecutionError as exc:
        return _with(ret, False, str(exc))
    ret["changes"] = changes
    ret["comment"] = "Service %s was %s" % (name, action)
    return ret


def _available(name):
    if "service.available" in __salt__:
        return __salt__["service.available"](name)
    return "service.get_all" in __salt__ and name in __salt__["service.get_all"]()


def _missing(name):
    return "The named service %s is not available%s" % (name, _complaint())


def _complaint():
    """The output of the failed command, or the reason why there was none, for the end of a comment."""
    words = __context__.pop("service.complaint", "")
    return ": %s" % words if words else ""


def _asking(function, name, kwargs):
    """The query whether a service is enabled or disabled, in these runlevels if given (OpenRC)."""
    ask = __salt__[function]
    if "runlevels" in kwargs and function == "service.enabled":
        return lambda: ask(name, runlevels=kwargs["runlevels"])
    return lambda: ask(name)


def _enabled(name):
    return __salt__["service.enabled"](name) if "service.enabled" in __salt__ else True


def _systemd_only(function, kwargs, ret):
    """The systemd-only arguments among ``kwargs`` that the function takes; without systemd they are warned about."""
    import os

    code = getattr(function, "__code__", None)
    takes = code.co_varnames[: code.co_argcount] if code else ()
    given = {key: kwargs[key] for key in SYSTEMD_ONLY if key in kwargs and key in takes}
    if not given or os.path.isdir("/run/systemd/system"):
        return given
    warnings = ret.setdefault("warnings", [])
    for key in given:
        words = "The '%s' argument is not supported by this platform" % key
        if words not in warnings:
            warnings.append(words)
    return {}


def _pause(seconds):
    if seconds:
        import time

        time.sleep(seconds)


def _boolean(value):
    return value.lower() in ("true", "yes", "on", "1") if isinstance(value, str) else value


def _lines(*texts):
    return "\n".join(text for text in texts if text)


def _ret(name):
    __context__.pop("service.complaint", None)  # left by an earlier state
    return {"name": name, "changes": {}, "result": True, "comment": ""}


def _with(ret, result, comment):
    ret["result"] = result
    ret["comment"] = comment
    return ret
