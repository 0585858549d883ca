"""Signing, encryption and decryption of text and files by GnuPG. Salt: ``salt/modules/gpg.py``.

``use_passphrase``: the key is protected by the passphrase in the pillar ``gpg_passphrase``.
"""

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.files import safepath
from thin.utils.programs import gnupg

__virtualname__ = "gpg"
__reads_unless__ = {"sign": {"output": ()}, "encrypt": {"output": ()}, "decrypt": {"output": ()}}

log = getLogger(__name__)


def __virtual__():
    return __virtualname__ if process.which("gpg") else (False, "the program gpg is not there")


def sign(
    user=None, keyid=None, text=None, filename=None, output=None, use_passphrase=False, gnupghome=None, keyring=None
):
    """
    Return a text or a file with an appended signature

    output
        A file to write the result to

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.sign text='Release 2.1 of app'
    """
    data = _data(text, filename)
    command = ["--clearsign"] + (["--default-key", str(keyid)] if keyid else [])
    gpg = gnupg.Gpg(user, gnupghome, keyring, reads=True)
    done = gpg.run(command, data, passphrase=_passphrase(use_passphrase), status="2")
    if done.retcode:
        log.error("%s", gnupg.messages(done))
    if output and filename:
        _write(output, done.stdout)
    return gnupg.plain(done.stdout)


def encrypt(
    user=None,
    recipients=None,
    text=None,
    filename=None,
    output=None,
    sign=None,
    use_passphrase=False,
    always_trust=False,
    gnupghome=None,
    bare=False,
    keyring=None,
):
    """
    Encrypt a text or the content of a file: ``{"res": bool, "comment": text}``; with ``bare`` only the text, or False

    recipients
        Ids or fingerprints of keys, as a list or separated by commas
    sign
        True, or the id of the key to sign with
    output
        A file to write it to

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.encrypt text='Release 2.1 of app' recipients=ada@example.org
    """
    data = _data(text, filename)
    names = recipients.split(",") if isinstance(recipients, str) else [str(one) for one in recipients or ()]
    command = ["--encrypt", "--armor"]
    for name in names:
        command += ["--recipient", name]
    if sign:
        command += ["--sign"] + (["--default-key", str(sign)] if sign is not True else [])
    command += ["--trust-model", "always"] if always_trust else []
    secret = _passphrase(use_passphrase) if sign else None
    return _answer(gnupg.Gpg(user, gnupghome, keyring, reads=True), command, data, secret, output, bare, "Encrypted")


def decrypt(
    user=None, text=None, filename=None, output=None, use_passphrase=False, gnupghome=None, bare=False, keyring=None
):
    """
    Decrypt a text or the content of a file: ``{"res": bool, "comment": text}``; with ``bare`` only the text, or False

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gpg.decrypt filename=/srv/releases/notes.txt.gpg
    """
    data, secret = _data(text, filename), _passphrase(use_passphrase)
    output = output if filename else None
    gpg = gnupg.Gpg(user, gnupghome, keyring, reads=True)
    return _answer(gpg, ["--decrypt"], data, secret, output, bare, "Decrypted")


# Private functions


def _answer(gpg, command, data, passphrase, output, bare, what):
    done = gpg.run(command, data, passphrase=passphrase, status="2")
    if done.retcode:
        log.error("%s", gnupg.messages(done))
        return False if bare else {"res": False, "comment": "%s.\n%s" % (_trouble(done), gnupg.messages(done))}
    if output:
        _write(output, done.stdout)
    if bare:
        return gnupg.plain(done.stdout)
    comment = "%s data has been written to %s" % (what, output) if output else gnupg.plain(done.stdout)
    return {"res": True, "comment": comment}


def _trouble(done):
    for word, text in (
        ("INV_RECP", "invalid recipient"),
        ("INV_SGNR", "invalid signer"),
        ("NO_RECP", "no recipients"),
        ("BAD_PASSPHRASE", "bad passphrase"),
        ("NO_SECKEY", "no secret key"),
        ("DECRYPTION_FAILED", "decryption failed"),
    ):
        if gnupg.status(done, word):
            return text
    return "failed"


def _data(text, filename):
    if text:
        return text if isinstance(text, bytes) else str(text).encode("utf-8")
    if not filename:
        raise SaltInvocationError("filename or text must be passed.")
    try:
        with open(filename, "rb") as stream:
            return stream.read()
    except OSError as exc:
        raise CommandExecutionError("Cannot read %s: %s" % (filename, exc.strerror))


def _passphrase(wanted):
    if not wanted:
        return None
    secret = __salt__["pillar.get"]("gpg_passphrase", unmask=True)
    if not secret:
        raise SaltInvocationError("gpg_passphrase not available in pillar.")
    return str(secret)


def _write(path, data):
    try:
        with open(path, "wb", opener=safepath.opener) as stream:
            stream.write(data)
    except OSError as exc:
        raise CommandExecutionError("Cannot write %s: %s" % (path, exc.strerror))
