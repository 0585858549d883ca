"""Keys in authorized_keys, and the host's keys. Salt: ``salt/modules/ssh.py``.

``config`` is the path of authorized_keys; a relative one is below the home; ``%u`` is the user, ``%h`` the home.
"""

import os
import re

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath, textfile
from thin.utils.formats import authkeys

__reads__ = ("auth_keys", "check_key", "check_key_file", "host_keys", "user_keys", "key_is_encrypted")
__changes__ = ("set_auth_key", "set_auth_key_from_file", "rm_auth_key", "rm_auth_key_from_file")

AUTHORIZED_KEYS = ".ssh/authorized_keys"
KEY_FILES = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")


def auth_keys(user=None, config=AUTHORIZED_KEYS, fingerprint_hash_type=None):
    """
    Return ``{key: {enc, comment, options, fingerprint}}`` of a user; by user, for a list of users or all

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.auth_keys app
    """
    if user and not isinstance(user, list):
        return _keys(user, config, fingerprint_hash_type) or {}
    auth_keys = {name: _keys(name, config, fingerprint_hash_type) for name in user or __salt__["user.list_users"]()}
    return {name: keys for name, keys in auth_keys.items() if keys is not None}


def check_key(user, key, enc, comment, options, config=AUTHORIZED_KEYS, cache_keys=None, fingerprint_hash_type=None):
    """
    Return what set_auth_key would do with a key: ``add``, ``update`` or ``exists``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.check_key root AAAAB3Nza ssh-rsa comment '[]'
    """
    now = auth_keys(user, config, fingerprint_hash_type).get(key)
    if now is None:
        return "add"
    present = authkeys.line(now["options"], now["enc"], key, now["comment"])
    return "exists" if present == authkeys.line(options, authkeys.key_type(enc), key, comment) else "update"


def check_key_file(user, source, config=AUTHORIZED_KEYS, saltenv="base", fingerprint_hash_type=None):
    """
    Return ``{key: add, update or exists}`` for the keys in a file (salt://)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.check_key_file app salt://app/id_ed25519.pub
    """
    path = __salt__["cp.cache_file"](source, saltenv)
    keys = _source(path, source, fingerprint_hash_type) if path else {}
    return {
        key: check_key(user, key, data["enc"], data["comment"], data["options"], config) for key, data in keys.items()
    }


def set_auth_key(
    user,
    key,
    enc="ssh-rsa",
    comment="",
    options=None,
    config=AUTHORIZED_KEYS,
    cache_keys=None,
    fingerprint_hash_type=None,
):
    """
    Add a key to authorized_keys: ``new``, ``replace`` or ``no change``; ``fail``, ``invalid``, ``Invalid public key``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.set_auth_key root AAAAB3Nza enc=ssh-rsa
    """
    if len(key.split()) > 1 or "\n" in str(comment):
        return "invalid"
    enc, account = authkeys.key_type(enc), __salt__["user.info"](user)
    if not account:
        return "fail"
    if authkeys.fingerprint(key, fingerprint_hash_type) is None:
        return "Invalid public key"
    status = check_key(user, key, enc, comment, options or [], config)
    if status == "exists":
        return "no change"
    path, new = _path(account, config), authkeys.line(options or [], enc, key, comment)
    if path.startswith(account["home"]) and not os.path.isdir(account["home"]):
        return "fail"
    _check_links(path)
    lines = textfile.lines(path)
    if status == "update":
        _write(path, [new if _key(line) == key else line for line in lines], account)
        return "replace"
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        safepath.makedirs(folder, 0o700)
        if os.geteuid() == 0:
            safepath.chown(folder, account["uid"], account["gid"])
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    _write(path, lines + [new], account)
    return "new"


def set_auth_key_from_file(
    user, source, config=AUTHORIZED_KEYS, saltenv="base", fingerprint_hash_type=None, options=None, **kwargs
):
    """
    Add the keys of a file (salt://) to authorized_keys: ``new``, ``replace``, ``no change`` or ``fail``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.set_auth_key_from_file root salt://ssh_keys/root.id_rsa.pub
    """
    done = [
        set_auth_key(user, key, data["enc"], data["comment"], options or data["options"], config)
        for key, data in _source(_pulled(source, saltenv), source, fingerprint_hash_type).items()
    ]
    return next((word for word in ("fail", "replace", "new") if word in done), "no change" if done else "fail")


def rm_auth_key(user, key, config=AUTHORIZED_KEYS, fingerprint_hash_type=None):
    """
    Remove a key: ``Key removed`` or ``Key not present``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.rm_auth_key root AAAAB3Nza
    """
    if key not in auth_keys(user, config, fingerprint_hash_type):
        return "Key not present"
    account = __salt__["user.info"](user)
    path = _path(account, config)
    _check_links(path)
    _write(path, [line for line in textfile.lines(path) if _key(line) != key], account)
    return "Key removed"


