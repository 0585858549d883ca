"""Salt's exception classes, by the names and bases they have in ``salt.exceptions``.

Callers get a class's name as ``exception`` in an error return, and users' modules catch these by name, so the names
and the inheritance are Salt's. ``thin/compat/salt/exceptions.py`` exports them as ``salt.exceptions``.

Those that our own modules do not raise are in ``thin/rareexceptions.py``: each start would take time to make them.
"""


class SaltException(Exception):
    """Base of all. ``message`` and ``strerror`` are the text; other values are converted to text."""

    def __init__(self, message=""):
        if isinstance(message, bytes):
            message = message.decode("utf-8", "replace")
        message = str(message)
        super(SaltException, self).__init__(message)
        self.message = self.strerror = message


class CommandNotFoundError(SaltException):
    """A program that the module needs is not installed."""


def _with_info(message, info):
    if not info:
        return message
    if message:
        message += " " if message[-1] in ".?!" else ". "
    from thin.utils import nested

    return "%sAdditional info follows:\n\n%s" % (message, nested.text(info))


class CommandExecutionError(SaltException):
    """A command failed. ``info`` is data about it, shown below the message; ``error`` is the message alone."""

    def __init__(self, message="", info=None):
        if isinstance(message, bytes):
            message = message.decode("utf-8", "replace")
        self.error = str(message)
        self.info = info
        super(CommandExecutionError, self).__init__(_with_info(self.error, info))

    @property
    def strerror_without_changes(self):
        """The text without the changes in ``info``, which callers show separately."""
        if isinstance(self.info, dict) and "changes" in self.info:
            return _with_info(self.error, {key: self.info[key] for key in self.info if key != "changes"})
        return self.strerror


class ArgumentValueError(CommandExecutionError):
    pass


class SaltInvocationError(SaltException, TypeError):
    """The caller's arguments are wrong."""


class SaltRenderError(SaltException):
    pass
