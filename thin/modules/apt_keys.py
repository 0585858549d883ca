"""Keys of repositories: a part of ``pkg`` on Debian and similar systems. Salt: modules/aptpkg.py

If apt-key is installed, its keyring is used, unless ``aptkey`` is False. Otherwise a key is a file in a directory of
keyrings, which a repository names as ``signed-by``.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.files import safepath
from thin.utils.programs import aptrun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Debian",)}
__reads__ = ("get_repo_keys", "parse_keys")
__changes__ = ("add_repo_key", "del_repo_key")

log = getLogger(__name__)

KEYRINGS = "/etc/apt/keyrings"
ARMORED = b"BEGIN PGP"


def __virtual__():
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The pkg module could not be loaded: unsupported OS family"


def get_repo_keys(aptkey=True, keydir=None):
    """
    ``{keyid: {"keyid", "fingerprint", "uid", "uid_hash", "algorithm", "bits", "capability", "date_creation",
    "date_expiration", "validity", "subkey"}}`` of the keys; False without a directory of keys.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.get_repo_keys
    """
    if _apt_key(aptkey):
        done = _run(
            [
                "apt-key",
                "adv",
                "--batch",
                "--list-public-keys",
                "--with-fingerprint",
                "--with-fingerprint",
                "--with-colons",
                "--fixed-list-mode",
            ]
        )
        if done["retcode"] != 0:
            log.error(done["stderr"])
            return {}
        return parse_keys(done["stdout"])
    keydir = keydir or KEYRINGS
    if not os.path.isdir(keydir):
        log.error("The directory %s does not exist. Please create this directory only writable by root", keydir)
        return False
    return parse_keys("\n".join(_listing(os.path.join(keydir, name)) for name in sorted(os.listdir(keydir))))


def parse_keys(text):
    """The keys in gpg's ``--with-colons`` output. Salt: ``_parse_repo_keys_output``."""
    keys = []
    for line in text.splitlines():
        items = [_number(item.strip()) if item.strip() else None for item in line.split(":")]
        if items[0] in ("pub", "sub") and len(items) > 11:
            data = {
                "algorithm": items[3],
                "bits": items[2],
                "capability": items[11],
                "date_creation": items[5],
                "date_expiration": items[6],
                "keyid": str(items[4]),
                "validity": items[1],
            }
            if items[0] == "pub":
                keys.append(data)
            elif keys:
                keys[-1]["subkey"] = data
        elif items[0] == "fpr" and keys:
            keys[-1].get("subkey", keys[-1])["fingerprint"] = items[9]
        elif items[0] == "uid" and keys:
            keys[-1].update(uid=items[9], uid_hash=items[7])
    return {key["keyid"]: key for key in keys}


def add_repo_key(
    path=None,
    text=None,
    keyserver=None,
    keyid=None,
    saltenv="base",
    aptkey=True,
    keydir=None,
    keyfile=None,
    failhard=False,
):
    """
    Add a key from a file (``path``, any source), from text, or by its id from a key server; returns whether it
    worked.

    ``keyfile``: its name in ``keydir``, when apt-key is not used. ``failhard``: raise CommandExecutionError instead of
    False.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.add_repo_key salt://keys/app-repo.asc
    """
    aptkey = _apt_key(aptkey)
    keydir = keydir or KEYRINGS
    if not aptkey and not os.path.isdir(keydir):
        try:
            safepath.makedirs(keydir, 0o755)
        except OSError as exc:
            return _failed(failhard, "The directory %s could not be created: %s" % (keydir, exc.strerror))
    if keyid and any(key_id.endswith(keyid) for key_id in get_repo_keys(aptkey, keydir) or ()):
        return True
    if path:
        source = __salt__["cp.cache_file"](path, saltenv)
        if not source:
            return _failed(failhard, "Error: file not found: %s" % path)
        words = "Error: failed to add key from %s" % path
        if aptkey:
            return _by_apt_key(source, words, failhard)
        with open(source, "rb") as stream:
            data = stream.read()
        return _add(data, os.path.join(keydir, keyfile or os.path.basename(path)), words, failhard)
    if text:
        if not aptkey and not keyfile:
            return _failed(failhard, "The key has no file to be kept in: name one as signed-by")
        words = "Error: failed to add key:\n%s" % text
        if aptkey:
            return _by_apt_key("-", words, failhard, stdin=text)
        return _add(text.encode("utf-8"), os.path.join(keydir, keyfile), words, failhard)
    if keyserver:
        if not keyid:
            raise SaltInvocationError("No keyid or keyid too short for keyserver: %s" % keyserver)
        return _receive(keyserver, keyid, aptkey, keydir, keyfile)
    if keyid:
        raise SaltInvocationError("No keyserver specified for keyid: %s" % keyid)
    raise TypeError("add_repo_key() takes at least 1 argument (0 given)")


