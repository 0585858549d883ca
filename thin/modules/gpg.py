"""Keys and signatures of GnuPG, by gpg(1). Salt: ``salt/modules/gpg.py``."""

from thin import process
from thin.exceptions import SaltInvocationError
from thin.log import getLogger
from thin.utils.files import osutil
from thin.utils.programs import gnupg

__reads__ = ("verify", "signatures", "list_keys", "list_secret_keys", "get_key")
__changes__ = ("import_key",)

log = getLogger(__name__)

TRUST = {
    "TRUST_UNDEFINED": "Undefined",
    "TRUST_NEVER": "Never",
    "TRUST_MARGINAL": "Marginal",
    "TRUST_FULLY": "Fully",
    "TRUST_ULTIMATE": "Ultimate",
}
TRUST_MODELS = ("pgp", "classic", "tofu", "tofu+pgp", "direct", "always", "auto")


def __virtual__():
    return True if process.which("gpg") else (False, "the program gpg is not there")


def verify(
    text=None,
    user=None,
    filename=None,
    gnupghome=None,
    signature=None,
    trustmodel=None,
    signed_by_any=None,
    signed_by_all=None,
    keyring=None,
):
    """
    Whether a text or a file is signed: ``{"res": bool, "message": text, ...}``

    ``signature``: the file of a detached signature. ``signed_by_any`` and ``signed_by_all`` are fingerprints of primary
    keys whose signatures must be valid; the trust in these keys does not matter.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.verify filename=/srv/releases/app-2.1.tar.gz
    """
    if trustmodel and trustmodel not in TRUST_MODELS:
        message = "Invalid trustmodel defined: %s. Use one of: %s" % (trustmodel, ", ".join(TRUST_MODELS))
        log.warning("%s", message)
        return {"res": False, "message": message}
    if not text and not filename:
        raise SaltInvocationError("filename or text must be passed.")
    signers = bool(signed_by_any or signed_by_all)
    argv = ["--trust-model", trustmodel] if trustmodel else []
    # In batch mode gpg stops at the first bad signature; here all of them are needed.
    argv += ["--no-batch"] if signers else []
    argv += ["--verify", "--"]
    gpg = gnupg.Gpg(user, gnupghome, keyring, reads=True)
    if text:
        done = gpg.run(argv + ["-"], text.encode("utf-8"))
    else:
        done = gpg.run(argv + ([signature] if signature else []) + [filename])
    signed = signatures(gnupg.text(done.stdout))
    if signers:
        return _by(signed, _listed(signed_by_any), _listed(signed_by_all))
    valid = [one for one in signed if one["trust_level"] is not None]
    if not valid or any(one["status"] == _STATUS["BADSIG"] for one in signed):
        return {"res": False, "message": "The signature could not be verified."}
    last = valid[-1]
    return {
        "res": True,
        "username": last["username"],
        "key_id": last["key_id"],
        "trust_level": last["trust_level"],
        "message": "The signature is verified.",
    }


def _listed(value):
    return [str(one) for one in (value if isinstance(value, list) else [value] if value else [])]


def _by(signed, some, every):
    ret = {"res": False, "message": "", "signatures": signed}
    valid = {one["fingerprint"] for one in signed if one["trust_level"] is not None}
    lacking = [signer for signer in every if signer not in valid]
    if some and not valid.intersection(some):
        ret["message"] = "None of the public keys listed in signed_by_any provided a valid signature"
    elif lacking:
        ret["message"] = (
            "Public key %s has not provided a valid signature, but was listed in signed_by_all" % (lacking[0])
        )
    else:
        ret.update(res=True, message="All required keys have provided a signature")
    return ret


def signatures(status):
    """The signatures in a status output of gpg, in order; invalid ones have no trust level.

    The record of a valid signature ends with its trust level. A signature without one before the next NEWSIG is
    invalid.
    """
    signatures, current = [], {}
    for line in status.split("\n"):
        words = line.split(" ")
        if words[0] != "[GNUPG:]" or len(words) < 2:
            continue
        key, rest = words[1], words[2:]
        if key == "NEWSIG":
            current = {}
        elif key in ("GOODSIG", "BADSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG", "ERRSIG"):
            current = {
                "key_id": rest[0] if rest else "",
                "fingerprint": None,
                "trust_level": None,
                "username": " ".join(rest[1:]) if key != "ERRSIG" else None,
                "status": _STATUS[key],
            }
            signatures.append(current)
        elif key == "VALIDSIG" and current.get("status") == _STATUS["GOODSIG"]:
            current.update(fingerprint=rest[9] if len(rest) > 9 else rest[0], status="signature valid")
        elif key in TRUST and current.get("status") == "signature valid":
            current["trust_level"] = TRUST[key]
    return signatures


