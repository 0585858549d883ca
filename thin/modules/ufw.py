"""
The uncomplicated firewall ufw. Salt has no such module: these are the functions of the formula of ufw, and more.

``ufw.add_rule`` and the like change nothing in a dry run: they run ufw in its dry run.
"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.utils import words

__reads__ = (
    "version",
    "is_enabled",
    "status",
    "get_default_incoming",
    "get_default_outgoing",
    "get_default_routed",
    "would_add",
    "would_delete",
)
__changes__ = ("set_enabled", "add_rule", "delete_rule", "reload")
__runs__ = ("run",)


def __virtual__():
    return True if process.which("ufw") else (False, "The ufw execution module cannot be loaded: ufw is not installed.")


def version():
    """
    Return ufw's version

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.version
    """
    return run("version").split()[1]


def is_enabled():
    """
    Whether the firewall is active

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.is_enabled
    """
    return "Status: active" in run("status").splitlines()


def status():
    """
    Return ``{"active": bool, "rules": [text]}``: the rules that users added, as listed by ufw, active or not

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.status
    """
    lines = run("show", "added").splitlines()
    return {"active": is_enabled(), "rules": [line[4:] for line in lines if line.startswith("ufw ")]}


def get_default_incoming():
    """
    Return the default policy for incoming packets: allow, deny or reject

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.get_default_incoming
    """
    return _default("INPUT")


def get_default_outgoing():
    """
    Return the default policy for outgoing packets: allow, deny or reject

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.get_default_outgoing
    """
    return _default("OUTPUT")


def get_default_routed():
    """
    Return the default policy for routed packets: allow, deny or reject

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.get_default_routed
    """
    return _default("FORWARD")


def set_enabled(enabled):
    """
    Enable or disable the firewall, now and at boot; returns the output of ufw

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.set_enabled True
    """
    return run(*_dry() + (["--force", "enable"] if enabled else ["disable"]))


def add_rule(rule):
    """
    Add a rule, given as text (words in quotes are one) or as a list of words; returns the output of ufw

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.add_rule 'allow proto tcp from any to any port 22'
    """
    return run(*_dry() + _words(rule))


def delete_rule(rule):
    """
    Delete a rule, given in the form in which it was added, without its comment; returns the output of ufw

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.delete_rule 'allow 22/tcp'
    """
    return run(*_dry() + ["--force", "delete"] + _words(rule))


def would_add(rule):
    """
    Whether a rule is missing, or has another comment; changes nothing

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.would_add 'allow 22/tcp'
    """
    lines = [line for line in run("--dry-run", *_words(rule)).splitlines() if re.match("(Rules?|Skipping) ", line)]
    return not lines or not all(line.startswith("Skipping") for line in lines)


def would_delete(rule):
    """
    Whether the rule exists; changes nothing

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.would_delete 'allow 22/tcp'
    """
    from thin.utils.files import textfile

    # ufw's message does not depend on whether the rule exists. ufw prints the resulting tables.
    for table in run("--dry-run", "delete", *_words(rule)).split("*filter")[1:]:
        name = "user6.rules" if ":ufw6-" in table else "user.rules"
        now = [line for folder in ("/etc/ufw", "/lib/ufw") for line in textfile.lines(os.path.join(folder, name))]
        if len(_TUPLE.findall("".join(now))) != len(_TUPLE.findall(table)):
            return True
    return False


def reload():
    """
    Reload the configuration

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.reload
    """
    return run("reload")


def run(*args):
    """
    Run ufw with these arguments and return its output. Raises CommandExecutionError

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ufw.run show raw
    """
    program = process.which("ufw")
    if not program:
        raise CommandNotFoundError("Command 'ufw' cannot be found")
    arguments = [str(word) for word in args]
    done = __salt__["cmd.run_all"]([program] + arguments, python_shell=False, env={"LC_ALL": "C"}, ignore_retcode=True)
    if done["retcode"]:
        output = "\n".join(filter(None, (done["stdout"], done["stderr"])))
        output = output.partition("\nUsage: ufw")[0].strip() or "it does not know such words"
        raise CommandExecutionError("ufw %s failed: %s" % (" ".join(arguments), output))
    return done["stdout"]


#: the text before each rule in ufw's tables
_TUPLE = re.compile("^### tuple ###", re.M)


def _dry():
    return ["--dry-run"] if __opts__["test"] else []


def _words(rule):
    return words.split(rule) if isinstance(rule, str) else [str(word) for word in rule]


def _default(chain):
    """The default policy from the configuration: ufw prints it only while it is active."""
    from thin.utils.files import textfile

    for line in textfile.lines("/etc/default/ufw"):
        key, _, value = line.strip().partition("=")
        if key == "DEFAULT_%s_POLICY" % chain:
            value = value.strip("\"'").lower()
            return {"accept": "allow", "drop": "deny"}.get(value, value)
    return None
