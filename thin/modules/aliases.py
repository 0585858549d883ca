"""Mail aliases, in the aliases file. Salt: ``salt/modules/aliases.py``."""

import os

from thin.exceptions import SaltInvocationError
from thin.utils.files import safepath

__reads__ = ("list_aliases", "get_target", "has_target")
__changes__ = ("set_target", "rm_alias")

#: A name, quoted or not, its targets, and a comment at the end.
_LINE = r"""^(?:"([^"]+)"|([^\s:#"][^:#"]*?))\s*:\s*([^#]*?)\s*(#.*)?$"""


def _path():
    return __salt__["config.option"]("aliases.file") or "/etc/aliases"


def _read():
    """``[[name or None, targets, lines]]`` of the file. An alias includes its continuation lines; name is None for any
    other line."""
    import re

    try:
        with open(_path(), "rb") as handle:
            text = handle.read().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return []
    result = []
    for line in text.split("\n")[:-1] if text.endswith("\n") else text.split("\n"):
        match = re.match(_LINE, line)
        if line[:1] in (" ", "\t") and line.strip() and result and result[-1][0]:
            result[-1][1] += " " + line.strip()
            result[-1][2].append(line)
        elif match:
            result.append([match.group(1) or match.group(2), match.group(3), [line]])
        elif line or result:
            result.append([None, None, [line]])
    return result


def _write(entries):
    """Replace the file, keeping its owner and mode, and run newaliases where it exists."""
    from thin.utils.files import atomic

    text = "".join(line + "\n" for _, _, lines in entries for line in lines)
    path = safepath.real(_path())
    atomic.write(path, text.encode("utf-8", "surrogateescape"), mode=None if os.path.exists(path) else 0o644)
    newaliases = __salt__["cmd.which"]("newaliases")
    if newaliases:
        __salt__["cmd.run"]([newaliases], python_shell=False)
    return True


def _entry(alias, target, comment=""):
    name = '"%s"' % alias if any(sign in alias for sign in " \t:|#,") else alias
    return [alias, target, ["%s: %s%s" % (name, target, comment and "  " + comment)]]


def list_aliases():
    """
    Return the aliases and their targets

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' aliases.list_aliases
    """
    return {name: target for name, target, _ in _read() if name}


def get_target(alias):
    """
    Return where an alias points to, or an empty text if the alias does not exist

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' aliases.get_target postmaster
    """
    return list_aliases().get(alias, "")


def has_target(alias, target):
    """
    Whether an alias points to a target, or to exactly a list of them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' aliases.has_target webmaster ada
    """
    if target == "":
        raise SaltInvocationError("target can not be an empty string")
    if alias not in list_aliases():
        return False
    if isinstance(target, list):
        target = ", ".join(target)
    return target == get_target(alias)


def set_target(alias, target):
    """
    Set the target of an alias; the alias is created if it does not exist

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' aliases.set_target webmaster 'ada, bob@example.org'
    """
    if alias == "":
        raise SaltInvocationError("alias can not be an empty string")
    if target == "":
        raise SaltInvocationError("target can not be an empty string")
    if isinstance(target, list):
        target = ", ".join(target)
    entries, done = [], False
    if get_target(alias) == target:
        return True
    for entry in _read():
        if entry[0] != alias:
            entries.append(entry)
        elif not done:
            comment = entry[2][0].partition("#")
            entries.append(_entry(alias, target, comment[1] + comment[2]))
            done = True
    return _write(entries if done else entries + [_entry(alias, target)])


def rm_alias(alias):
    """
    Remove an alias

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' aliases.rm_alias webmaster
    """
    entries = _read()
    if all(name != alias for name, _, _ in entries):
        return True
    return _write([entry for entry in entries if entry[0] != alias])
