"""Parses the output of sysctl on FreeBSD and macOS, and its configuration files on all systems."""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile

#: The beginning of a new file.
HEADER = "#\n# Kernel sysctl configuration\n#\n"


def read(path):
    """``{name: value}`` of a configuration file; [] if it does not exist, None if it cannot be read."""
    if not os.path.exists(path):
        return []
    try:
        lines = [line.strip() for line in textfile.lines(path)]
    except CommandExecutionError:
        return None
    rows = [line.partition("=") for line in lines if "=" in line and not line.startswith("#")]
    return {name.rstrip(): value.lstrip() for name, _, value in rows}


def assigned(done):
    """``{name: value}`` from the result of ``sysctl name=value`` on FreeBSD and macOS (a dict of cmd.run_all).

    Raises CommandExecutionError if it failed.
    """
    if done["retcode"] != 0:
        raise CommandExecutionError("sysctl failed: %s" % done["stderr"])
    output, _, change = done["stdout"].partition(":")
    return {output: change.rpartition(" -> ")[2].strip()}


def pairs(text, sign, roots):
    """``{name: value}`` of lines that begin with one of ``roots``; other lines continue the previous value."""
    pairs, name = {}, None
    for line in text.splitlines():
        if line.startswith(roots):
            name, _, value = line.partition(sign)
            pairs[name] = value
        elif name:
            pairs[name] += "\n" + line
    return pairs


def persisted(lines, name, value, written):
    """The lines with the parameter changed or added; None if it has the value already. Text after a value is kept."""
    result, done = [], False
    for line in lines:
        key, sign, rest = line.partition("=")
        if not sign or key.strip() != name:
            result.append(line if line.endswith("\n") else line + "\n")
            continue
        rest = rest.strip()
        quote = rest[:1] if rest[:1] in ('"', "'") else None
        end = rest.find(quote, 1) if quote else len((rest.split() or [""])[0])
        old, tail = (rest[1:end], rest[end + 1 :]) if quote else (rest[:end], rest[end:])
        if old == value:
            return None
        result.append("%s=%s%s\n" % (name, written, tail))
        done = True
    return result if done else result + ["%s=%s\n" % (name, written)]
