"""Encrypted block devices and /etc/crypttab. Salt: modules/cryptdev.py"""

import os
import re

from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile

__reads__ = ("active", "crypttab")
__changes__ = ("rm_crypttab", "set_crypttab", "open", "close")

_FIELDS = ("name", "device", "password", "options")


def active():
    """
    Return the mapped devices that are open: ``{name: {devname, major, minor}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cryptdev.active
    """
    out = __salt__["cmd.run_stdout"](["dmsetup", "ls", "--target", "crypt"], python_shell=False)
    rows = [re.match(r"(?P<devname>\S+)\s+\((?P<major>\d+)[,:] ?(?P<minor>\d+)\)", line) for line in out.splitlines()]
    return {row.group("devname"): row.groupdict() for row in rows if row}


def crypttab(config="/etc/crypttab"):
    """
    Return the entries of crypttab: ``{name: {device, password, options: [...]}}``

    config
        Its path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cryptdev.crypttab
    """
    result = {}
    for entry in filter(None, map(_parsed, textfile.lines(config))):
        name = entry.pop("name")
        while name in result:
            name += "_"
        result[name] = dict(entry, options=entry["options"].split(","))
    return result


def rm_crypttab(name, config="/etc/crypttab"):
    """
    Take an entry out of crypttab: ``change`` or ``absent``

    name
        The mapped device
    config
        The file's path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cryptdev.rm_crypttab data
    """
    text = textfile.read(config)
    if text is None:
        raise CommandExecutionError("Could not read from %s: no such file" % config)
    lines = textfile.split(text)
    kept = [line for line in lines if (_parsed(line) or {}).get("name") != name]
    if kept == lines:
        return "absent"
    textfile.write(config, "".join(kept))
    return "change"


def set_crypttab(  # in crypttab, "none" means: prompt for the key
    name,
    device,
    password="none",  # noqa: S107
    options="",
    config="/etc/crypttab",
    test=False,
    match_on="name",
):
    """
    Add or change an entry of crypttab: ``new``, ``change`` or ``present``

    name
        The mapped device
    device
        The device below it
    password
        The file with its key; ``none``: prompt for the key
    options
        A text with commas, or a list
    config
        The file's path
    test
        Only return the result; change nothing
    match_on
        The fields (name, device, password, options) by which the entry is found, a list or one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cryptdev.set_crypttab data /dev/vdb2 /etc/keys/data.key luks,discard
    """
    if not isinstance(options, (str, list, type(None))):
        raise CommandExecutionError("options must be a string or list of strings")
    if not isinstance(match_on, (str, list)):
        raise CommandExecutionError("match_on must be a string or list of strings")
    options = ",".join(options) if isinstance(options, list) else options or ""
    entry = {"name": name, "device": device, "password": "none" if password is None else password, "options": options}
    keys = [match_on] if isinstance(match_on, str) else match_on
    unknown = [str(key) for key in keys if key not in _FIELDS]
    if unknown:
        raise CommandExecutionError('Unrecognized keys in match_on: "%s"' % ", ".join(unknown))
    if not os.path.isfile(config):
        raise CommandExecutionError('Bad config file "%s"' % config)
    line = "{name: <12} {device: <44} {password: <22} {options}\n".format(**entry)
    action, lines = None, textfile.lines(config)
    for at, old in enumerate(lines):
        present = _parsed(old)
        if present and all(present[key] == entry[key] for key in keys):
            action = action or "present"
            if present != entry:
                action, lines[at] = "change", line
    if action is None:
        action = "new"
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines.append(line)
    if action != "present" and not test:
        textfile.write(config, "".join(lines))
    return action


def open(name, device, keyfile):
    """
    Map an encrypted device; returns whether it worked

    name
        The mapped device
    device
        The device below it
    keyfile
        The file with its key

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cryptdev.open data /dev/vdb2 /etc/keys/data.key
    """
    if keyfile in (None, "none", "-"):
        raise CommandExecutionError("For immediate crypt device mapping, keyfile must not be none")
    command = ["cryptsetup", "open", "--key-file", keyfile, device, name]
    return __salt__["cmd.retcode"](command, python_shell=False) == 0


def close(name):
    """
    Close an encrypted device; returns whether it worked

    name
        The mapped device

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cryptdev.close data
    """
    return __salt__["cmd.retcode"](["cryptsetup", "close", name], python_shell=False) == 0


def _parsed(line):
    words = line.split()
    if line.startswith("#") or len(words) not in (3, 4):
        return None
    return dict(zip(_FIELDS, words + [""]))
