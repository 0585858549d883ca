"""Signatures by RSA, ECDSA and EdDSA keys, made and checked by openssl(1). Salt: ``salt/modules/asymmetric.py``."""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.files import osutil, safepath

__reads__ = ("verify",)
__reads_unless__ = {"sign": {"path": ()}}

log = getLogger(__name__)

#: where a private key that is given as text is stored temporarily: not on a disk
_MEMORY = "/dev/shm"

#: Options of ``openssl dgst`` for RSA: PSS; the longest salt for signing, any salt for checking.
_PSS = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-2"]


def __virtual__():
    return True if process.which("openssl") else (False, "the program openssl is not there")


def sign(privkey, passphrase=None, text=None, filename=None, digest=None, raw=None, path=None):
    """
    Return the signature of a text or a file in base64, or with ``raw`` as bytes

    privkey
        PEM text, path or URL of the private key
    passphrase
        The key's, if it is encrypted
    digest
        What to hash with (RSA and ECDSA), sha256 by default
    path
        A file to write the signature to, as bytes unless ``raw`` is False; the return says so

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' asymmetric.sign /srv/key.pem filename=/srv/file
    """
    import base64

    if text is None and not filename:
        raise SaltInvocationError("Either `text` or `filename` is required")
    if text is None and not os.path.exists(filename):
        raise CommandExecutionError("Path '%s' does not exist" % filename)
    folder = osutil.mkdtemp(_MEMORY if os.path.isdir(_MEMORY) else None)
    try:
        if text is not None:
            filename = _write(folder, "data", text if isinstance(text, bytes) else text.encode("utf-8"))
        argv = _signing(privkey, passphrase, os.path.abspath(filename), _digest(digest), folder)
        done = process.run(["openssl"] + argv, cwd=folder, stdin=_secret(passphrase))
        if done.retcode:
            raise CommandExecutionError("Could not sign: %s" % _output(done))
        with open(os.path.join(folder, "signature"), "rb") as handle:
            signature = handle.read()
    finally:
        osutil.rmtree(folder, ignore_errors=True)
    if not (bool(path) if raw is None else raw):
        signature = base64.b64encode(signature)
        if not path:
            return signature.decode("ascii")
    if path:
        with open(path, "wb", opener=safepath.opener) as handle:
            handle.write(signature)
        return "Signature written to '%s'" % path
    return signature


def verify(
    text=None, filename=None, pubkey=None, signature=None, digest=None, signed_by_any=None, signed_by_all=None, **kwargs
):
    """
    Whether a text or a file was signed: ``{"res": bool, "message": text}``, as ``gpg.verify`` gives it

    Keys are PEM text, paths or URLs; signatures base64 text, paths or URLs of raw or base64 bytes. One ``pubkey``
    takes one ``signature``; ``signed_by_any`` and ``signed_by_all`` take lists of keys and any number of signatures.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' asymmetric.verify filename=/srv/file signature=/srv/file.sig pubkey=/srv/pub.pem
    """
    if text and filename:
        raise SaltInvocationError("`text` and `filename` arguments are mutually exclusive")
    if not signature:
        raise SaltInvocationError("Missing `signature` parameter")
    if not text and not filename:
        raise SaltInvocationError("Missing data to verify. Either specify `text` or `filename`")
    if filename and not os.path.exists(filename):
        raise CommandExecutionError("Path '%s' does not exist" % filename)
    if pubkey and (signed_by_any or signed_by_all):
        raise SaltInvocationError("Either specify pubkey + signature or signed_by_(any|all)")
    if not (pubkey or signed_by_any or signed_by_all):
        raise SaltInvocationError("Missing pubkey(s) to check against")
    if pubkey and not isinstance(signature, (str, bytes)):
        raise SaltInvocationError("`signature` must be a string or bytes when verifying a single signing `pubkey`")
    folder = osutil.mkdtemp()
    try:
        if text:
            filename = _write(folder, "data", text if isinstance(text, bytes) else text.encode("utf-8"))
        signatures = [_signature(folder, number, one) for number, one in enumerate(_listed(signature))]
        signatures = [path for path in signatures if path]
        if not signatures:
            raise CommandExecutionError("Unable to locate any of the provided signatures")
        digest = _digest(digest)
        some, every = _listed(signed_by_any), _listed(signed_by_all)
        return _verdict(os.path.abspath(filename), signatures, pubkey, some, every, digest, folder)
    finally:
        osutil.rmtree(folder, ignore_errors=True)


def _digest(name):
    digest = str(name or "sha256").lower().replace("-", "")
    if not digest.isalnum():
        raise SaltInvocationError("Invalid digest: %s" % digest)
    return digest


def _secret(passphrase):
    return ((passphrase or "") + "\n").encode("utf-8")


