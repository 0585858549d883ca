"""The return of a state: its shape, and the conversion of returns with another shape. Salt: ``OutputUnifier``."""

import time

from thin.log import getLogger

log = getLogger(__name__)

MASK = "**********"


def clock(seconds):
    """The local time of day with microseconds: ``HH:MM:SS.ffffff``."""
    return "%s.%06d" % (time.strftime("%H:%M:%S", time.localtime(seconds)), seconds % 1 * 1000000)


def not_run(low, result, comment, number):
    """The return of a state that was not called."""
    return {
        "changes": {},
        "result": result,
        "duration": 0.0,
        "start_time": clock(time.time()),
        "comment": comment,
        "__state_ran__": False,
        "__run_num__": number,
        "__sls__": low.get("__sls__"),
        "__id__": low.get("__id__"),
        "name": low.get("name"),
    }


def ends_the_program(exc):
    """Where a SystemExit was raised, and with what."""
    import traceback

    place = traceback.extract_tb(exc.__traceback__)[-1]
    return "%s, line %s: it ends the program: sys.exit(%r)" % (place.filename, place.lineno, exc.code)


def failed(low, exc):
    """The return of a state that raised an exception: Salt's message with the traceback, for authors of modules.

    For a refusal (a path that root may not use, a function in a dry run) only the reason.
    """
    import traceback

    from thin import slots
    from thin.utils.files import safepath

    if isinstance(exc, (safepath.Refused, slots.Refused)):
        return {"result": False, "name": low.get("name", low.get("__id__")), "changes": {}, "comment": str(exc)}
    if isinstance(exc, SystemExit):
        return {
            "result": False,
            "name": low.get("name", low.get("__id__")),
            "changes": {},
            "comment": "An exception occurred in this state: " + ends_the_program(exc),
        }
    text = "".join(traceback.format_exception(type(exc), exc, exc.__traceback__))
    log.debug("the state raised an exception: %s", exc)
    return {
        "result": False,
        "name": low.get("name", low.get("__id__")),
        "changes": {},
        "comment": "An exception occurred in this state: %s" % text,
    }


def unified(ret):
    """The return of a state in the correct shape; a malformed one becomes a failure with an explanation."""
    problem = malformed(ret)
    for part in ret.get("sub_state_run") or () if not problem else ():
        problem = problem or malformed(part, ("changes", "result", "low"))
    if problem:
        return {
            "result": False,
            "name": "later",
            "changes": {},
            "comment": "An exception occurred in this state: %s" % problem,
        }
    for part in [ret] + list(ret.get("sub_state_run") or ()):
        if isinstance(part.get("comment"), (list, tuple)):
            part["comment"] = "\n".join(_text(line) for line in part["comment"])
        if part.get("result") is not None:
            part["result"] = bool(part["result"])
    return ret


def malformed(ret, keys=("name", "result", "changes", "comment")):
    """The error in the shape of a state's return, in Salt's words; None if it is correct."""
    if not isinstance(ret, dict):
        return "Malformed state return. Data must be a dictionary type."
    if not isinstance(ret.get("changes"), dict):
        return "'Changes' should be a dictionary."
    missing = [key for key in keys if key not in ret]
    if missing:
        return "The following keys were not present in the state return: %s." % ", ".join(missing)
    return None


def masked(value):
    """The value with every scalar masked, for ``no_log``; structure, keys, and empty, zero or false values stay."""
    if isinstance(value, dict):
        return {key: masked(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [masked(item) for item in value]
    return MASK if value else value


def _text(line):
    return line.decode("utf-8", "replace") if isinstance(line, bytes) else str(line)
