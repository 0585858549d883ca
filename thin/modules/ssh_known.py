"""Entries of known_hosts: functions of the ``ssh`` module. Salt: ``salt/modules/ssh.py``.

``config`` is the path of the file; a relative one is below the user's home; without a user, it is the system's file.
Failures are returned as ``{"status": "error", "error": reason}``.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.utils.files import osutil, safepath, textfile
from thin.utils.formats import authkeys

__virtualname__ = "ssh"
__reads__ = ("get_known_host_entries", "recv_known_host_entries", "check_known_host")
__changes__ = ("set_known_host", "rm_known_host", "hash_known_hosts")

PORT = 22


def get_known_host_entries(user, hostname, config=None, port=None, fingerprint_hash_type=None):
    """
    Return ``[{hostname, key, enc, fingerprint}]`` of a host; None if it has no entry

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.get_known_host_entries app git.example.org
    """
    path = _path(user, config)
    if isinstance(path, dict):
        return path
    return _entries(_entries_of(hostname, port, path), fingerprint_hash_type)


def recv_known_host_entries(
    hostname, enc=None, port=None, hash_known_hosts=True, timeout=5, fingerprint_hash_type=None
):
    """
    Ask a host for its keys; returns a list as above, or None if there is no answer within ``timeout`` seconds

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.recv_known_host_entries git.example.org enc=ed25519 port=22
    """
    command = [_program("ssh-keyscan")] + (["-p", str(port)] if port else []) + (["-t", str(enc)] if enc else [])
    command += (["-H"] if hash_known_hosts else []) + ["-T", str(timeout), hostname]
    for _ in range(5):
        lines = __salt__["cmd.run"](command, python_shell=False, ignore_retcode=True).splitlines()
        if lines:
            return _entries(lines, fingerprint_hash_type)
    return None


def check_known_host(
    user=None, hostname=None, key=None, fingerprint=None, config=None, port=None, fingerprint_hash_type=None
):
    """
    Return what set_known_host would do with a host: ``add``, ``update`` or ``exists``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.check_known_host app git.example.org key='AAAAC3Nza...'
    """
    if not hostname:
        return _error("hostname argument required")
    entries = get_known_host_entries(user, hostname, config, port, fingerprint_hash_type)
    if not entries or isinstance(entries, dict):
        return entries or "add"
    if key:
        return "exists" if any(entry["key"] == key for entry in entries) else "update"
    if fingerprint:
        return "exists" if any(entry["fingerprint"] == fingerprint for entry in entries) else "update"
    return "exists"


def set_known_host(
    user=None,
    hostname=None,
    fingerprint=None,
    key=None,
    port=None,
    enc=None,
    config=None,
    hash_known_hosts=True,
    timeout=5,
    fingerprint_hash_type=None,
):
    """
    Add a host with the given key, or with its current keys, one of which must have the fingerprint

    Returns ``{status: exists, keys}`` or ``{status: updated, old, new}``, in the format of get_known_host_entries.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.set_known_host app git.example.org fingerprint='SHA256:...' enc=ssh-ed25519
    """
    if not hostname:
        return _error("hostname argument required")
    if port not in (None, PORT) and hash_known_hosts:
        return _error("argument port can not be used in conjunction with argument hash_known_hosts")
    if key and not enc:
        return _error('Required argument "enc" if using "key" argument.')
    path = _path(user, config)
    if isinstance(path, dict):
        return path
    lines = _entries_of(hostname, port, path)
    old = _entries(lines, fingerprint_hash_type)
    keys = [entry["key"] for entry in old or () if _is_of(entry["enc"], enc)]
    given = key or fingerprint
    if old and given and (not key or key in keys) and (not fingerprint or _has(old, fingerprint)):
        return {"status": "exists", "keys": keys}
    if key:
        new = [{"hostname": hostname, "enc": _kind(enc), "key": key}]
    else:
        new = recv_known_host_entries(hostname, enc, port, hash_known_hosts, timeout, fingerprint_hash_type)
        if not new:
            return _error("Unable to receive remote host keys")
        if fingerprint and not _has(new, fingerprint):
            return _error(
                "Remote host public keys found but none of their fingerprints match the one you have provided"
            )
        if old and not given and {entry["key"] for entry in new} == set(keys):
            return {"status": "exists", "keys": keys}
    _write(path, user, _numbers(lines, enc), [_line(entry, port) for entry in new])
    if key and hash_known_hosts:
        _rewrite(["-H"], path, user)
    return {"status": "updated", "old": old, "new": new}


def rm_known_host(user=None, hostname=None, config=None, port=None):
    """
    Remove a host: ``{status: removed, comment: output of ssh-keygen}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.rm_known_host app git.example.org
    """
    if not hostname:
        return _error("hostname argument required")
    path = _path(user, config)
    if isinstance(path, dict):
        return path
    if not os.path.isfile(path):
        return _error("Known hosts file %s does not exist" % path)
    return {"status": "removed", "comment": _rewrite(["-R", _address(hostname, port)], path, user)}


def hash_known_hosts(user=None, config=None):
    """
    Hash all names in the file: ``{status: updated, comment: output of ssh-keygen}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.hash_known_hosts root
    """
    path = _path(user, config)
    if isinstance(path, dict):
        return path
    if not os.path.isfile(path):
        return _error("Known hosts file %s does not exist" % path)
    return {"status": "updated", "comment": _rewrite(["-H"], path, user)}


def _error(why):
    return {"status": "error", "error": why}


def _path(user, config):
    """The path of the file, or an error as dict."""
    config = config or (".ssh/known_hosts" if user else "/etc/ssh/ssh_known_hosts")
    if os.path.isabs(config):
        return config
    if not user:
        return _error("Cannot determine absolute path to file.")
    account = __salt__["user.info"](user)
    return os.path.join(account["home"], config) if account else _error("User %s does not exist" % user)


def _program(name):
    path = process.which(name)
    if not path:
        raise CommandNotFoundError("'%s' is not available." % name)
    return path


def _address(hostname, port):
    return hostname if port in (None, "", PORT) else "[%s]:%s" % (hostname, port)


def _entries_of(hostname, port, path):
    """The lines that ssh-keygen prints about a host: each entry follows a comment with its line number."""
    command = [_program("ssh-keygen"), "-F", _address(hostname, port), "-f", path]
    return __salt__["cmd.run"](command, ignore_retcode=True, python_shell=False).splitlines()


def _entries(lines, hash_type):
    entries = []
    for words in (line.split() for line in lines if not line.lstrip().startswith("#")):
        digits = authkeys.fingerprint(words[2], hash_type) if len(words) == 3 else None
        if digits:
            entries.append({"hostname": words[0], "key": words[2], "enc": words[1], "fingerprint": digits})
    return entries or None


def _numbers(lines, enc):
    """The numbers (from 1) of the lines with a key of this type, or of any type."""
    numbers, number = [], None
    for line in lines:
        words = line.split()
        if line.startswith("#"):
            number = int(words[-1]) if words[-1].isdigit() else None
        elif number and len(words) > 2 and not words[0].startswith("@") and _is_of(words[1], enc):
            numbers.append(number)
    return numbers


def _kind(enc):
    try:
        return authkeys.key_type(enc)
    except CommandExecutionError:
        return str(enc)


def _is_of(kind, enc):
    """Whether the type of a key in the file is the requested one."""
    return not enc or kind in (enc, _kind(enc)) or (enc in ("e", "ecdsa") and kind.startswith("ecdsa-"))


def _has(entries, fingerprint):
    return any(entry["fingerprint"] == fingerprint for entry in entries)


def _line(entry, port):
    if port not in (None, PORT) and ":" not in entry["hostname"]:
        entry["port"] = port
        return "[{hostname}]:{port} {enc} {key}\n".format(**entry)
    return "{hostname} {enc} {key}\n".format(**entry)


def _check_links(path):
    """Refuse links that the user made: root would write to a path of the user's choice."""
    for each in (path, os.path.dirname(path)):
        if os.geteuid() == 0 and os.path.islink(each) and os.lstat(each).st_uid != 0:
            raise CommandExecutionError("%s is a link that its user made: it is not followed" % each)