_STATUS = {
    "GOODSIG": "signature good",
    "BADSIG": "signature bad",
    "EXPSIG": "signature expired",
    "EXPKEYSIG": "signing key has expired",
    "REVKEYSIG": "signing key was revoked",
    "ERRSIG": "signature error",
}


def import_key(text=None, filename=None, user=None, gnupghome=None, keyring=None, select=None):
    """
    Import keys from a text or a file into the keyring: ``{"res": bool, "message": text, "fingerprints": [...]}``

    select
        Ids or fingerprints of the keys to import, if there are several

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.import_key filename=/srv/keys/ada.asc
    """
    if not text and not filename:
        raise SaltInvocationError("filename or text must be passed.")
    if text and filename:
        raise SaltInvocationError("filename and text are mutually exclusive.")
    if filename:
        try:
            with open(filename, "rb") as stream:  # the user may have no permission to read it
                data = stream.read()
        except OSError:
            raise SaltInvocationError("filename does not exist.")
    else:
        data = text.encode("utf-8")
    if select:
        ret, data = _selected(data, _listed(select))
        if data is None:
            return ret
    return _import(gnupg.Gpg(user, gnupghome, keyring), data)


def _import(gpg, data):
    done = gpg.run(["--import"], data)
    fingerprints = [words[1] for words in gnupg.status(done, "IMPORT_OK") if len(words) > 1]
    ret = {"res": True, "message": "", "fingerprints": list(dict.fromkeys(fingerprints))}
    counts = gnupg.status(done, "IMPORT_RES")
    # count, no user id, imported, imported RSA, unchanged …
    if counts and int(counts[-1][2]):
        return dict(ret, message="Successfully imported key(s).")
    if counts and int(counts[-1][4]):
        return dict(ret, message="Key(s) already exist in keychain.")
    if counts and int(counts[-1][0]):
        return dict(ret, message="Key(s) updated in keychain.")
    return dict(ret, res=False, message="Unable to import key.")


def _selected(data, wanted):
    """(return, None) if none of the wanted keys is in the data, otherwise (None, the data of the wanted keys)."""
    folder = osutil.mkdtemp()
    try:
        gpg = gnupg.Gpg(gnupghome=folder)
        ret = _import(gpg, data)
        if not ret["res"]:
            return ret, None
        chosen = gpg.run(["--export", "--"] + wanted, status="2").stdout
    finally:
        osutil.rmtree(folder, ignore_errors=True)
    if chosen:
        return None, chosen
    return {"res": True, "message": "After filtering, no keys to import were left.", "fingerprints": []}, None


def list_keys(user=None, gnupghome=None, keyring=None):
    """
    The public keys: a list of ``{"keyid", "fingerprint", "uids", "created", "expires", "keyLength", "subkeys", ...}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.list_keys
    """
    return _keys("--list-keys", user, gnupghome, keyring)


def list_secret_keys(user=None, gnupghome=None, keyring=None):
    """
    Secret keys, in the format of ``list_keys``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.list_secret_keys
    """
    return _keys("--list-secret-keys", user, gnupghome, keyring)


def get_key(keyid=None, fingerprint=None, user=None, gnupghome=None, keyring=None):
    """
    One public key, in the format of ``list_keys``, or False

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.get_key keyid=8C5A17D2B94E60F3
    """
    for key in list_keys(user, gnupghome, keyring):
        if fingerprint and key["fingerprint"] == fingerprint:
            return key
        if keyid and keyid in (key["keyid"], key["keyid"][-8:]):
            return key
    return False


def _keys(what, user, gnupghome, keyring):
    return gnupg.Gpg(user, gnupghome, keyring, reads=True).keys([what])
