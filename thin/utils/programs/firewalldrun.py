"""How firewall-cmd is run, and how its options name a zone."""

from thin import process
from thin.exceptions import CommandExecutionError


def run(salt, words, permanent=False):
    """What firewall-cmd prints. ``salt``: the execution functions. Raises CommandExecutionError with its words."""
    program = process.which("firewall-cmd")
    done = salt["cmd.run_all"](
        [program] + words + (["--permanent"] if permanent else []), python_shell=False, env={"LC_ALL": "C"}
    )
    if done["retcode"]:
        raise CommandExecutionError("firewall-cmd failed: %s" % (done["stderr"] or done["stdout"]))
    return done["stdout"]


def zone_option(zone):
    """The option for a zone as a list; [] for the default one."""
    return ["--zone=%s" % zone] if zone else []
