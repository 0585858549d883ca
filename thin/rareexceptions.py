"""Salt's exception classes that only users' modules and ``thin/compat`` use; ``thin/exceptions.py`` has the others."""

from thin.exceptions import CommandExecutionError, SaltException


def named(name):
    """Salt's exception class with this name, or None."""
    from thin import exceptions

    kind = getattr(exceptions, name, None) or globals().get(name)
    return kind if isinstance(kind, type) and issubclass(kind, SaltException) else None


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


class PkgParseError(SaltException):
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
