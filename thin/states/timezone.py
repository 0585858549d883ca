"""The system's time zone. Salt: states/timezone.py"""

from thin.exceptions import CommandExecutionError, SaltInvocationError


def __virtual__():
    return True if "timezone.get_zone" in __salt__ else (False, "timezone module could not be loaded")


def system(name, utc=True):
    """The system's time zone is this one, as ``America/Denver``.

    ``utc`` also sets the hardware clock to UTC; without it, that clock is not changed. Unlike in Salt, the state fails
    if there is no such zone.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    try:
        same_zone = __salt__["timezone.zone_compare"](name)
    except (SaltInvocationError, CommandExecutionError) as exc:
        ret["result"] = False
        ret["comment"] = "Unable to compare desired timezone '%s' to system timezone: %s" % (name, exc)
        return ret
    try:
        same_clock = not utc or __salt__["timezone.get_hwclock"]() != "localtime"
        if same_zone and same_clock:
            comments = ["Timezone %s already set" % name] + (["UTC already set to %s" % name] if utc else [])
        elif __opts__["test"]:
            ret["result"] = None
            comments = [] if same_zone else ["Timezone %s needs to be set" % name]
            comments += [] if same_clock else ["UTC needs to be set to %s" % utc]
        else:
            comments = ([] if same_zone else [_zone(ret, name)]) + ([] if same_clock else [_clock(ret, utc)])
    except (SaltInvocationError, CommandExecutionError) as exc:
        ret["result"], comments = False, ["Failed to set timezone: %s" % exc]
    ret["comment"] = ", ".join(comments)
    return ret


def _zone(ret, name):
    done = __salt__["timezone.set_zone"](name)
    if done is True:
        ret["changes"]["timezone"] = name
        return "Set timezone %s" % name
    ret["result"] = False
    return "Failed to set timezone" + (": %s" % done if done else "")


def _clock(ret, utc):
    if __salt__["timezone.set_hwclock"]("UTC"):
        ret["changes"]["utc"] = utc
        return "Set UTC to %s" % utc
    ret["result"] = False
    return "Failed to set UTC to %s" % utc
