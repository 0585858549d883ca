"""The common part of the modules for macOS: runs its tools, and parses their output. Salt: salt.utils.mac_utils"""

from thin.exceptions import CommandExecutionError, SaltInvocationError


def ask(salt, command, **options):
    """The output of a command. Raises CommandExecutionError with it if it fails, or contains "not supported"."""
    command = [str(word) for word in command]
    options.setdefault("env", {"LC_ALL": "C"})
    done = salt["cmd.run_all"](command, python_shell=False, ignore_retcode=True, **options)
    if done["retcode"] != 0 or "not supported" in done["stdout"].lower():
        raise CommandExecutionError(
            "Command Failed: %s\nReturn Code: %s\nOutput: %s\nError: %s"
            % (" ".join(command), done["retcode"], done["stdout"], done["stderr"])
        )
    return done["stdout"]


def value(text):
    """The text after the name in ``Time Zone: Europe/Paris``."""
    for sign in (": ", ":\n"):
        if sign in text:
            return text.split(sign)[1]
    return text


def on_off(given):
    """``on`` or ``off`` from a value in an SLS. Raises SaltInvocationError for other values."""
    if not isinstance(given, str):
        return "on" if given else "off"
    if given.lower() not in ("on", "off", "yes", "no"):
        raise SaltInvocationError("Invalid String Value for Enabled: 'on', 'off', 'yes' or 'no', not %r" % given)
    return "on" if given.lower() in ("on", "yes") else "off"
