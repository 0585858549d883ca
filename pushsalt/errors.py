"""The exceptions of pushsalt, with kind, message, hint and exit code.

There are three families:

- ``CommandError``: the command itself was wrong (usage, configuration, inventory, no target): exit code 1.
- ``TargetError``: one target gave no answer (not reached, not logged in to, not bootstrapped, lost): exit code 3.
  It becomes that target's return, ``{"error": {"kind", "message", "hint"}}``, and never stops another target.
- ``StateError``: a target's states cannot be rendered or compiled (a list of texts is the target's return), and
  ``FunctionError``: a function raised or does not exist: exit code 2.

``KINDS`` is the closed list of values of ``kind``; docs/errors.md describes each, which a test verifies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

EXIT_OK = 0
EXIT_COMMAND = 1
EXIT_FAILED = 2
EXIT_NO_ANSWER = 3
#: With ``--detailed-exitcode``, in place of 0: something changed or would change.
EXIT_CHANGES = 4
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143

#: kind -> its meaning. The list is closed: error returns have no other kinds.
KINDS: dict[str, str] = {
    "dns_failure": "the host name does not resolve",
    "connection_refused": "the address and port do not accept connections",
    "unreachable": "no route to the host, or the network is down",
    "connect_timeout": "the connection was not established in time (TCP, banner, key exchange or login)",
    "jump_failed": "a jump host of the target could not be used",
    "ssh_protocol": "the peer does not speak SSH, or no common algorithm exists",
    "host_key_unknown": "the host key is not in known_hosts",
    "host_key_changed": "the host key differs from that in known_hosts",
    "host_key_revoked": "the host key is marked as revoked",
    "host_key_unchecked": "the inventory turns the check of host keys off",
    "setting_refused": "a setting cannot be given to ssh or to a command safely",
    "auth_failed": "the server accepted none of the offered keys or passwords",
    "key_unusable": "a private key or certificate cannot be read or decrypted",
    "sudo_password_wrong": "sudo (or su, doas, run0) did not accept the password",
    "sudo_password_required": "sudo (or su, doas, run0) requires a password and none is set",
    "sudo_denied": "sudo (or su, doas, run0) does not allow this user to do that",
    "no_shell": "the login gives no usable /bin/sh",
    "no_python": "no Python was found on the target",
    "python_too_old": "only a Python older than 3.6 was found",
    "disk_full": "the target's disk or quota is full",
    "limit_reached": "a limit of the login there (open files, file size, memory, processes) stopped the runtime",
    "bootstrap_failed": "the runtime did not start",
    "protocol_error": "the target's answer does not follow the protocol",
    "excess": "the target sent more than the limits allow: the outcome is unknown",
    "connection_lost": "the connection broke during the work: the outcome is unknown",
    "worker_died": "the process that did the work ended: the outcome is unknown",
    "timeout": "the job did not end in time and was stopped",
    "locked": "another run uses the target",
    "worker_lost": "the workers of its site were lost with it, or cannot use the job: the outcome is unknown",
    "no_worker": "its site has no worker: nothing was done on it",
    "store_full": "the NATS server stores nothing more, so that no worker got it: nothing was done on it",
    "plan_stale": "the target has changed since the plan was made",
    "offline": "the call needs the target, and the target is offline",
    "secret_unavailable": "a secret that the target needs could not be read from its store",
    "resource_unknown": "no target manages the resource any more, or its manager is not in the inventory",
    "resource_unreachable": "the manager cannot enter the resource: it does not run, or a tool is missing",
    "interrupted": "stopped by a signal before the target's work ended",
    "not_begun": "the rollout was stopped before the target's turn: nothing was done on it",
    "unknown_function": "no such execution function",
    "exception": "the function raised an exception",
    "internal": "a defect in pushsalt itself",
}


@dataclass(frozen=True)
class Position:
    """A place in a source file that a person can edit. ``line`` and ``column`` count from 1."""

    path: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.path, *(str(number) for number in (self.line, self.column) if number is not None)]
        return ":".join(parts)


class PushsaltError(Exception):
    """The base class: ``message`` says what failed, ``hint`` what to do about it."""

    exit_code = EXIT_COMMAND

    def __init__(self, message: str, hint: str = "", where: Position | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class CommandError(PushsaltError):
    """The command was wrong; nothing was done on any target."""


class UsageError(CommandError):
    """The command line is wrong."""


class ConfigError(CommandError):
    """A configuration file is missing, malformed or unsafe."""


class InventoryError(CommandError):
    """An inventory or roster is missing or malformed; ``where`` has file and line."""


class NoTargetError(CommandError):
    """A target expression matches no target; the hint names similar ids."""

    def __init__(self, message: str, hint: str = "", words: str = "") -> None:
        super().__init__(message, hint)
        self.words = words


class IndexCorrupt(PushsaltError):
    """An index on disk is damaged and cannot be repaired. The caller must call ``reset()`` and fill it again."""


class TargetError(PushsaltError):
    """One target gave no answer. ``kind`` is a word of KINDS."""

    exit_code = EXIT_NO_ANSWER

    def __init__(self, kind: str, message: str, hint: str) -> None:
        assert kind in KINDS, kind
        assert message and hint, (kind, message, hint)
        super().__init__(message, hint)
        self.kind = kind

    def as_return(self) -> dict[str, Any]:
        return {"error": {"kind": self.kind, "message": self.message, "hint": self.hint}}


class PlanStale(TargetError):
    """A target has changed since the plan was made: nothing was changed on it."""

    exit_code = EXIT_FAILED

    def __init__(self, message: str, hint: str) -> None:
        super().__init__("plan_stale", message, hint)


class FunctionError(PushsaltError):
    """A function raised on the target or on the controller, or does not exist.

    ``exception`` is the class by the name that Salt gives it in ``salt.exceptions``, or Python's own.
    ``kind`` is ``exception`` or ``unknown_function``.
    """

    exit_code = EXIT_FAILED

    def __init__(self, kind: str, message: str, hint: str, exception: str) -> None:
        assert kind in ("exception", "unknown_function"), kind
        super().__init__(message, hint)
        self.kind = kind
        self.exception = exception

    def as_return(self) -> dict[str, Any]:
        error = {"kind": self.kind, "message": self.message, "hint": self.hint, "exception": self.exception}
        return {"error": error}


class StateError(PushsaltError):
    """A target's SLS, top file or pillar cannot be rendered or compiled. ``errors`` has all error texts."""

    exit_code = EXIT_FAILED

    def __init__(self, errors: Sequence[str] | str, hint: str = "", where: Position | None = None) -> None:
        self.errors = [errors] if isinstance(errors, str) else list(errors)
        super().__init__("\n".join(self.errors), hint, where)


class RenderError(StateError):
    """One template or SLS cannot be rendered.

    The text is complete: it names the SLS, ``path:line`` of the source to edit, and shows the lines around it.
    """


_VALUES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool,), "true/false"),
    ((str,), "text"),
    ((int, float), "a number"),
    ((list, tuple), "a list"),
    ((dict,), "a mapping"),
)


def in_words(value: Any) -> str:
    """The type of a value, in words for users of YAML."""
    if value is None:
        return "empty"
    return next((words for kinds, words in _VALUES if isinstance(value, kinds)), type(value).__name__)
