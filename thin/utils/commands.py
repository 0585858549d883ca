"""What the arguments of ``cmd``'s functions mean: the words of a command, its umask, and what counts as success."""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError

#: The login's shell when it is of Bourne's family: commands in states are written for that.
DEFAULT_SHELL = os.environ.get("SHELL", "")
if os.path.basename(DEFAULT_SHELL) not in ("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"):
    DEFAULT_SHELL = "/bin/sh"


class OpenFolder(int):
    """An open folder as ``cwd`` of a command, who could be led elsewhere by its path. ``path`` is for people."""

    def __new__(cls, descriptor, path):
        self = super(OpenFolder, cls).__new__(cls, descriptor)
        self.path = path
        return self

    def __str__(self):
        return self.path


def arguments(given):
    """The arguments of a public function, from its ``locals()``, for the next one to take."""
    given = dict(given)
    given.update(given.pop("kwargs", {}))
    for name in ("hide_output", "redirect_stderr", "raise_err"):
        given.pop(name, None)
    return given


def word(cmd):
    """The program's name: arguments may hold secrets, and do not go into logs."""
    words = cmd if isinstance(cmd, (list, tuple)) else str(cmd).split()
    return str(words[0]).strip() if words else ""


def argv_of(cmd, shell, python_shell):
    """The words of the process that runs ``cmd``, a text or a list. Raises CommandExecutionError for none."""
    if python_shell:
        words = [str(word) for word in cmd] if isinstance(cmd, (list, tuple)) else [str(cmd)]
        return [shell or "/bin/sh", "-c"] + words
    words = cmd if isinstance(cmd, (list, tuple)) else split(str(cmd))
    if not words:
        raise CommandExecutionError("Unable to run an empty command")
    return [str(word) for word in words]


def split(text):
    """The words of a text, as a POSIX shell finds them. Raises SaltInvocationError for an open quote."""
    from thin.utils import words

    try:
        return words.split(text)
    except ValueError as exc:
        raise SaltInvocationError("cannot split %r into words: %s" % (text, exc))


def su(kernel, user, shell, command):
    """The words that run a command, for a POSIX shell, as the user after logging in. Only Linux's su takes a shell:
    elsewhere ``-s`` means something else, or nothing, and the user's own may be csh."""
    if kernel == "Linux":
        return ["su"] + (["-s", shell] if shell else []) + ["-", user, "-c", command]
    from thin.utils import words

    return ["su", "-", user, "-c", "/bin/sh -c " + words.quote(command)]


def umask_of(umask):
    """The number that octal text means, None for None. Raises CommandExecutionError."""
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
    """(exit codes, parts of stdout, parts of stderr) that mean success, each a list. Raises SaltInvocationError."""

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
    """The words for a user or group that does not exist."""
    import pwd

    if runas:
        try:
            pwd.getpwnam(runas)
        except KeyError:
            return "User '%s' is not available" % runas
    return "Group '%s' is not available" % group
