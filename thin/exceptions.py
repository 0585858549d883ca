"""Salt's exception classes, by the names and bases they have in ``salt.exceptions``.

Callers get a class's name as ``exception`` in an error return, and users' modules catch these by name, so the names
and the inheritance are Salt's. ``thin/compat/salt/exceptions.py`` exports them as ``salt.exceptions``.
"""


class SaltException(Exception):
    """Base of all. ``message`` and ``strerror`` are the text; other values are converted to text."""

    def __init__(self, message=""):
        if isinstance(message, bytes):
            message = message.decode("utf-8", "replace")
        message = str(message)
        super(SaltException, self).__init__(message)
        self.message = self.strerror = message


class SaltClientError(SaltException):
    pass


class SaltMasterError(SaltException):
    pass


class SaltNoMinionsFound(SaltException):
    pass


class AuthenticationError(SaltException):
    pass


class AuthorizationError(SaltException):
    pass


class InvalidKeyError(SaltException, ValueError):
    pass


class CommandNotFoundError(SaltException):
    """A program that the module needs is not installed."""


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


class CheckError(CommandExecutionError):
    pass


class InvalidConfigError(CommandExecutionError):
    pass


class InvalidEntityError(CommandExecutionError):
    pass


class LoaderError(SaltException):
    pass


class PublishError(SaltException):
    pass


class MinionError(SaltException):
    """An operation failed on the target; in file functions: a source does not exist or cannot be read."""


class FileserverConfigError(SaltException):
    pass


class FileLockError(SaltException):
    def __init__(self, message, time_start=None, *args, **kwargs):
        import time

        super(FileLockError, self).__init__(message)
        self.time_start = time.time() if time_start is None else time_start


class GitLockError(SaltException):
    def __init__(self, errno, message, *args, **kwargs):
        super(GitLockError, self).__init__(message)
        self.errno = errno


class GitRemoteError(SaltException):
    pass


class SaltInvocationError(SaltException, TypeError):
    """The caller's arguments are wrong."""


class PkgParseError(SaltException):
    pass


class SaltRenderError(SaltException):
    pass


class SaltClientTimeout(SaltException):
    def __init__(self, message, jid=None, *args, **kwargs):
        super(SaltClientTimeout, self).__init__(message)
        self.jid = jid


class SaltCacheError(SaltException):
    pass


class TimeoutError(SaltException):
    pass


class SaltReqTimeoutError(SaltException):
    pass


class TimedProcTimeoutError(SaltException):
    """A command ran longer than its ``timeout``."""


class EauthAuthenticationError(SaltException):
    pass


class TokenAuthenticationError(SaltException):
    pass


class SaltDeserializationError(SaltException):
    pass


class SaltValidationError(SaltException):
    pass


class UnsupportedAlgorithm(SaltException):
    pass


class SaltRunnerError(SaltException):
    pass


class SaltWheelError(SaltException):
    pass


class SaltConfigurationError(SaltException):
    pass


class SaltCloudException(SaltException):
    pass


class NotImplemented(SaltException):
    pass


class TemplateError(SaltException):
    pass


def _with_info(message, info):
    if not info:
        return message
    if message:
        message += " " if message[-1] in ".?!" else ". "
    from thin.utils import nested

    return "%sAdditional info follows:\n\n%s" % (message, nested.text(info))