def _owner(user):
    """``{uid, gid}`` of files for the user; {} if they cannot be set."""
    account = __salt__["user.info"](user) if user and os.geteuid() == 0 else None
    return {"uid": account["uid"], "gid": account["gid"]} if account else {}


def _write(path, user, drop, more):
    """Write the file without the lines of these numbers, and with more lines at its end."""
    _check_links(path)
    folder, owner = os.path.dirname(path), _owner(user)
    if not os.path.isdir(folder):
        try:
            safepath.makedirs(folder)
            if user:
                safepath.chmod(folder, 0o700)
            if owner:
                safepath.chown(folder, owner["uid"], owner["gid"])
        except OSError as exc:
            raise CommandExecutionError("Unable to create directory %s: %s" % (folder, exc.strerror))
    kept = [line for number, line in enumerate(textfile.lines(path), 1) if number not in drop]
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    textfile.write(path, "".join(kept + more), mode=0o600, **owner)


def _rewrite(words, path, user):
    """Make ssh-keygen rewrite the file, and keep its mode; returns the output."""
    from thin.utils.files import edit

    _check_links(path)
    owner, folder = _owner(user), osutil.mkdtemp()
    copy = os.path.join(folder, "known_hosts")  # ssh-keygen would read and replace whatever gets the name meanwhile
    try:
        before = textfile.read(path, "")
        textfile.write(copy, before, mode=0o600)
        output = __salt__["cmd.run"]([_program("ssh-keygen")] + words + ["-f", copy], python_shell=False)
        after = textfile.read(copy, before)
        if os.path.exists(copy + ".old"):
            edit.save(path, ".old")
        if after != before:
            textfile.write(path, after, **owner)
    finally:
        osutil.rmtree(folder, ignore_errors=True)
    return output.replace(copy, path)
