"""The SELinux contexts of files and ports in the policy: a part of ``selinux``. Salt: modules/selinux.py"""

import re

from thin import process
from thin.exceptions import SaltInvocationError

__virtualname__ = "selinux"
__reads__ = ("filetype_id_to_string", "fcontext_get_policy", "fcontext_policy_is_applied", "port_get_policy")
__changes__ = (
    "fcontext_add_policy",
    "fcontext_delete_policy",
    "fcontext_apply_policy",
    "port_add_policy",
    "port_modify_policy",
    "port_delete_policy",
)

FILE_TYPES = {
    "a": "all files",
    "f": "regular file",
    "d": "directory",
    "c": "character device",
    "b": "block device",
    "s": "socket",
    "l": "symbolic link",
    "p": "named pipe",
}
_CONTEXT = ("sel_user", "sel_role", "sel_type", "sel_level")
_FCONTEXT = re.compile(r"(\S.*?) +(%s) +([^:\s]+:[^:\s]+:[^:\s]+:\S+)\s*$" % "|".join(FILE_TYPES.values()))
_RELABEL = (
    re.compile(r"^Would relabel (.*) from (\S+) to (\S+)$", re.M),
    re.compile(r"^restorecon reset (.*) context (\S+?)->(\S+)$", re.M),
)


def __virtual__():
    for name in ("semanage", "setsebool", "semodule"):
        if not process.which(name):
            return False, "%s is not in the path" % name
    if __grains__.get("kernel") != "Linux":
        return False, "Module only works on Linux with selinux installed"
    return "selinux"


def filetype_id_to_string(filetype="a"):
    """
    Return the description of the letter of a file type, such as ``all files`` for a

    filetype
        a for all, f for plain files, d for directories, c and b for devices, s for sockets, l for links, p for pipes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.filetype_id_to_string d
    """
    if filetype not in FILE_TYPES:
        raise SaltInvocationError("Invalid file type code %r; expected one of: %s" % (filetype, ", ".join(FILE_TYPES)))
    return FILE_TYPES[filetype]


def fcontext_get_policy(name, filetype=None, sel_type=None, sel_user=None, sel_level=None):
    """
    Return ``{filespec, filetype, sel_user, sel_role, sel_type, sel_level}`` of a rule for files, None for none

    name
        The regular expression of paths, as the rule has it
    filetype
        The letter of the kind of files it is for; None for any
    sel_type
        Its SELinux type; None for any
    sel_user
        Its SELinux user; None for any
    sel_level
        Its range; None for any

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.fcontext_get_policy '/srv/www(/.*)?'
    """
    kind = filetype_id_to_string(filetype) if filetype else None
    wanted = {"sel_type": sel_type, "sel_user": sel_user, "sel_level": sel_level, "filetype": kind}
    # the last of several rules applies: local rules come after those of the policy
    for rule in reversed(_file_rules(name)):
        if all(not value or rule[key] == value for key, value in wanted.items()):
            return rule
    return None


def fcontext_add_policy(name, filetype=None, sel_type=None, sel_user=None, sel_level=None):
    """
    Add a rule for files, or change the one with the same paths; returns what cmd.run_all returns

    name
        The regular expression of paths
    filetype
        The letter of the kind of files it is for; None for all
    sel_type
        The SELinux type
    sel_user
        The SELinux user
    sel_level
        The range

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.fcontext_add_policy '/srv/www(/.*)?' sel_type=httpd_sys_content_t
    """
    return _fcontext("modify" if _file_rules(name) else "add", name, filetype, sel_type, sel_user, sel_level)


def fcontext_delete_policy(name, filetype=None, sel_type=None, sel_user=None, sel_level=None):
    """
    Delete a rule for files; returns what cmd.run_all returns

    name
        The regular expression of paths
    filetype
        The letter of the kind of files it is for; None for all
    sel_type
        The SELinux type
    sel_user
        The SELinux user
    sel_level
        The range

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.fcontext_delete_policy '/srv/www(/.*)?' sel_type=httpd_sys_content_t
    """
    return _fcontext("delete", name, filetype, sel_type, sel_user, sel_level)


def fcontext_policy_is_applied(name, recursive=False):
    """
    Return the changes that restorecon would make, as its output: empty if all labels are right

    name
        A path
    recursive
        Include everything below it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.fcontext_policy_is_applied /srv/www recursive=True
    """
    return _run(["restorecon", "-n", "-v"] + (["-R"] if recursive else []) + [name])["stdout"]


