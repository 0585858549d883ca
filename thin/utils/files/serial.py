"""JSON by the controller, if Python lacks the module, as Debian's python3-minimal does."""

from thin import link
from thin.exceptions import CommandExecutionError, SaltException

_NOT_OF_THE_KIND = ("ValueError", "TypeError", "JSONDecodeError", "InvalidFileException", "ExpatError")


def loads(text, **options):
    """Parse a JSON text. Raises ValueError for invalid text, CommandExecutionError if neither Python nor a controller
    can parse it."""
    try:
        import json
    except ImportError:
        return elsewhere("deserialize", "json", text, options)
    return json.loads(text, **options)


def dumps(value, **options):
    """The JSON of a value. Raises TypeError or ValueError for a value without one, else as ``loads``."""
    try:
        import json
    except ImportError:
        return elsewhere("serialize", "json", value, options)
    return json.dumps(value, **options)


def elsewhere(what, kind, data, options):
    """Call the controller's ``slsutil.serialize`` or ``slsutil.deserialize`` (``what``) with the data.

    Raises ValueError for invalid data, CommandExecutionError if there is no controller or it fails.
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
