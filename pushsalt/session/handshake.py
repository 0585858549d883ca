"""The begin of a session: command line, passwords for sudo and the like, errors of a runtime that does not start."""

from __future__ import annotations

import re
import secrets
import string
import sys
from dataclasses import dataclass, replace

from pushsalt.bundle import shim
from pushsalt.bundle.become import METHODS, Become, Questions
from pushsalt.bundle.runtime import Runtime
from pushsalt.errors import TargetError
from pushsalt.model import Target

_ALPHABET = string.ascii_letters + string.digits


def random_word(length: int) -> str:
    """A random text of letters and digits, from a cryptographic source."""
    number = int.from_bytes(secrets.token_bytes(length + 16), "big")  # 16 bytes more: all texts are equally likely
    letters = []
    for _ in range(length):
        number, at = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[at])
    return "".join(letters)


class Opening:
    """The state of one start of the first stage: its command line, prompts, and output so far."""

    def __init__(self, target: Target, login: str | None) -> None:
        self._named = target.python
        if target.transport == "local" and not target.python and sys.executable:
            target = replace(target, python=sys.executable)  # this process's own interpreter
        self.target = target
        self.nonce = random_word(16)
        self.user = target.sudo_user or "root" if target.sudo else login
        self.become: Become | None = None
        self.password: str | None = None
        if target.sudo and login != self.user:
            method = METHODS[target.become or "sudo"]
            self.password = target.sudo_password or None
            asks = self.password is not None
            tty = target.tty or (asks and method.terminal)
            self.become = Become(method, self.user or "root", asks, tty, f"pushsalt-{random_word(12)}:")
        #: whether the command gets a pseudo-terminal
        self.tty = target.tty or (self.become is not None and self.become.tty)
        #: whether to wait until the first stage reports that it reads stdin: sudo and the like may read it before
        self.waits = self.become is not None and self.become.is_heard
        #: whether the command starts an interpreter that is known from an earlier session, without /bin/sh
        self.is_direct = False
        self.prompts = 0
        self._login = login or ""
        self._questions: dict[str, Questions] = {}
        #: the beginning and end of the output before the first frame, for messages
        self.output = bytearray()

    def program(self, runtime: Runtime, parameters: dict[str, object]) -> bytes:
        given = {
            "nonce": self.nonce.encode(),
            "key": runtime.key(self.target.place),
            "dir": self.target.thin_dir or "",
            **parameters,
        }
        return shim.program(runtime.programs, given)

    def command(self, size: int, exe: str = "") -> list[str]:
        """The command line that starts the first stage of ``size`` bytes. Raises TargetError.

        Without /bin/sh if ``exe``, the interpreter of the last session, is known and the login itself may start it. A
        ``python`` of the inventory, which may be a wrapper, is started in place of ``exe``.
        """
        self._check_terminal()
        if exe and self.become is None and not self.target.enter and not self.waits:
            words = shim.direct(self._named or exe, self.nonce, size)
            if words is not None:
                self.is_direct = True
                return words
        return shim.command(self.target, self.nonce, size, go=self.waits, become=self.become)

    def as_user(self, words: list[str]) -> list[str]:
        """The command line that runs ``words`` as the user to become. Raises TargetError."""
        self._check_terminal()
        return shim.as_user(self.target, words, self.become)

    def _check_terminal(self) -> None:
        become, id = self.become, self.target.id
        if become is not None and become.asks and become.method.terminal and self.target.transport == "local":
            name = become.method.name
            raise TargetError(
                "sudo_password_required",
                f"{id}: {name} asks for a password on a terminal, and there is none",
                f"{become.method.without}; or become another user by sudo or su",
            )

    @property
    def reads_after(self) -> float:
        """Seconds to wait before a prompt is answered."""
        return 0.0 if self.become is None else self.become.method.reads_after

    def heard(self, data: bytes, stream: str = "stderr") -> bytes:
        """Process bytes from stderr or before the first frame; returns the bytes to write as an answer.

        Raises TargetError for a prompt that cannot be answered.
        """
        if self.become is None or not self.become.is_heard:
            return b""
        questions = self._questions.setdefault(stream, Questions(self.become))
        asked = questions.heard(data)
        self.prompts += asked
        if asked and self.password is None:
            raise become_trouble(self, "sudo_password_required")
        if asked and self.prompts > 1:
            raise become_trouble(self, "sudo_password_wrong")
        if asked:
            return f"{self.password}\n".encode()
        number = questions.choice(self._login)
        return b"" if number is None else number + b"\n"

    def unmarked(self, said: str) -> str:
        """A text from ``printable`` without the marker that pushsalt's own command line prints."""
        return said if self.become is None else re.sub(rf"{re.escape(self.become.mark)}( / )?", "", said)

    def seen(self, data: bytes) -> None:
        """Keep the first and the last 4 KiB of the output for messages."""
        self.output += data
        if len(self.output) > 8192:
            del self.output[4096:-4096]


