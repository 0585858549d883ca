"""SELinux: mode, booleans, modules, contexts of files and ports. Salt: modules/selinux.py

By semanage, setsebool, semodule and restorecon, without Python's bindings. They work on the policy of a machine on
which SELinux is disabled too, where there is one.
"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils import osutil, textfile

CONFIG = "/etc/selinux/config"
FILE_TYPES = {
    "a": "all files", "f": "regular file", "d": "directory", "c": "character device", "b": "block device",
    "s": "socket", "l": "symbolic link", "p": "named pipe",
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


def selinux_fs_path():
    """
    Return where the kernel tells of SELinux, None when it is disabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.selinux_fs_path
    """
    for folder in ("/sys/fs/selinux", "/selinux"):
        if os.path.isfile(os.path.join(folder, "enforce")):
            return folder
    return None


def getenforce():
    """
    Return the mode that holds now: Enforcing, Permissive or Disabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.getenforce
    """
    folder = selinux_fs_path()
    text = folder and _read(os.path.join(folder, "enforce"))
    return "Disabled" if not text else "Permissive" if text.strip() == "0" else "Enforcing"


def getconfig():
    """
    Return the mode that holds after the next boot, as the configuration has it; None when it has none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.getconfig
    """
    for line in (_read(CONFIG) or "").splitlines():
        if line.strip().startswith("SELINUX="):
            return line.partition("=")[2].strip().capitalize()
    return None


def setenforce(mode):
    """
    Set the mode, now and in the configuration; returns the one that holds now

    mode
        enforcing, permissive or disabled (which holds after a boot; until then it is permissive)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.setenforce enforcing
    """
    word = mode.lower() if isinstance(mode, str) else ""
    if word not in ("enforcing", "permissive", "disabled"):
        raise SaltInvocationError("Invalid mode %s" % mode)
    folder = selinux_fs_path()
    if folder:
        try:
            with open(os.path.join(folder, "enforce"), "w") as target:
                target.write("1" if word == "enforcing" else "0")
        except OSError as exc:
            raise CommandExecutionError("Could not write SELinux enforce file: %s" % exc)
    text = textfile.read(CONFIG)
    if text is None:
        raise CommandExecutionError("Could not read SELinux config file: there is no %s" % CONFIG)
    changed = re.sub(r"(?m)^SELINUX=.*$", "SELINUX=" + word, text)
    if changed != text:
        textfile.write(CONFIG, changed)
    return getenforce()


def getsebool(boolean):
    """
    Return ``{State, Default, Description}`` of a boolean, {} when there is none of that name

    boolean
        Its name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.getsebool httpd_can_network_connect
    """
    return list_sebool().get(boolean, {})


def setsebool(boolean, value, persist=False):
    """
    Set a boolean; whether that worked

    boolean
        Its name
    value
        on or off
    persist
        After the next boot as well

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.setsebool httpd_can_network_connect on persist=True
    """
    return _works(["setsebool"] + (["-P"] if persist else []) + [str(boolean), str(value)])


def setsebools(pairs, persist=False):
    """
    Set several booleans at once; whether that worked

    pairs
        ``{name: value}``
    persist
        After the next boot as well

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.setsebools '{httpd_can_network_connect: on, squid_connect_any: off}'
    """
    rows = ["%s=%s" % (name, pairs[name]) for name in pairs]
    return _works(["setsebool"] + (["-P"] if persist else []) + rows)


def list_sebool():
    """
    Return all booleans: ``{name: {State, Default, Description}}``, with the words on and off

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.list_sebool
    """
    found = {}
    for line in _lines(["semanage", "boolean", "--list"])[1:]:
        match = re.match(r"(\S+)\s+\((\w+)\s*,\s*(\w+)\)\s*(.*)", line)
        if match:
            name, state, default, words = match.groups()
            found[name] = {"State": state, "Default": default, "Description": " ".join(words.split())}
    return found


def getsemod(module):
    """
    Return ``{Enabled, Version}`` of a policy module, {} when there is none of that name

    module
        Its name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.getsemod mysql
    """
    return list_semod().get(module, {})


def setsemod(module, state):
    """
    Enable or disable a policy module; whether that worked

    module
        Its name
    state
        Enabled or Disabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.setsemod nagios Disabled
    """
    words = {"enabled": "--enable", "disabled": "--disable"}
    if str(state).lower() not in words:
        raise SaltInvocationError("Invalid state %s" % state)
    return _works(["semodule", words[str(state).lower()], str(module)])


def install_semod(module_path):
    """
    Install a policy module from a file; whether that worked

    module_path
        A path here, or a ``salt://`` URL

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.install_semod salt://selinux/mine.pp
    """
    if not module_path.startswith("salt://"):
        return _works(["semodule", "--install", module_path])
    # semodule knows a module's kind by the end of its file's name, which is the module's name, too
    folder = osutil.mkdtemp()
    try:
        path = os.path.join(folder, os.path.basename(module_path.partition("?")[0]))
        if not __salt__["cp.get_file"](module_path, path):
            raise CommandExecutionError("Source file %s is not there" % module_path)
        return _works(["semodule", "--install", path])
    finally:
        osutil.rmtree(folder, ignore_errors=True)


def remove_semod(module):
    """
    Remove a policy module; whether that worked

    module
        Its name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.remove_semod mine
    """
    return _works(["semodule", "--remove", str(module)])


def list_semod():
    """
    Return the policy modules: ``{name: {Enabled: bool, Version: None}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.list_semod
    """
    rows = [line.split() for line in _lines(["semodule", "--list-modules=full"])]
    return {row[1]: {"Enabled": row[-1] != "disabled", "Version": None} for row in rows if len(row) > 2}


def filetype_id_to_string(filetype="a"):
    """
    Return the words for the letter of a kind of files, such as ``all files`` for a

    filetype
        One of a, f, d, c, b, s, l, p

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
    # of several, the last one counts: the machine's own rules stand behind those of the policy
    for rule in reversed(_file_rules(name)):
        if all(not value or rule[key] == value for key, value in wanted.items()):
            return rule
    return None


def fcontext_add_policy(name, filetype=None, sel_type=None, sel_user=None, sel_level=None):
    """
    Add a rule for files, or change the one with the same paths; what cmd.run_all returns

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
    Delete a rule for files; what cmd.run_all returns

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
    Return what restorecon would change, as it says it: nothing when all labels are right

    name
        A path
    recursive
        And all that is below

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.fcontext_policy_is_applied /srv/www recursive=True
    """
    return _run(["restorecon", "-n", "-v"] + (["-R"] if recursive else []) + [name])["stdout"]


def fcontext_apply_policy(name, recursive=False):
    """
    Relabel files as the policy says; what cmd.run_all returns, with ``changes``: ``{path: {old: {...}, new: {...}}}``

    name
        A path
    recursive
        And all that is below

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.fcontext_apply_policy /srv/www recursive=True
    """
    said = fcontext_policy_is_applied(name, recursive)
    ret = _run(["restorecon", "-v", "-F"] + (["-R"] if recursive else []) + [name])
    if ret["retcode"] != 0:
        return ret
    rows = [row for pattern in _RELABEL for row in pattern.findall(said)]
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
    Return ``{sel_type, protocol, port}`` of the rule that has a port, None for none; ``port`` are all of the rule

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

        pushsalt run '*' selinux.port_get_policy tcp/80
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
    Give a port an SELinux type; what cmd.run_all returns

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

        pushsalt run '*' selinux.port_add_policy tcp/8080 http_port_t
    """
    if not sel_type:
        raise SaltInvocationError("SELinux Type is required to add a policy")
    return _change_port("add", name, sel_type, protocol, port, sel_range)


def port_modify_policy(name, sel_type=None, protocol=None, port=None, sel_range=None):
    """
    Give a port that has an SELinux type another one; what cmd.run_all returns

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

        pushsalt run '*' selinux.port_modify_policy tcp/8080 http_port_t
    """
    return _change_port("modify", name, sel_type, protocol, port, sel_range)


def port_delete_policy(name, protocol=None, port=None):
    """
    Delete a port's rule; what cmd.run_all returns

    name
        Such as ``tcp/8080``, or anything when protocol and port are given
    protocol
        tcp or udp
    port
        The port or a range of them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.port_delete_policy tcp/8080
    """
    return _change_port("delete", name, None, protocol, port, None)


def _read(path):
    try:
        return textfile.read(path)
    except CommandExecutionError:
        return None


def _run(command):
    return __salt__["cmd.run_all"](command, python_shell=False)


def _works(command):
    return __salt__["cmd.retcode"](command, python_shell=False) == 0


def _lines(command):
    return __salt__["cmd.run_stdout"](command, python_shell=False).splitlines()


def _context(text):
    parts = text.split(":", 3)
    if len(parts) != 4 or not all(parts):
        raise SaltInvocationError(
            'Invalid SELinux context string: %s. Expected "sel_user:sel_role:sel_type:sel_level"' % text)
    return dict(zip(_CONTEXT, parts))


def _file_rules(name):
    found = []
    for match in filter(None, map(_FCONTEXT.match, _lines(["semanage", "fcontext", "--list"]))):
        if match.group(1) == name:
            found.append(dict(_context(match.group(3)), filespec=name, filetype=match.group(2)))
    return found


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
        'Invalid name "%s" format and protocol and port not provided or invalid: "%s" "%s".' % (name, protocol, port))


def _change_port(action, name, sel_type, protocol, port, sel_range):
    protocol, port = _port(name, protocol, port)
    command = ["semanage", "port", "--" + action, "--proto", protocol]
    command += ["--type", sel_type] if sel_type else []
    command += ["--range", sel_range] if sel_range else []
    return _run(command + [port])
