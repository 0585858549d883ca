"""Runs firewall-cmd, and builds its option for a zone."""

from thin import process
from thin.exceptions import CommandExecutionError


def run(salt, words, permanent=False):
    """The output of firewall-cmd. ``salt``: the execution functions. Raises CommandExecutionError with its error."""
    program = process.which("firewall-cmd")
    done = salt["cmd.run_all"](
        [program] + words + (["--permanent"] if permanent else []), python_shell=False, env={"LC_ALL": "C"}
    )
    if done["retcode"]:
        raise CommandExecutionError("firewall-cmd failed: %s" % (done["stderr"] or done["stdout"]))
    return done["stdout"]


def zone_option(zone):
    """The option for a zone as a list; [] for the default zone."""
    return ["--zone=%s" % zone] if zone else []