@dataclass(frozen=True)
class Ending:
    """The end of a command that has sent no hello: its status and output."""

    output: bytes
    stderr: bytes
    exit_status: int | None


#: Messages of shells, loaders and Python when a limit on files, memory or processes is reached.
_LIMIT = (
    r"Too many open files|object file: Error (24|12)|File size limit exceeded|File too large|MemoryError"
    r"|[Oo]ut of memory|([Cc]annot|[Cc]an't) (allocate|fork)[^/]*|failed to map segment[^/]*"
    r"|Resource temporarily unavailable"
)
_INSTALL = {
    **dict.fromkeys(("debian", "ubuntu", "raspbian", "linuxmint"), "apt-get install python3-minimal"),
    **dict.fromkeys(("fedora", "rhel", "rocky", "almalinux", "centos", "ol", "amzn"), "dnf install python3"),
    **dict.fromkeys(("opensuse-leap", "opensuse-tumbleweed", "sles"), "zypper install python3"),
    "alpine": "apk add python3",
    "arch": "pacman -S python",
    "gentoo": "emerge dev-lang/python",
    "void": "xbps-install python3",
    "freebsd": "pkg install python3",
}


def explain(opening: Opening, ending: Ending) -> TargetError:
    """The error of a first stage that ended before its hello."""
    target, id = opening.target, opening.target.id
    refusal = shim.refusal(ending.output, opening.nonce)
    if refusal is None and ending.exit_status == shim.NO_PYTHON:  # `podman exec` may lose the end of the output
        refusal = shim.Refusal("no_python", "unknown", "none")
    said = printable(ending.stderr[-2000:] or ending.output[-2000:])
    said = opening.unmarked(said)
    said = re.sub(r"Traceback \(most recent call last\):.* / ", "", said)
    if refusal is not None:
        return _no_python(target, refusal)
    if target.enter and ending.exit_status not in (None, 0):
        return TargetError(
            "resource_unreachable",
            f"{id}: {target.manager} cannot run a command in this {target.resource}"
            + (f": {said}" if said else f" (status {ending.exit_status})"),
            f"see on {target.manager} whether it runs; `pushsalt resource refresh {target.manager}` looks again",
        )
    if re.search(r"[Uu]nknown option:? -+I", said):
        return _too_old(target, target.python or "an old one")
    if opening.become is not None:
        trouble = _not_become(opening, opening.become, said, ending.exit_status)
        if trouble is not None:
            return trouble
    if ending.exit_status in (126, 127) and "/bin/sh" in said:
        return TargetError("no_shell", f"{id}: the login cannot run /bin/sh: {said}", "give the login a usable shell")
    if re.search(r"not available|nologin|[Tt]his account|restricted|not allowed to (use|run)", said):
        return TargetError("no_shell", f"{id}: the login runs no commands: {said}", "use a login that has a shell")
    if re.search(r"[Nn]o space left|[Qq]uota exceeded", said):
        return TargetError("disk_full", f"{id}: {said}", "free some space on the target")
    if limit := re.search(_LIMIT, said):
        reached = "the limit on memory is too low (ulimit -v)" if limit[0] == "MemoryError" else limit[0]
        message = f"{id}: a limit of the login keeps Python from starting: {reached}"
        return TargetError("limit_reached", message, _RAISE_LIMIT)
    how = "without an exit status" if ending.exit_status is None else f"with status {ending.exit_status}"
    return TargetError(
        "bootstrap_failed",
        f"{id}: the first stage ended {how}" + (f": {said}" if said else ""),
        f"try `ssh {target.host or id} /bin/sh -c true` by hand, and look at the start-up files of the login's shell",
    )


def _not_become(opening: Opening, become: Become, said: str, status: int | None) -> TargetError | None:
    id, name = opening.target.id, become.method.name
    if status == 127 or re.search(rf"\b{name}: (command )?not found|{name}: No such file", said):
        message = f"{id}: {name} is not installed"
        return TargetError("bootstrap_failed", message, f"install {name} there, or log in as {become.user}")
    kind = next((kind for kind, pattern in become.method.refusals if re.search(pattern, said)), None)
    if kind is None and status is not None and status == become.method.denied:
        kind = "sudo_denied"
    if kind is None and status == 1:
        # The program's messages may be in any language: prompts and exit status decide.
        asked = "sudo_password_wrong" if opening.prompts else "sudo_denied"
        kind = asked if opening.password else "sudo_password_required"
    if kind is None:
        return None
    return become_trouble(opening, kind, said)


