"""Runs augtool(1), and parses its output."""

import re

from thin import process
from thin.exceptions import CommandExecutionError

MISSING = "The program augtool is not installed here, and is needed for this: install the package augeas-tools"
_LINE = re.compile(r"^(/.*?)(?: = (.*))?$", re.DOTALL)


def run(commands, lens=None, load_path=None, context=None, autosave=False):
    """(return code, text) of augtool with a list of commands. Raises CommandExecutionError."""
    import os

    if not process.which("augtool"):
        raise CommandExecutionError(MISSING)
    argv = ["augtool"] + (["--noautoload"] if lens else [])
    for folder in _folders(load_path):
        argv += ["--include", folder]
    lines = list(commands)
    if lens:
        name = lens if lens.endswith(".lns") or "." in lens else lens + ".lns"
        path = re.sub(r"^/files", "", context or "")
        lines = [
            'set /augeas/load/%s/lens "%s"' % (lens.split(".")[0], name),
            'set /augeas/load/%s/incl "%s"' % (lens.split(".")[0], path),
            "load",
        ] + lines
    done = process.run(argv, env=dict(os.environ, LC_ALL="C"), stdin="".join("%s\n" % line for line in lines).encode())
    return done.retcode, (done.stdout + done.stderr).decode("utf-8", "replace")


def _folders(load_path):
    if not load_path:
        return []
    if isinstance(load_path, str):
        load_path = load_path.split(":")
    if not isinstance(load_path, list):
        raise CommandExecutionError("load_path must be a colon-separated string or a list")
    return load_path


def quoted(value):
    """A value, quoted for augtool."""
    return '"%s"' % str(value).replace("\\", "\\\\").replace('"', '\\"')


def printed(text):
    """[(path, value or None)] from the output of ``print`` or ``match``."""
    result = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if not match:
            continue
        path, value = match.groups()
        if value is not None and len(value) > 1 and value[0] == value[-1] == '"':
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        result.append((path, None if value == "(none)" else value))
    return result
