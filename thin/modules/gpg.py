"""Keys and signatures of GnuPG, by gpg(1). Salt: ``salt/modules/gpg.py``."""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger

log = getLogger(__name__)

TRUST = {"TRUST_UNDEFINED": "Undefined", "TRUST_NEVER": "Never", "TRUST_MARGINAL": "Marginal", "TRUST_FULLY": "Fully",
         "TRUST_ULTIMATE": "Ultimate"}
TRUST_MODELS = ("pgp", "classic", "tofu", "tofu+pgp", "direct", "always", "auto")


def __virtual__():
    return True if process.which("gpg") else (False, "the program gpg is not there")


def verify(text=None, user=None, filename=None, gnupghome=None, signature=None, trustmodel=None, signed_by_any=None,
           signed_by_all=None, keyring=None):
    """
    Whether a text or a file is signed: ``{"res": bool, "message": text, ...}``

    ``signature`` is the path of a detached one. ``signed_by_any`` and ``signed_by_all`` are fingerprints of primary
    keys, whose signatures have to be valid; how far the keys are trusted does not matter.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.verify filename=/path/to/important.file
    """
    if trustmodel and trustmodel not in TRUST_MODELS:
        message = "Invalid trustmodel defined: %s. Use one of: %s" % (trustmodel, ", ".join(TRUST_MODELS))
        log.warning("%s", message)
        return {"res": False, "message": message}
    if not text and not filename:
        raise SaltInvocationError("filename or text must be passed.")
    signers = bool(signed_by_any or signed_by_all)
    argv = ["--trust-model", trustmodel] if trustmodel else []
    # In batch mode gpg ends at the first bad signature; all of them count here.
    argv += ["--no-batch"] if signers else []
    argv += ["--verify", "--"]
    if text:
        done = _gpg(argv + ["-"], user, gnupghome, keyring, text.encode("utf-8"))
    else:
        done = _gpg(argv + ([signature] if signature else []) + [filename], user, gnupghome, keyring)
    found = signatures(_text(done.stdout))
    if signers:
        return _by(found, _listed(signed_by_any), _listed(signed_by_all))
    valid = [one for one in found if one["trust_level"] is not None]
    if not valid or any(one["status"] == _STATUS["BADSIG"] for one in found):
        return {"res": False, "message": "The signature could not be verified."}
    last = valid[-1]
    return {"res": True, "username": last["username"], "key_id": last["key_id"], "trust_level": last["trust_level"],
            "message": "The signature is verified."}


def _listed(value):
    return [str(one) for one in (value if isinstance(value, list) else [value] if value else [])]


def _by(found, some, every):
    ret = {"res": False, "message": "", "signatures": found}
    valid = {one["fingerprint"] for one in found if one["trust_level"] is not None}
    lacking = [signer for signer in every if signer not in valid]
    if some and not valid.intersection(some):
        ret["message"] = "None of the public keys listed in signed_by_any provided a valid signature"
    elif lacking:
        ret["message"] = "Public key %s has not provided a valid signature, but was listed in signed_by_all" % (
            lacking[0])
    else:
        ret.update(res=True, message="All required keys have provided a signature")
    return ret


def signatures(status):
    """The signatures that a status output of gpg tells of, in order; those that are not valid have no trust level.

    A valid one is ended by its trust; what comes before another NEWSIG without it, is not valid.
    """
    found, current = [], {}
    for line in status.split("\n"):
        words = line.split(" ")
        if words[0] != "[GNUPG:]" or len(words) < 2:
            continue
        key, rest = words[1], words[2:]
        if key == "NEWSIG":
            current = {}
        elif key in ("GOODSIG", "BADSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG", "ERRSIG"):
            current = {"key_id": rest[0] if rest else "", "fingerprint": None, "trust_level": None,
                       "username": " ".join(rest[1:]) if key != "ERRSIG" else None, "status": _STATUS[key]}
            found.append(current)
        elif key == "VALIDSIG" and current.get("status") == _STATUS["GOODSIG"]:
            current.update(fingerprint=rest[9] if len(rest) > 9 else rest[0], status="signature valid")
        elif key in TRUST and current.get("status") == "signature valid":
            current["trust_level"] = TRUST[key]
    return found


_STATUS = {
    "GOODSIG": "signature good", "BADSIG": "signature bad", "EXPSIG": "signature expired",
    "EXPKEYSIG": "signing key has expired", "REVKEYSIG": "signing key was revoked", "ERRSIG": "signature error",
}


