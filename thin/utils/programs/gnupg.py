"""Runs gpg(1), and parses its output: keys and status lines."""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import osutil, safepath

TRUST = {
    "e": "Expired",
    "q": "Unknown",
    "n": "Not Trusted",
    "f": "Fully Trusted",
    "m": "Marginally Trusted",
    "u": "Ultimately Trusted",
    "r": "Revoked",
    "d": "Disabled",
    "-": "Unknown",
}
#: A home that contains one of these has keys.
_KEYRINGS = ("pubring.kbx", "pubring.gpg", "secring.gpg", "public-keys.d")


class Gpg(object):
    """gpg of a user, with a home and a keyring.

    ``user``: who runs it, by default the user of this process (salt: root, with Salt's own home). ``reads``: keys are
    not added or removed; then gpg does not use a home without keys, because it would create empty files there. Raises
    SaltInvocationError for a user that does not exist, and for several keyrings.
    """

    def __init__(self, user=None, gnupghome=None, keyring=None, reads=False):
        if keyring and not isinstance(keyring, str):
            raise SaltInvocationError("Please pass keyring as a string. Multiple keyrings are not allowed")
        self.identity = None
        if user == "salt":
            gnupghome = gnupghome or "/etc/salt/gpgkeys"
        elif user:
            try:
                self.identity = process.Identity(user)
            except KeyError:
                raise SaltInvocationError("User %s does not exist" % user)
            gnupghome = gnupghome or os.path.join(os.path.expanduser("~" + user), ".gnupg")
        self._options = ["--status-fd", "1", "--no-tty", "--batch"]
        home = gnupghome or os.environ.get("GNUPGHOME") or os.path.expanduser("~/.gnupg")
        self._apart = reads and not any(os.path.exists(os.path.join(home, name)) for name in _KEYRINGS)
        if gnupghome and not self._apart:
            self._options += ["--homedir", gnupghome]
            self._make(gnupghome)
        if self._apart:  # the other files of the home are used in any case
            if keyring and "/" not in keyring:
                keyring = os.path.join(home, keyring)
            if os.path.exists(os.path.join(home, "gpg.conf")):
                self._options += ["--options", os.path.join(home, "gpg.conf")]
        if keyring:
            self._options += ["--no-default-keyring", "--keyring", keyring]

    def run(self, argv, stdin=None, passphrase=None, status="1"):
        """The Result of gpg. Status lines are on stdout; with ``status="2"`` on stderr, among its messages.

        ``passphrase``: of the key; it is written to stdin, before the data.
        """
        options = [status if word == "1" else word for word in self._options]
        data = stdin or b""
        if passphrase is not None:
            options += ["--pinentry-mode", "loopback", "--passphrase-fd", "0"]
            data = passphrase.encode("utf-8") + b"\n" + data
        env, empty = dict(os.environ, LC_ALL="C"), None
        try:
            if self._apart:
                empty = osutil.mkdtemp()
                options += ["--homedir", empty]
                if self.identity is not None:
                    safepath.chown(empty, self.identity.uid, self.identity.gid)
            return process.run(["gpg"] + options + argv, env=env, stdin=data, identity=self.identity)
        except OSError as exc:
            raise CommandExecutionError("gpg cannot be run: %s" % exc.strerror)
        finally:
            if empty is not None:
                osutil.rmtree(empty, ignore_errors=True)

    def keys(self, argv, stdin=None):
        """The keys that a command lists, in Salt's shape."""
        options = ["--with-colons", "--fixed-list-mode", "--with-fingerprint", "--with-fingerprint"]
        return shown(text(self.run(options + argv, stdin).stdout))

    def _make(self, home):
        if os.path.isdir(home):
            return
        try:
            safepath.makedirs(home, 0o700)
            if self.identity is not None:
                safepath.chown(home, self.identity.uid, self.identity.gid)
        except OSError as exc:
            raise CommandExecutionError("Cannot make %s: %s" % (home, exc.strerror))


def text(data):
    return data.decode("utf-8", "replace")


def status(done, *words):
    """The arguments of each status line with one of these keywords, in order."""
    lines = [line.split(" ") for line in text(done.stdout + b"\n" + done.stderr).split("\n")]
    return [line[2:] for line in lines if line[0] == "[GNUPG:]" and len(line) > 1 and line[1] in words]


def messages(done):
    """gpg's messages for people."""
    lines = text(done.stderr).strip().split("\n")
    return "\n".join(line for line in lines if not line.startswith("[GNUPG:]"))


def plain(data):
    """The bytes as text if they are UTF-8, else unchanged."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def shown(colons):
    """Keys from a listing with colons: ``[{"keyid", "fingerprint", "uids", "created", "expires", "expired",
    "keyLength", "trust", "ownerTrust", "subkeys"}]``, without the properties that it does not have."""
    result, current = [], None
    for line in colons.split("\n"):
        fields = line.split(":")
        if fields[0] in ("pub", "sec"):
            current = dict({"keyid": fields[4], "fingerprint": "", "uids": []}, **_about(fields))
            result.append(current)
        elif fields[0] in ("sub", "ssb") and result:
            current = dict({"keyid": fields[4], "fingerprint": ""}, **_about(fields))
            result[-1].setdefault("subkeys", []).append(current)
        elif fields[0] == "fpr" and current is not None and not current["fingerprint"]:
            current["fingerprint"] = fields[9]
        elif fields[0] == "uid" and result:
            result[-1]["uids"].append(fields[9].replace("\\x3a", ":"))
    return result


def _about(fields):
    import time

    about = {}
    if fields[6].isdigit():
        about["expires"] = time.strftime("%Y-%m-%d", time.localtime(int(fields[6])))
        about["expired"] = time.time() >= int(fields[6])
    if fields[5].isdigit():
        about["created"] = time.strftime("%Y-%m-%d", time.localtime(int(fields[5])))
    if fields[2]:
        about["keyLength"] = fields[2]
    if fields[8]:
        about["ownerTrust"] = TRUST.get(fields[8], "Unknown")
    if fields[1]:
        about["trust"] = TRUST.get(fields[1], "Unknown")
    return about