def _signing(privkey, passphrase, filename, digest, folder):
    """The arguments of openssl for signing with this key."""
    given = _fetch(privkey)
    path = given if isinstance(given, str) and os.path.isfile(given) else _write(folder, "key.pem", _bytes(given))
    look = ["openssl", "pkey", "-in", path, "-noout", "-text_pub", "-passin", "stdin"]
    done = process.run(look, cwd=folder, stdin=_secret(passphrase))
    if done.retcode:
        raise CommandExecutionError("Could not load the private key: %s" % _output(done))
    kind = _kind(done.stdout)
    if kind == "ed":
        words = ["pkeyutl", "-sign", "-inkey", path, "-rawin", "-in", filename]
    else:
        words = ["dgst", "-" + digest, "-sign", path] + (_PSS if kind == "rsa" else [])
    out = ["-passin", "stdin", "-out", os.path.join(folder, "signature")]
    return words + out + ([] if kind == "ed" else [filename])


def _listed(value):
    return value if isinstance(value, list) else [value] if value else []


def _verdict(filename, signatures, pubkey, some, every, digest, folder):
    def good(key):
        """The signatures that are valid for this key."""
        return [path for path in signatures if _signed(filename, path, key, digest, folder)]

    if some and not any(good(key) for key in some):
        return {"res": False, "message": "None of the public keys listed in signed_by_any provided a valid signature"}
    for key in [pubkey] if pubkey else every:
        is_good = good(key)
        if not is_good:
            what = "Failed checking signature" if pubkey else "Failed while checking `signed_by_all`"
            return {"res": False, "message": "%s: Invalid signature for key %s" % (what, _fingerprint(key, folder))}
        signatures = [path for path in signatures if path not in is_good]
    return {
        "res": True,
        "message": "The signature is valid" if pubkey else "All required keys have provided a signature",
    }


def _write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb", opener=safepath.opener) as handle:
        handle.write(data)
    return path


def _fetch(source):
    """The path of a URL's copy, or the value itself: a path or contents."""
    if isinstance(source, str) and "://" in source.split("\n", 1)[0]:
        path = __salt__["cp.cache_file"](source)
        if not path:
            raise CommandExecutionError("Failed fetching '%s'" % source)
        return path
    return source


def _bytes(source):
    source = _fetch(source)
    if isinstance(source, str) and "\n" not in source and os.path.isfile(source):
        with open(source, "rb") as handle:
            return handle.read()
    return source if isinstance(source, bytes) else str(source).encode("utf-8")


def _signature(folder, number, source):
    """The path of a file with the raw signature; None if it cannot be fetched."""
    import base64
    import binascii

    try:
        data = _bytes(source)
    except CommandExecutionError as exc:
        log.error("%s", exc)
        return None
    try:
        plain = base64.b64decode(data, validate=False)
        if base64.b64encode(plain) == data.replace(b"\n", b""):
            data = plain
    except (binascii.Error, ValueError):
        pass
    return _write(folder, "signature%d" % number, data)


def _key(source, folder):
    """(path of the PEM file, "rsa", "ec" or "ed") of a public key. Raises CommandExecutionError."""
    path = _write(folder, "key.pem", _bytes(source))
    done = process.run(["openssl", "pkey", "-pubin", "-in", path, "-noout", "-text_pub"])
    if done.retcode:
        raise CommandExecutionError("Could not load the public key: %s" % _output(done))
    return path, _kind(done.stdout)


def _kind(shown):
    text = shown.decode("utf-8", "replace")
    if text.upper().startswith("ED"):
        return "ed"
    return "rsa" if "Modulus:" in text else "ec"


def _signed(filename, signature, key, digest, folder):
    """Whether the signature is valid; False for an invalid key."""
    try:
        path, kind = _key(key, folder)
    except CommandExecutionError as exc:
        log.error("%s", exc)
        return False
    if kind == "ed":
        argv = ["pkeyutl", "-verify", "-pubin", "-inkey", path, "-rawin", "-in", filename, "-sigfile", signature]
    else:
        argv = ["dgst", "-" + digest, "-verify", path, "-signature", signature]
        argv += (_PSS if kind == "rsa" else []) + [filename]
    done = process.run(["openssl"] + argv, cwd=folder)
    if done.retcode:
        log.info("%s", _output(done))
    return done.retcode == 0


def _fingerprint(key, folder):
    import hashlib

    try:
        done = process.run(["openssl", "pkey", "-pubin", "-in", _key(key, folder)[0], "-outform", "DER"])
    except CommandExecutionError as exc:
        return "(%s)" % exc
    return hashlib.sha256(done.stdout).hexdigest()


def _output(done):
    return (done.stderr or done.stdout).decode("utf-8", "replace").strip()
