"""The return of a state: its shape, and what is made of one that has another shape. Salt: ``OutputUnifier``."""

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


def failed(low, exc):
    """The return of a state that raised: Salt's sentence, with the traceback, which is what module authors look for;
    of what was refused, a path that root may not use or a function in a dry run, the reason."""
    import traceback

    from thin import slots
    from thin.utils import safepath

    if isinstance(exc, (safepath.Refused, slots.Refused)):
        return {"result": False, "name": low.get("name", low.get("__id__")), "changes": {}, "comment": str(exc)}
    if isinstance(exc, SystemExit):
        place = traceback.extract_tb(exc.__traceback__)[-1]
        words = "%s, line %s: it ends the program: sys.exit(%r)" % (place.filename, place.lineno, exc.code)
        return {
            "result": False,
            "name": low.get("name", low.get("__id__")),
            "changes": {},
            "comment": "An exception occurred in this state: " + words,
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
    """A state's answer as a well-formed return: what is malformed becomes a failure that says so."""
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
    """What is wrong with the shape of a state's answer, in Salt's words; None when nothing is."""
    if not isinstance(ret, dict):
        return "Malformed state return. Data must be a dictionary type."
    if not isinstance(ret.get("changes"), dict):
        return "'Changes' should be a dictionary."
    missing = [key for key in keys if key not in ret]
    if missing:
        return "The following keys were not present in the state return: %s." % ", ".join(missing)
    return None


def masked(value):
    """The value with every scalar hidden, for ``no_log``: shapes and keys stay, and what is empty, zero or false."""
    if isinstance(value, dict):
        return {key: masked(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [masked(item) for item in value]
    return MASK if value else value


def _text(line):
    return line.decode("utf-8", "replace") if isinstance(line, bytes) else str(line)