def become_trouble(opening: Opening, kind: str, said: str = "") -> TargetError:
    """The error of one of the ``sudo_`` kinds."""
    assert opening.become is not None
    method, user = opening.become.method, opening.become.user
    whose = f" ({method.whose})" if method.whose else ""
    message, hint = {
        "sudo_denied": (f"{method.name} does not allow to become {user}", f"{method.allow}, or set another sudo_user"),
        "sudo_password_wrong": (
            f"{method.name} did not accept the password",
            f"set the right sudo_password{whose}; it was tried once",
        ),
        "sudo_password_required": (
            f"{method.name} wants a password",
            f"set sudo_password{whose} or give -K, or {method.without}",
        ),
    }[kind]
    return TargetError(kind, f"{opening.target.id}: {message}" + (f" ({said})" if said else ""), hint)


def _no_python(target: Target, refusal: shim.Refusal) -> TargetError:
    if target.python and refusal.os_id != "-":  # /bin/sh has reported this, not an old Python
        return TargetError(
            "no_python",
            f"{target.id}: there is no {target.python}",
            f"correct `python` for {target.id} in the inventory, or leave it out to have one looked for",
        )
    if refusal.kind == "too_old":
        return _too_old(target, refusal.found)
    install = _INSTALL.get(refusal.os_id, "install Python 3.6 or newer")
    return TargetError(
        "no_python",
        f"{target.id}: no Python was found",
        f"on the target: {install}{_or_set_python(target)}",
    )


def _too_old(target: Target, found: str) -> TargetError:
    return TargetError(
        "python_too_old",
        f"{target.id}: no Python 3.6 or newer (found: {found})",
        f"install a newer Python there{_or_set_python(target)}",
    )


def _or_set_python(target: Target) -> str:
    """The second half of a hint; "" for a resource, which has no entry in the inventory."""
    return "" if target.resource else f"; or set `python: /path/to/python3` for {target.id} in the inventory"


def printable(data: bytes | bytearray | str) -> str:
    """Output of a target as one line without control characters, for messages."""
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    lines = (re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", line).strip() for line in text.splitlines())
    return " / ".join(line for line in lines if line)[-600:]


_RAISE_LIMIT = "raise it for that login: limits.conf, LimitNOFILE= and the like of its sshd, ulimit in start-up files"
_HINTS = {
    "locked": "wait until it has ended, or give --wait-lock SECONDS",
    "timeout": "give a longer --timeout, or find out what takes so long",
    "worker_died": "what it did until then is unknown: look at the target, and run again",
    "disk_full": "free some space on the target",
    "limit_reached": _RAISE_LIMIT,
    "protocol_error": "run again with -l debug and report what it prints",
    "connection_lost": "look at the target, and run again",
    "excess": "have it return less at a time",
    "resource_unreachable": "look at it from its manager; -l debug shows more",
}


class FinishedError(TargetError):
    """The target has run this job before, and stores its return."""


class DoneError(TargetError):
    """Another process has run this hand-out of the job on the target, and has stored its return."""


def from_frame(target: Target, fields: dict[str, str]) -> TargetError:
    """The error in an E frame. The target wrote its fields: only known kinds are accepted."""
    kind = fields.get("kind", "")
    if kind == "finished":
        return FinishedError("locked", f"{target.id}: this job has run there, and its return is kept", "collect it")
    if kind == "done":
        message = f"{target.id}: another worker has run this job there, and its return is not in the NATS server"
        return DoneError("worker_lost", message, "look at the target, then run the job again")
    said = printable(fields.get("message", "")) or "no reason was given"
    if kind not in _HINTS:
        kind = "bootstrap_failed"
    message = {
        "locked": f"another run is at work: {said}",
        "worker_died": f"the process that ran the work died: {said}",
        "timeout": f"the job took too long: {said}",
        "limit_reached": f"a limit of the login stopped the runtime: {said}",
        "bootstrap_failed": f"the runtime did not start: {said}",
    }.get(kind, said)
    stderr = printable(fields.get("stderr", ""))
    hint = _HINTS.get(kind, "run again with -l debug; a full or foreign home directory is a likely cause")
    return TargetError(kind, f"{target.id}: {message}" + (f" ({stderr})" if stderr else ""), hint)


def fields_of(payload: bytes | bytearray) -> dict[str, str]:
    """The fields of a frame of key=value lines; the values of a repeated key are joined by line breaks."""
    found: dict[str, str] = {}
    for line in payload.decode("utf-8", "replace").split("\n"):
        key, equals, value = line.partition("=")
        if equals:
            value = value.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
            found[key] = f"{found[key]}\n{value}" if key in found else value
    return found
