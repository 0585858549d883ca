"""Data as text where Python lacks the module for it, as Debian's python3-minimal does: the controller does it then."""

from thin import link
from thin.exceptions import CommandExecutionError, SaltException

_NOT_OF_THE_KIND = ("ValueError", "TypeError", "JSONDecodeError", "InvalidFileException", "ExpatError")


def loads(text, **options):
    """The value of a JSON text. Raises ValueError for text that is none, CommandExecutionError when neither Python
    here nor a controller can read it."""
    try:
        import json
    except ImportError:
        return elsewhere("deserialize", "json", text, options)
    return json.loads(text, **options)


def dumps(value, **options):
    """The JSON of a value. Raises TypeError or ValueError for one that has none, CommandExecutionError as above."""
    try:
        import json
    except ImportError:
        return elsewhere("serialize", "json", value, options)
    return json.dumps(value, **options)


def elsewhere(what, kind, data, options):
    """What the controller's ``slsutil.serialize`` or ``slsutil.deserialize`` makes of the data.

    Raises ValueError for data that are not of the kind, CommandExecutionError when there is nobody to ask.
    """
    if not link.connected():
        raise CommandExecutionError(
            "Python on this machine has no support for %s, and there is no controller to ask: install the Debian "
            "package python3 (this is python3-minimal)" % kind
        )
    try:
        return link.ask("slsutil." + what, [kind, data], options)
    except SaltException as exc:
        if getattr(exc, "exception", "") in _NOT_OF_THE_KIND:
            raise ValueError(str(exc))
        raise CommandExecutionError("The controller could not %s %s: %s" % (what, kind, exc))
