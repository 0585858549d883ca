"""Access control lists of files. Salt: states/linux_acl.py

.. code-block:: yaml

    /srv/www:
      acl.present:
        - acl_type: user
        - acl_name: app
        - perms: rx
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError

__virtualname__ = "acl"

_BITS = {"r": 4, "w": 2, "x": 1, "X": 1, "-": 0}


def __virtual__():
    if process.which("getfacl") and process.which("setfacl"):
        return __virtualname__
    return False, "The linux_acl state cannot be loaded: the getfacl or setfacl binary is not in the path."


def present(name, acl_type, acl_name="", perms="", recurse=False, force=False):
    """The file's list has this entry. changes: ``{new: {acl_name, acl_type, perms}, old: ...}``.

    name
        The file or directory
    acl_type
        user, group, mask or other; with ``d:`` or ``default:`` before it, for new files in the directory
    acl_name
        The user or group; none for the owner
    perms
        Such as rwx; ``X`` is x for directories and for files that have an x already
    recurse
        Include everything below it
    force
        Remove all other extended entries if this one must be set
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    acl = _look(ret, name, acl_type, recurse)
    if acl is None:
        return ret
    lists, kind, default, entries = acl
    who = str(acl_name) if acl_name != "" else lists[name]["comment"].get(kind, "")
    new = {"acl_name": acl_name, "acl_type": acl_type, "perms": perms}
    if who not in entries:
        ret["changes"] = {"new": new}
        words = (
            "New permissions will be applied for %s: %s" % (acl_name, perms),
            "Applied new permissions for %s" % acl_name,
        )
    elif _as_wanted(lists, name, kind, default, who, str(perms), recurse):
        return dict(ret, comment="Permissions are in the desired state")
    else:
        before = _letters(entries[who])
        ret["changes"] = {"new": new, "old": dict(new, perms=before)}
        words = (
            "Updated permissions will be applied for %s: %s -> %s" % (acl_name, before, perms),
            "Updated permissions for %s" % acl_name,
        )
    return _apply(ret, name, acl_type, [acl_name], perms, recurse, force, words, acl_name)


def absent(name, acl_type, acl_name="", perms="", recurse=False):
    """The file's list has no such entry.

    name
        The file or directory
    acl_type
        user, group or mask; with ``d:`` or ``default:`` before it, for new files in the directory
    acl_name
        The user or group
    perms
        Ignored
    recurse
        Include everything below it
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    acl = _look(ret, name, acl_type, recurse)
    if acl is None:
        return ret
    lists, kind, default, _ = acl
    who = str(acl_name) if acl_name != "" else lists[name]["comment"].get(kind, "")
    if not any(who in _entries(lists[path], kind, default) for path in lists):
        return dict(ret, comment="Permissions are in the desired state")
    return _remove(ret, name, acl_type, [acl_name], recurse)


def list_present(name, acl_type, acl_names=None, perms="", recurse=False, force=False):
    """The file's ACL has these entries, all with the same permissions. changes: as for ``present``.

    name
        The file or directory
    acl_type
        user or group; with ``d:`` or ``default:`` before it, for new files in the directory
    acl_names
        The users or groups
    perms
        Such as rwx
    recurse
        Include everything below it
    force
        Take all other extended entries away when one of these has to be set
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    acl = _look(ret, name, acl_type, False)
    if acl is None:
        return ret
    entries = acl[-1]
    names = [acl_names] if isinstance(acl_names, str) and acl_names else [str(who) for who in acl_names or ()]
    wanted, joined, words = _octal(perms), ", ".join(names), None
    new = {"acl_name": joined, "acl_type": acl_type, "perms": perms}
    # the change of the last name is reported for all
    for who in names:
        if who not in entries:
            ret["changes"] = {"new": new}
            words = words or (
                "New permissions will be applied for %s: %s" % (names, perms),
                "Applied new permissions for %s" % joined,
            )
        elif entries[who] != wanted:
            old = dict(new, perms=str(entries[who]))
            ret["changes"] = {"new": dict(new, perms=wanted), "old": old}
            words = words or (
                "Updated permissions will be applied for %s: %s -> %s" % (names, entries[who], perms),
                "Updated permissions for %s" % names,
            )
    if words is None:
        return dict(ret, comment="Permissions are in the desired state")
    return _apply(ret, name, acl_type, names, perms, recurse, force, words, names)