def fcontext_apply_policy(name, recursive=False):
    """
    Relabel files as the policy says; returns what cmd.run_all returns, with ``changes``: ``{path: {old: {...}, new:
    {...}}}``

    name
        A path
    recursive
        Include everything below it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.fcontext_apply_policy /srv/www recursive=True
    """
    applied = fcontext_policy_is_applied(name, recursive)
    ret = _run(["restorecon", "-v", "-F"] + (["-R"] if recursive else []) + [name])
    if ret["retcode"] != 0:
        return ret
    rows = [row for pattern in _RELABEL for row in pattern.findall(applied)]
    if not rows:
        return dict(ret, retcode=1, error="Unrecognized response from restorecon command.")
    ret["changes"] = {}
    for path, before, after in rows:
        old, new = _context(before), _context(after)
        differ = [key for key in _CONTEXT if old[key] != new[key]]
        ret["changes"][path] = {"old": {key: old[key] for key in differ}, "new": {key: new[key] for key in differ}}
    return ret


def port_get_policy(name, sel_type=None, protocol=None, port=None):
    """
    Return ``{sel_type, protocol, port}`` of the rule for a port, None if there is none; ``port`` has all ports of the
    rule

    name
        Such as ``tcp/8080``, or anything when the next two are given
    sel_type
        Its SELinux type; None for any
    protocol
        tcp or udp
    port
        The port or a range of them, as the rule has it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.port_get_policy tcp/443
    """
    protocol, port = _port(name, protocol, port)
    for line in _lines(["semanage", "port", "--list"]):
        row = line.split(None, 2)
        if len(row) == 3 and row[1] == protocol and (not sel_type or row[0] == sel_type):
            if port in [each.strip() for each in row[2].split(",")]:
                return {"sel_type": row[0], "protocol": protocol, "port": row[2].strip()}
    return None


def port_add_policy(name, sel_type=None, protocol=None, port=None, sel_range=None):
    """
    Give a port an SELinux type; returns what cmd.run_all returns

    name
        Such as ``tcp/8080``, or anything when protocol and port are given
    sel_type
        The SELinux type
    protocol
        tcp or udp
    port
        The port or a range of them
    sel_range
        The range of MLS or MCS

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.port_add_policy tcp/8443 http_port_t
    """
    if not sel_type:
        raise SaltInvocationError("SELinux Type is required to add a policy")
    return _change_port("add", name, sel_type, protocol, port, sel_range)


def port_modify_policy(name, sel_type=None, protocol=None, port=None, sel_range=None):
    """
    Change the SELinux type of a port that has one; returns what cmd.run_all returns

    name
        Such as ``tcp/8080``, or anything when protocol and port are given
    sel_type
        The SELinux type
    protocol
        tcp or udp
    port
        The port or a range of them
    sel_range
        The range of MLS or MCS

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.port_modify_policy tcp/8443 http_port_t
    """
    return _change_port("modify", name, sel_type, protocol, port, sel_range)


def port_delete_policy(name, protocol=None, port=None):
    """
    Delete a port's rule; returns what cmd.run_all returns

    name
        Such as ``tcp/8080``, or anything when protocol and port are given
    protocol
        tcp or udp
    port
        The port or a range of them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.port_delete_policy tcp/8443
    """
    return _change_port("delete", name, None, protocol, port, None)


def _run(command):
    return __salt__["cmd.run_all"](command, python_shell=False)


def _lines(command):
    return __salt__["cmd.run_stdout"](command, python_shell=False).splitlines()


def _context(text):
    parts = text.split(":", 3)
    if len(parts) != 4 or not all(parts):
        raise SaltInvocationError(
            'Invalid SELinux context string: %s. Expected "sel_user:sel_role:sel_type:sel_level"' % text
        )
    return dict(zip(_CONTEXT, parts))


def _file_rules(name):
    file_rules = []
    for match in filter(None, map(_FCONTEXT.match, _lines(["semanage", "fcontext", "--list"]))):
        if match.group(1) == name:
            file_rules.append(dict(_context(match.group(3)), filespec=name, filetype=match.group(2)))
    return file_rules


def _fcontext(action, name, filetype, sel_type, sel_user, sel_level):
    command = ["semanage", "fcontext", "--" + action]
    if filetype is not None and filetype != "a":
        filetype_id_to_string(filetype)
        command += ["--ftype", filetype]
    for option, value in (("--type", sel_type), ("--seuser", sel_user), ("--range", sel_level)):
        command += [option, str(value)] if value is not None else []
    return _run(command + [name])


def _port(name, protocol, port):
    for text in (str(name), "%s/%s" % (protocol, port)):
        match = re.match(r"(tcp|udp)/(\d+(?:-\d+)?)$", text)
        if match:
            return match.groups()
    raise SaltInvocationError(
        'Invalid name "%s" format and protocol and port not provided or invalid: "%s" "%s".' % (name, protocol, port)
    )


def _change_port(action, name, sel_type, protocol, port, sel_range):
    protocol, port = _port(name, protocol, port)
    command = ["semanage", "port", "--" + action, "--proto", protocol]
    command += ["--type", sel_type] if sel_type else []
    command += ["--range", sel_range] if sel_range else []
    return _run(command + [port])