def rm_auth_key_from_file(user, source, config=AUTHORIZED_KEYS, saltenv="base", fingerprint_hash_type=None):
    """
    Remove the keys of a file (salt://): ``Key removed``, ``Key not present`` or ``fail``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.rm_auth_key_from_file root salt://ssh_keys/root.id_rsa.pub
    """
    keys = _source(_pulled(source, saltenv), source, fingerprint_hash_type)
    done = [rm_auth_key(user, key, config) for key in keys]
    return "Key removed" if "Key removed" in done else "Key not present" if done else "fail"


def host_keys(keydir=None, private=True, certs=True):
    """
    Return the host's keys, ``{type, type.pub: text}``; ``private=False`` leaves the private ones out

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.host_keys private=False
    """
    if not keydir and __grains__.get("kernel") != "Linux":
        raise SaltInvocationError("ssh.host_keys: Please specify a keydir")
    keydir, host_keys = keydir or "/etc/ssh", {}
    for name in os.listdir(keydir):
        match = re.match(r"ssh_host_(.+)_key((-cert)?\.pub)?", name)
        if match and (match.group(2) or private is not False) and (not match.group(3) or certs is not False):
            try:
                text = textfile.read(os.path.join(keydir, name), "")
            except CommandExecutionError:
                text = ""
            host_keys[match.group(1) + (match.group(2) or "")] = text.strip()
    return host_keys


def user_keys(user=None, pubfile=None, prvfile=None):
    """
    Return ``{user: {file: text}}`` of the keys in users' homes

    user
        the user, or a list of users; by default all
    pubfile
        the file of the public key, below ``.ssh`` or by its whole path; False for none
    prvfile
        the file of the private key, likewise

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.user_keys root prvfile=False
    """
    user_keys = {}
    names = user if isinstance(user, list) else [user] if user else __salt__["user.list_users"]()
    for name in names:
        home = __salt__["user.info"](name).get("home")
        if home is None:
            continue
        files = []
        for given, end in ((pubfile, ".pub"), (prvfile, "")):
            files += [given] if given else [] if given is False else [kind + end for kind in KEY_FILES]
        for file in files:
            path = os.path.join(home, ".ssh", file)
            try:
                with open(path, encoding="utf-8", errors="replace") as source:
                    user_keys.setdefault(name, {})[os.path.basename(file)] = source.read().strip()
            except OSError:
                continue
    return user_keys


def key_is_encrypted(key):
    """
    Return whether a private key is encrypted. Raises CommandExecutionError for a file that is no private key

    key
        the file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh.key_is_encrypted /etc/ssh/keys/id_rsa
    """
    text = textfile.read(key)
    if text is None:
        raise CommandExecutionError("%s does not exist" % key)
    if not re.search(r"BEGIN (?:\w+\s)*PRIVATE KEY", text):
        raise CommandExecutionError("%s is not a private key" % key)
    if "OPENSSH PRIVATE KEY" not in text:
        return "ENCRYPTED" in text
    import binascii

    body = "".join(line for line in text.splitlines() if not line.startswith("-----"))
    try:
        data = binascii.a2b_base64(body)
    except ValueError:
        raise CommandExecutionError("%s is damaged" % key)
    return b"\0\0\0\4none" not in data[:23]  # the name of the cipher is first


def _keys(user, config, hash_type):
    """The keys of a user; None if the user or the file does not exist."""
    account = __salt__["user.info"](user)
    path = _path(account, config) if account else ""
    return authkeys.parse(textfile.lines(path), hash_type) if os.path.isfile(path) else None


def _key(line):
    fields = authkeys.fields(line)
    return fields[2] if fields else None


def _path(account, config):
    def token(match):
        try:
            return {"%": "%", "u": account["name"], "h": account["home"]}[match.group(1)]
        except KeyError:
            raise CommandExecutionError(
                'AuthorizedKeysFile path: unknown token character "%%%s"' % match.group(1)
                if match.group(1)
                else "AuthorizedKeysFile path: Last character can't be escape character"
            )

    return os.path.join(account["home"], re.sub("%(.?)", token, config))


def _check_links(path):
    """Refuse links that the user made: root would write to a path of the user's choice."""
    for each in (path, os.path.dirname(path)):
        if os.geteuid() == 0 and os.path.islink(each) and os.lstat(each).st_uid != 0:
            raise CommandExecutionError("%s is a link that its user made: it is not followed" % each)


def _write(path, lines, account):
    new = not os.path.exists(path)
    ours = {"uid": account["uid"], "gid": account["gid"]} if new and os.geteuid() == 0 else {}
    textfile.write(path, "".join(lines), mode=0o600, **ours)


def _pulled(source, saltenv):
    path = __salt__["cp.cache_file"](source, saltenv)
    if not path or not os.path.isfile(path):
        raise CommandExecutionError("Failed to pull key file from salt file server")
    return path


def _source(path, source, hash_type):
    """The keys in a source file; {} and an error text if there are none."""
    keys = authkeys.parse(textfile.lines(path), hash_type)
    if not keys:
        __context__["ssh_auth.error"] = "No keys detected in %s. Is file properly formatted?" % source
    return keys