def list_absent(name, acl_type, acl_names=None, recurse=False):
    """The file's list has none of these entries.

    name
        The file or directory
    acl_type
        user or group; with ``d:`` or ``default:`` before it, for new files in the directory
    acl_names
        The users or groups
    recurse
        Include everything below it
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    acl = _look(ret, name, acl_type, False)
    if acl is None:
        return ret
    entries = acl[-1]
    names = [acl_names] if isinstance(acl_names, str) else list(acl_names or ())
    if not any(str(who) in entries for who in names):
        return dict(ret, comment="Permissions are in the desired state")
    return _remove(ret, name, acl_type, names, recurse)


def _look(ret, name, acl_type, recurse):
    """The data for the comparison; None, with the reason in ``ret``, if it cannot be read.

    The data are: the result of getfacl, the kind of the entries, whether they are defaults, and ``{name: octal}`` of
    the file's entries.
    """
    if not os.path.exists(name):
        ret.update(result=False, comment="%s does not exist" % name)
        return None
    lists = __salt__["acl.getfacl"](name, recursive=recurse)
    if name not in lists:
        ret.update(result=False, comment="The access control list of %s cannot be read" % name)
        return None
    kind, default = _kind(acl_type)
    entries = _entries(lists[name], kind, default)
    if not entries and not default:
        ret.update(result=False, comment="ACL Type does not exist")
        return None
    return lists, kind, default, entries


def _kind(acl_type):
    default = acl_type.startswith(("d:", "default:"))
    return (acl_type.partition(":")[2] if default else acl_type), default


def _entries(lists, kind, default):
    """``{name: octal}`` of one kind."""
    rows = (lists.get("defaults", {}) if default else lists).get(kind) or ()
    return {who: row[who]["octal"] for row in rows for who in row} if isinstance(rows, list) else {}


def _octal(perms):
    return sum(_BITS[letter] if letter in _BITS else int(letter) for letter in str(perms))


def _letters(octal):
    return "".join(letter if octal & _BITS[letter] else "-" for letter in "rwx")


def _as_wanted(lists, name, kind, default, who, perms, recurse):
    wanted = _octal(perms)
    if not recurse:
        return _entries(lists[name], kind, default)[who] == wanted
    for path in lists:
        if default and not os.path.isdir(path):
            continue
        octal = _entries(lists[path], kind, default).get(who)
        # X gives the right to execute only to files that have it already
        if octal != wanted and not (perms.endswith("X") and octal is not None and octal == wanted - 1):
            return False
    return True


def _apply(ret, name, acl_type, names, perms, recurse, force, words, existing):
    if __opts__["test"]:
        return dict(ret, result=None, comment=words[0])
    try:
        if force:
            __salt__["acl.wipefacls"](name, recursive=recurse, raise_err=True)
        for who in names:
            __salt__["acl.modfacl"](acl_type, who, perms, name, recursive=recurse, raise_err=True)
    except CommandExecutionError as exc:
        comment = "Error updating permissions for %s: %s" % (existing, exc)
        return dict(ret, result=False, changes={}, comment=comment)
    return dict(ret, comment=words[1])


def _remove(ret, name, acl_type, names, recurse):
    if __opts__["test"]:
        return dict(ret, result=None, comment="Removing permissions")
    try:
        for who in names:
            __salt__["acl.delfacl"](acl_type, who, name, recursive=recurse, raise_err=True)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Error removing permissions for %s: %s" % (", ".join(names), exc))
    return dict(ret, comment="Removing permissions")