def del_repo_key(name=None, aptkey=True, keydir=None, **kwargs):
    """
    Remove a key by its ``keyid``; returns that id, or False if there is no such key.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.del_repo_key keyid=5D1F2A9C
    """
    keydir = keydir or KEYRINGS
    if not aptkey and not os.path.isdir(keydir):
        log.error("The directory %s does not exist. Please create this directory only writable by root", keydir)
        return False
    if kwargs.get("keyid_ppa"):
        raise CommandExecutionError("keyid_ppa is not supported: give the keyid of the PPA's key")
    if "keyid" not in kwargs:
        raise SaltInvocationError("keyid or keyid_ppa and PPA name must be passed")
    keyid = kwargs["keyid"]
    if _apt_key(aptkey):
        done = _run(["apt-key", "del", keyid])
        if done["retcode"] != 0:
            raise CommandExecutionError("Failed to remove keyid %s: %s" % (keyid, done["stderr"]))
        return keyid
    if len(keyid) not in (8, 16):
        log.error("The keyid needs to be either 8 or 16 characters")
        return False
    for entry in sorted(os.listdir(keydir)):
        place = os.path.join(keydir, entry)
        if any(key_id.endswith(keyid) for key_id in parse_keys(_listing(place))):
            safepath.unlink(place)
            return keyid
    log.error("Could not find the key file for keyid: %s", keyid)
    return False


# Private functions


def _apt_key(asked):
    return bool(asked and process.which("apt-key"))


def _by_apt_key(source, words, failhard, stdin=None):
    done = _run(["apt-key", "add", source], stdin=stdin)
    if done["retcode"] != 0:
        return _failed(failhard, "%s: %s" % (words, done["stderr"].strip() or done["stdout"].strip()))
    return True


def _add(data, place, words, failhard):
    from thin.utils.files import atomic

    if data.strip(b"-").startswith(ARMORED) and not place.endswith(".asc"):
        data = _dearmored(data)
        if data is None:
            return _failed(failhard, words)
    atomic.write(place, data, mode=0o644)  # apt reads it as an unprivileged user
    return True


def _dearmored(data):
    """The binary form of an armored key (gpg --dearmor), or None if it is damaged."""
    import binascii

    out, inside, body = b"", False, False
    for line in data.splitlines():
        line = line.strip()
        if line.startswith(b"-----BEGIN PGP"):
            inside, body, text = True, False, b""
        elif line.startswith(b"-----END PGP") and inside:
            try:
                out += binascii.a2b_base64(text)
            except binascii.Error:
                return None
            inside = False
        elif inside and not body:
            body = not line  # an empty line ends the headers
        elif inside and not line.startswith(b"="):  # that line is the checksum
            text += line
    return out or None


def _receive(keyserver, keyid, aptkey, keydir, keyfile):
    if aptkey:
        done = _run(["apt-key", "adv", "--batch", "--keyserver", keyserver, "--logger-fd", "1", "--recv-keys", keyid])
        if done["retcode"] != 0:
            raise CommandExecutionError("Error: key retrieval failed: %s" % done["stdout"])
        return True
    if not keyfile:
        log.error("You must define the name of the key file to save the key. See keyfile argument")
        return False
    place = os.path.join(keydir, keyfile)
    done = _run(
        ["gpg", "--batch", "--no-default-keyring", "--keyring", place, "--keyserver", keyserver, "--recv-keys", keyid]
    )
    if done["retcode"] != 0:
        log.error("the key of the repository was not added: %s", done["stderr"])
        return False
    safepath.chmod(place, 0o644)
    return True


def _listing(place):
    return _run(["gpg", "--no-default-keyring", "--keyring", place, "--list-keys", "--with-colons"])["stdout"]


def _number(text):
    try:
        return int(text)
    except ValueError:
        return text


def _failed(failhard, words):
    if failhard:
        raise CommandExecutionError(words)
    log.error(words)
    return False


def _run(command, **options):
    return aptrun.run(__salt__["cmd.run_all"], __opts__, command, **options)
