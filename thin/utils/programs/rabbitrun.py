"""Runs rabbitmqctl, and parses its output."""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import serial

OWNER = "rabbitmq"

#: Erlang expects a UTF-8 locale, and warns about others.
ENVIRONMENT = {"LC_ALL": "C.UTF-8"}


def account(runas):
    """The account to run programs as: ``runas``, else as root the broker's account if it exists, else None."""
    if runas is not None or os.geteuid() != 0:
        return runas
    import pwd

    try:
        return pwd.getpwnam(OWNER).pw_name
    except KeyError:
        return None


def ctl(salt, argv, runas, stdin=None, quiet=False):
    """The return of cmd.run_all for rabbitmqctl; ``salt``: the execution functions, ``quiet``: do not log."""
    argv = [process.which("rabbitmqctl") or "rabbitmqctl"] + [str(word) for word in argv]
    level = "quiet" if stdin is not None or quiet else "debug"
    return salt["cmd.run_all"](
        argv,
        python_shell=False,
        runas=account(runas),
        env=ENVIRONMENT,
        stdin=stdin,
        stdin_raw_newlines=True,
        reset_system_locale=False,
        output_loglevel=level,
    )


def good(done):
    """Whether the program succeeded; older ones print ``Error`` and exit with 0."""
    return done["retcode"] == 0 and not done["stderr"].lstrip().startswith("Error")


def checked(done):
    """The output of a program. Raises CommandExecutionError with it if the program failed."""
    if not good(done):
        output = done["stderr"].strip() or done["stdout"].strip()
        raise CommandExecutionError("RabbitMQ command failed: %s" % output)
    return done["stdout"]


def answer(done, word):
    """``{word: output of the program}``, Salt's return. Raises CommandExecutionError."""
    return {word: checked(done)}


def listed(salt, argv, runas):
    """The rows of one of rabbitmqctl's lists as dicts. Raises CommandExecutionError."""
    return serial.loads(checked(ctl(salt, [argv[0], "-q", "--formatter=json"] + argv[1:], runas, quiet=True)) or "[]")


def as_json(value):
    """A value as JSON; text is JSON already."""
    return value if isinstance(value, str) else serial.dumps(value)
