"""Converts arguments of ``cmd``'s functions: argv, working directory, environment, umask, and conditions of success."""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger

log = getLogger(__name__)

_LOCALE = (
    "CTYPE",
    "NUMERIC",
    "TIME",
    "COLLATE",
    "MONETARY",
    "MESSAGES",
    "PAPER",
    "NAME",
    "ADDRESS",
    "TELEPHONE",
    "MEASUREMENT",
    "IDENTIFICATION",
)

#: The login shell if it is compatible with the Bourne shell, for which commands in states are written.
DEFAULT_SHELL = os.environ.get("SHELL", "")
if os.path.basename(DEFAULT_SHELL) not in ("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"):
    DEFAULT_SHELL = "/bin/sh"


class OpenFolder(int):
    """An open folder as ``cwd`` of a command, because its path could be redirected by another user. ``path`` is for
    messages."""

    def __new__(cls, descriptor, path):
        self = super(OpenFolder, cls).__new__(cls, descriptor)
        self.path = path
        return self

    def __str__(self):
        return self.path


def arguments(given):
    """The arguments of a public function, from its ``locals()``, to pass them on to another one."""
    given = dict(given)
    given.update(given.pop("kwargs", {}))
    for name in ("hide_output", "redirect_stderr", "raise_err"):
        given.pop(name, None)
    return given


def word(cmd):
    """The program's name, for logs: arguments may contain secrets."""
    words = cmd if isinstance(cmd, (list, tuple)) else str(cmd).split()
    return str(words[0]).strip() if words else ""


def argv_of(cmd, shell, python_shell):
    """The argv of the process that runs ``cmd``, a text or a list. Raises CommandExecutionError if it is empty."""
    if python_shell:
        words = [str(word) for word in cmd] if isinstance(cmd, (list, tuple)) else [str(cmd)]
        return [shell or "/bin/sh", "-c"] + words
    words = cmd if isinstance(cmd, (list, tuple)) else split(str(cmd))
    if not words:
        raise CommandExecutionError("Unable to run an empty command")
    return [str(word) for word in words]


def split(text):
    """The words of a text, split as a POSIX shell does. Raises SaltInvocationError for an unterminated quote."""
    from thin.utils import words

    try:
        return words.split(text)
    except ValueError as exc:
        raise SaltInvocationError("cannot split %r into words: %s" % (text, exc))


def su(kernel, user, shell, command):
    """The argv that runs a command, written for a POSIX shell, as the user after a login. Only Linux's su has an option
    for the shell: elsewhere ``-s`` has another meaning or none, and the user's own shell may be csh."""
    if kernel == "Linux":
        return ["su"] + (["-s", shell] if shell else []) + ["-", user, "-c", command]
    from thin.utils import words

    return ["su", "-", user, "-c", "/bin/sh -c " + words.quote(command)]


def umask_of(umask):
    """A umask as integer from octal text, None from None. Raises CommandExecutionError."""
    if umask is None:
        return None
    digits = str(umask).lstrip("0")
    if not digits:
        raise CommandExecutionError("Zero umask is not allowed.")
    try:
        return int(digits, 8)
    except ValueError:
        raise CommandExecutionError("Invalid umask: '%s'" % umask)


def success(retcodes, stdout, stderr):
    """The lists (exit codes, parts of stdout, parts of stderr) that mean success. Raises SaltInvocationError."""

    def listed(value):
        if value is None:
            return []
        if isinstance(value, (list, tuple, set)):
            return list(value)
        return [item.strip() for item in str(value).split(",")]

    try:
        numbers = [0] if retcodes is None else [int(code) for code in listed(retcodes)]
    except ValueError:
        raise SaltInvocationError("success_retcodes must be a list of integers")
    return numbers, listed(stdout), listed(stderr)


def nobody(runas, group):
    """The error text for a user or group that does not exist."""
    import pwd

    if runas:
        try:
            pwd.getpwnam(runas)
        except KeyError:
            return "User '%s' is not available" % runas
    return "Group '%s' is not available" % group


def directory(cwd, runas):
    """The working directory: ``cwd``, else the user's home if it is readable, else /."""
    if cwd:
        return cwd if isinstance(cwd, OpenFolder) else str(cwd)
    home = os.path.expanduser("~%s" % (runas or ""))
    return home if os.path.isdir(home) and os.access(home, os.R_OK) else "/"


def variables(env):
    """``env``, a dict or a list of dicts, as one dict of strings; a variable without a value is empty."""
    if isinstance(env, list):
        merged = {}
        for item in env:
            merged.update(item if isinstance(item, dict) else {})
        env = merged
    env = {str(key): env[key] for key in env} if isinstance(env, dict) else {}
    for key in env:
        if env[key] is None:
            log.error("env: the variable %s has no value; it is empty", key)
        env[key] = "" if env[key] is None else str(env[key])
    return env


def environment(env, plain_locale, clean, prepend_path):
    """The environment of a program: ``env``, the locale C if ``plain_locale`` and ``env`` sets none, and our own
    environment unless ``clean``."""
    if plain_locale:
        for name in ["LC_" + part for part in _LOCALE] + ["LANGUAGE"]:
            env.setdefault(name, "C")
    full = env if clean else dict(os.environ, **env)
    if prepend_path:
        full["PATH"] = ":".join((prepend_path, full.get("PATH", os.defpath)))
    if "NOTIFY_SOCKET" not in env:
        full.pop("NOTIFY_SOCKET", None)
    return full


def answer(result, encoding, rstrip, good):
    """``pid``, ``retcode`` (0 if ``good`` accepts it), ``stdout`` and ``stderr`` of a program's Result."""
    ret = {"pid": result.pid, "retcode": result.retcode, "stdout": "", "stderr": ""}
    for name in ("stdout", "stderr"):
        text = getattr(result, name).decode(encoding, "replace")
        ret[name] = text.rstrip() if rstrip else text
    codes, in_stdout, in_stderr = good
    if (
        ret["retcode"] in codes
        or any(part in ret["stdout"] for part in in_stdout)
        or any(part in ret["stderr"] for part in in_stderr)
    ):
        ret["retcode"] = 0
    return ret


def valid_shells():
    """The shells in /etc/shells, None if there is no such file."""
    try:
        with open("/etc/shells", "rb") as handle:
            lines = handle.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return None
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