def import_key(text=None, filename=None, user=None, gnupghome=None, keyring=None):
    """
    Import keys from a text or a file: ``{"res": bool, "message": text}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.import_key filename=/path/to/key
    """
    if not text and not filename:
        raise SaltInvocationError("filename or text must be passed.")
    if filename and not os.path.isfile(filename):
        raise SaltInvocationError("filename does not exist.")
    done = _gpg(["--import", "--"] + ([filename] if filename else []), user, gnupghome, keyring,
                text.encode("utf-8") if text else None)
    counts = [line.split(" ")[2:] for line in _text(done.stdout).split("\n") if line.startswith("[GNUPG:] IMPORT_RES ")]
    if not counts:
        return {"res": False, "message": "Unable to import key."}
    # count, no user id, imported, imported RSA, unchanged …
    imported, unchanged = int(counts[-1][2]), int(counts[-1][4])
    if imported:
        return {"res": True, "message": "Successfully imported key(s)."}
    if unchanged:
        return {"res": True, "message": "Key(s) already exist in keychain."}
    return {"res": False, "message": "Unable to import key."}


def list_keys(user=None, gnupghome=None, keyring=None):
    """
    The public keys: a list of ``{"keyid", "fingerprint", "uids", "created", "expires", "keyLength", ...}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.list_keys
    """
    return _keys("--list-keys", user, gnupghome, keyring)


def list_secret_keys(user=None, gnupghome=None, keyring=None):
    """
    The keys of which the secret part is there, as ``list_keys`` gives them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.list_secret_keys
    """
    return _keys("--list-secret-keys", user, gnupghome, keyring)


def get_key(keyid=None, fingerprint=None, user=None, gnupghome=None, keyring=None):
    """
    One public key, as ``list_keys`` gives it, or False

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.get_key keyid=3FAD9F1E
    """
    for key in list_keys(user, gnupghome, keyring):
        if fingerprint and key["fingerprint"] == fingerprint:
            return key
        if keyid and keyid in (key["keyid"], key["keyid"][-8:]):
            return key
    return False


_LETTERS = {"e": "Expired", "q": "Unknown", "n": "Not Trusted", "f": "Fully Trusted", "m": "Marginally Trusted",
            "u": "Ultimately Trusted", "r": "Revoked", "d": "Disabled", "-": "Unknown"}


def _keys(what, user, gnupghome, keyring):
    done = _gpg(["--with-colons", "--fixed-list-mode", "--with-fingerprint", what], user, gnupghome, keyring)
    found = []
    for line in _text(done.stdout).split("\n"):
        fields = line.split(":")
        if fields[0] in ("pub", "sec"):
            found.append({"keyid": fields[4], "fingerprint": "", "uids": [], "keyLength": fields[2]})
            found[-1].update(_days(fields))
            if fields[8]:
                found[-1]["ownerTrust"] = _LETTERS.get(fields[8], "Unknown")
            if fields[1]:
                found[-1]["trust"] = _LETTERS.get(fields[1], "Unknown")
        elif fields[0] == "fpr" and found and not found[-1]["fingerprint"]:
            found[-1]["fingerprint"] = fields[9]
        elif fields[0] == "uid" and found:
            found[-1]["uids"].append(fields[9].replace("\\x3a", ":"))
    return found


def _days(fields):
    import time

    return {name: time.strftime("%Y-%m-%d", time.gmtime(int(fields[at])))
            for name, at in (("created", 5), ("expires", 6)) if fields[at].isdigit()}


def _gpg(argv, user, gnupghome, keyring, stdin=None):
    """The Result of gpg, its status lines on stdout. Raises CommandExecutionError when there is no such user."""
    if keyring and not isinstance(keyring, str):
        raise SaltInvocationError("Please pass keyring as a string. Multiple keyrings are not allowed")
    options = ["--status-fd", "1", "--no-tty", "--batch"]
    identity = None
    if user == "salt":
        gnupghome = gnupghome or "/etc/salt/gpgkeys"
    elif user:
        try:
            identity = process.Identity(user)
        except KeyError:
            raise SaltInvocationError("User %s does not exist" % user)
        gnupghome = gnupghome or os.path.join(os.path.expanduser("~" + user), ".gnupg")
    if gnupghome:
        options += ["--homedir", gnupghome]
        if not os.path.isdir(gnupghome):
            __salt__["file.mkdir"](gnupghome, user=user, mode="0700")
    if keyring:
        options += ["--no-default-keyring", "--keyring", keyring]
    env = dict(os.environ, LC_ALL="C")
    try:
        return process.run(["gpg"] + options + argv, env=env, stdin=stdin or b"", identity=identity)
    except OSError as exc:
        raise CommandExecutionError("gpg cannot be run: %s" % exc.strerror)


def _text(data):
    return data.decode("utf-8", "replace")
