"""Kernel parameters as text: what sysctl prints on FreeBSD and macOS, and the configuration files of all systems."""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile

#: what a new file begins with
HEADER = "#\n# Kernel sysctl configuration\n#\n"


def read(path):
    """``{name: value}`` of a configuration file; [] if there is none, None when it cannot be read."""
    if not os.path.exists(path):
        return []
    try:
        lines = [line.strip() for line in textfile.lines(path)]
    except CommandExecutionError:
        return None
    rows = [line.partition("=") for line in lines if "=" in line and not line.startswith("#")]
    return {name.rstrip(): value.lstrip() for name, _, value in rows}


def assigned(done):
    """``{name: value}`` after ``sysctl name=value`` of FreeBSD and macOS, from its cmd.run_all.

    Raises CommandExecutionError when it failed.
    """
    if done["retcode"] != 0:
        raise CommandExecutionError("sysctl failed: %s" % done["stderr"])
    said, _, change = done["stdout"].partition(":")
    return {said: change.rpartition(" -> ")[2].strip()}


def pairs(text, sign, roots):
    """``{name: value}`` of lines that begin with one of the roots; other lines go on with the value before."""
    found, name = {}, None
    for line in text.splitlines():
        if line.startswith(roots):
            name, _, value = line.partition(sign)
            found[name] = value
        elif name:
            found[name] += "\n" + line
    return found


def persisted(lines, name, value, written):
    """The lines with the parameter's value changed or added; None when it has it. What follows a value stays."""
    found, done = [], False
    for line in lines:
        key, sign, rest = line.partition("=")
        if not sign or key.strip() != name:
            found.append(line if line.endswith("\n") else line + "\n")
            continue
        rest = rest.strip()
        quote = rest[:1] if rest[:1] in ('"', "'") else None
        end = rest.find(quote, 1) if quote else len((rest.split() or [""])[0])
        old, tail = (rest[1:end], rest[end + 1 :]) if quote else (rest[:end], rest[end:])
        if old == value:
            return None
        found.append("%s=%s%s\n" % (name, written, tail))
        done = True
    return found if done else found + ["%s=%s\n" % (name, written)]
