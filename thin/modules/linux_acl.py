"""Access control lists of files, by getfacl and setfacl. Salt: modules/linux_acl.py"""

import re

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError

__virtualname__ = "acl"
__reads__ = ("version", "getfacl")
__changes__ = ("wipefacls", "modfacl", "delfacl")

_FLAGS = (("s", "suid"), ("s", "sgid"), ("t", "sticky"))
_KINDS = {"user": "u", "u": "u", "group": "g", "g": "g", "mask": "m", "m": "m", "other": "o", "o": "o"}
_BITS = (("r", 4, "read"), ("w", 2, "write"), ("x", 1, "execute"))


def __virtual__():
    if process.which("getfacl"):
        return __virtualname__
    return False, "The linux_acl execution module cannot be loaded: the getfacl binary is not in the path."


def version():
    """
    Return the version of getfacl

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' acl.version
    """
    return __salt__["cmd.run"](["getfacl", "--version"], python_shell=False).split()[1]


def getfacl(*args, **kwargs):
    """
    Return the access control lists of files: ``{path: {comment, user, group, other, mask, defaults}}``

    Each list has entries ``{name: {octal, permissions: {read, write, execute}}}``; permissions that are masked out are
    left out. ``comment`` has owner and group, and ``suid``, ``sgid`` and ``sticky`` if they are set.

    args
        Paths
    recursive
        Include everything below it them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' acl.getfacl /srv/www /srv/ftp
        pushsalt run '*' acl.getfacl /srv/www recursive=True
    """
    command = ["getfacl", "--absolute-names"] + _recursive(kwargs) + ["--"] + _paths(args)
    out = __salt__["cmd.run_stdout"](command, python_shell=False)
    result, entry = {}, None
    for line in out.splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            value = _unescaped(value)
            if key == "file":
                entry = result[value] = {"comment": {}, "user": [], "group": []}
            if entry is not None:
                entry["comment"][key] = value
                if key == "flags":
                    entry.update((word, True) for (mark, word), flag in zip(_FLAGS, value) if flag == mark)
        elif line and entry is not None:
            _enter(entry, line)
    return result


def wipefacls(*args, **kwargs):
    """
    Remove all extended entries of files

    args
        Paths
    recursive
        Include everything below it them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' acl.wipefacls /srv/www recursive=True
    """
    return _setfacl(["-b"], args, kwargs)


def modfacl(acl_type, acl_name="", perms="", *args, **kwargs):
    """
    Add or change an entry of files

    acl_type
        user, group, mask or other, or the first letter; with ``d:`` or ``default:`` before it, for new files below
    acl_name
        The user or group; none for the owner
    perms
        Such as rwx
    args
        Paths
    recursive
        Include everything below it them
    raise_err
        Raise an error when setfacl fails

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' acl.modfacl user app rx /srv/www
        pushsalt run '*' acl.modfacl d:group www-data rx /srv/www recursive=True
    """
    return _setfacl(["-m", "%s:%s:%s" % (_prefix(acl_type), acl_name, perms)], args, kwargs)


def delfacl(acl_type, acl_name="", *args, **kwargs):
    """
    Remove an entry of files

    acl_type
        user, group, mask or other, or the first letter; with ``d:`` or ``default:`` before it, for new files below
    acl_name
        The user or group
    args
        Paths
    recursive
        Include everything below it them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' acl.delfacl user app /srv/www
    """
    return _setfacl(["-x", "%s:%s" % (_prefix(acl_type), acl_name)], args, kwargs)


def _paths(args):
    if not args:
        raise CommandExecutionError("You need to specify at least one file or directory to work with!")
    return [str(path) for path in args]


def _recursive(kwargs):
    return ["-R"] if kwargs.get("recursive") else []


def _setfacl(words, args, kwargs):
    command = ["setfacl"] + _recursive(kwargs) + words + ["--"] + _paths(args)
    __salt__["cmd.run"](command, python_shell=False, raise_err=bool(kwargs.get("raise_err")))
    return True


def _prefix(acl_type):
    default, kind = "", acl_type
    if kind.startswith("d"):
        default, kind = "d:", kind.partition(":")[2]
    if kind not in _KINDS:  # setfacl takes no kind for the owner
        raise SaltInvocationError("There is no kind of entries '%s' in access control lists" % acl_type)
    return default + _KINDS[kind]


def _unescaped(text):
    """Undo getfacl's escapes: three octal digits for blanks and unprintable bytes."""
    if "\\" not in text:
        return text
    octal = re.compile(rb"\\([0-7]{3})")
    raw = octal.sub(lambda found: bytes([int(found.group(1), 8) & 255]), text.encode("utf-8", "surrogateescape"))
    return raw.replace(b"\\\\", b"\\").decode("utf-8", "surrogateescape")


def _enter(entry, line):
    """Add a line such as ``default:user:bob:rwx #effective:r-x`` to the lists."""
    words = [word.strip() for word in line.split(":")]
    place = entry
    if words[0] == "default":
        place, words = entry.setdefault("defaults", {}), words[1:]
    kind, name, letters = words[0], _unescaped(words[1]), words[-1]
    rights = {
        "octal": sum(bit for letter, bit, _ in _BITS if letter in letters),
        "permissions": {word: letter in letters for letter, _, word in _BITS},
    }
    if kind in ("user", "group"):
        owner = entry["comment"].get("owner" if kind == "user" else "group", "")
        place.setdefault(kind, []).append({name or owner: rights})
    elif kind in ("other", "mask"):
        place[kind] = [{"": rights}]
