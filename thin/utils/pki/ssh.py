"""Keys and certificates of OpenSSH: parsed in Python; generated, signed and verified by ssh-keygen(1).

Passphrases are passed on its stdin; it runs in a session of its own, so that it has no terminal to prompt on. Its keys
are files in a private directory, in memory if possible.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import osutil, safepath
from thin.utils.pki import given, pem

MISSING = "The program ssh-keygen is not installed here, and is needed for this: install the package openssh-client"
_MEMORY = "/dev/shm"
_TYPES = {"ssh-rsa": "rsa", "ssh-dss": "dsa", "ssh-ed25519": "ed25519"}
_CURVES = {"nistp256": 256, "nistp384": 384, "nistp521": 521}
#: The number of fields that a certificate of each type has before the common ones.
_PARTS = {
    "ssh-rsa": 2,
    "ssh-dss": 4,
    "ssh-ed25519": 1,
    "ecdsa-sha2-nistp256": 2,
    "ecdsa-sha2-nistp384": 2,
    "ecdsa-sha2-nistp521": 2,
}
_CERTIFICATE = "-cert-v01@openssh.com"
_SIZES = {"rsa": (2048, 3072, 4096), "ec": (256, 384, 521), "ed25519": ()}
_NO_KEY = "Could not load OpenSSH private key"


class InvalidPassword(given.InvalidPassword):
    exception = "SaltInvocationError"


class MissingPassword(given.MissingPassword):
    exception = "SaltInvocationError"


class SuperfluousPassword(given.SuperfluousPassword):
    exception = "SaltInvocationError"
    words = "Password was given but private key is not encrypted"


class Wire(object):
    """A reader of SSH's wire format. Raises ValueError for truncated data."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        piece = self.data[self.at : self.at + size]
        if len(piece) != size:
            raise ValueError("bad SSH data: it ends too early")
        self.at += size
        return piece

    def number(self, size=4):
        return int.from_bytes(self.take(size), "big")

    def string(self):
        return self.take(self.number())

    def text(self):
        return self.string().decode("utf-8")

    def rest(self):
        return self.at < len(self.data)


def string(data):
    return len(data).to_bytes(4, "big") + data


class Public(object):
    """A public key: ``blob`` (wire format), ``type`` (rsa, ec, ed25519, dsa), ``size`` in bits (rsa, ec)."""

    def __init__(self, blob):
        wire = Wire(blob)
        self.blob, self.name = blob, wire.text()
        self.size = None
        if self.name.startswith("ecdsa-sha2-"):
            self.type, self.size = "ec", _CURVES.get(wire.text())
        elif self.name in _TYPES:
            self.type = _TYPES[self.name]
            if self.type == "rsa":
                wire.string()
                self.size = int.from_bytes(wire.string(), "big").bit_length()
        else:
            raise ValueError("unknown type of key: %s" % self.name)

    def __eq__(self, other):
        return isinstance(other, Public) and self.blob == other.blob

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.blob)

    def text(self):
        return _line(self.name, self.blob)


def _line(name, blob):
    import base64

    return "%s %s" % (name, base64.b64encode(blob).decode("ascii"))


class Private(object):
    """A private key: ``data`` (the file), its ``passphrase`` (None: not encrypted), and ``public``."""

    def __init__(self, data, passphrase, public):
        self.data, self.passphrase, self.public = data, passphrase, public
        self.type, self.size = public.type, public.size


class Certificate(object):
    """The data of a certificate, and ``text``, its line."""

    def __init__(self, blob):
        wire = Wire(blob)
        name = wire.text()
        plain = name[: -len(_CERTIFICATE)]
        if not name.endswith(_CERTIFICATE) or plain not in _PARTS:
            raise ValueError("no certificate")
        wire.string()  # a nonce
        key = [string(wire.string()) for _ in range(_PARTS[plain])]
        self.text = _line(name, blob)
        self.public = Public(string(plain.encode("ascii")) + b"".join(key))
        self.serial = wire.number(8)
        self.type = {1: "user", 2: "host"}.get(wire.number())
        self.key_id = wire.text()
        self.principals = []
        principals = Wire(wire.string())
        while principals.rest():
            self.principals.append(principals.text())
        self.valid_after, self.valid_before = wire.number(8), wire.number(8)
        self.critical_options, self.extensions = _options(wire.string()), _options(wire.string())
        wire.string()  # reserved
        self.signing_key = Public(wire.string())


def _options(data):
    """{name: value} of options; "" for one without a value."""
    options, wire = {}, Wire(data)
    while wire.rest():
        name, value = wire.text(), wire.string()
        options[name] = Wire(value).text() if value else ""
    return options


class Folder(object):
    """A private directory for keys, removed at the end of ``with``."""

    def __enter__(self):
        self.path = osutil.mkdtemp(_MEMORY if os.path.isdir(_MEMORY) and os.access(_MEMORY, os.W_OK) else None)
        return self

    def __exit__(self, *exc):
        osutil.rmtree(self.path, ignore_errors=True)

    def add(self, name, data):
        path = os.path.join(self.path, name)
        with safepath.at(path) as place:
            with os.fdopen(place.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
                handle.write(data)
        return path

    def read(self, name):
        with open(os.path.join(self.path, name), "rb") as handle:
            return handle.read()


def keygen(argv, passphrases=()):
    """The Result of ssh-keygen, which reads these passphrases in turn. Raises CommandExecutionError if it is
    missing."""
    env = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "SSH_ASKPASS")}
    env.update(LC_ALL="C", TZ="UTC", SSH_ASKPASS_REQUIRE="never")
    if not process.which("ssh-keygen"):
        raise CommandExecutionError(MISSING)
    alone = ["setsid"] if process.which("setsid") else []
    stdin = "".join("%s\n" % one for one in passphrases).encode("utf-8")
    return process.run(alone + ["ssh-keygen"] + argv, env=env, stdin=stdin)


def checked(done, what):
    """Raise CommandExecutionError if ssh-keygen failed; ``what`` says what it was to do."""
    if done.retcode:
        output = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise CommandExecutionError("ssh-keygen could not %s: %s" % (what, output))


def load(value):
    """The bytes of a path, a text or bytes. Raises SaltInvocationError."""
    if given.is_file(value):
        with open(value, "rb") as handle:
            return handle.read()
    if isinstance(value, str):
        return value.encode("utf-8")
    if not isinstance(value, bytes):
        raise SaltInvocationError(
            "Could not load provided source. You need to pass an existing file, string or raw bytes."
        )
    return value


def load_private(value, passphrase=None):
    """The Private key. Raises SaltInvocationError for a wrong passphrase, CommandExecutionError for an invalid key."""
    if isinstance(value, Private):
        return value
    data = load(value)
    try:
        body = next(body for kind, _, body in pem.blocks(data) if kind == "OPENSSH PRIVATE KEY")
        wire = Wire(body)
        if wire.take(15) != b"openssh-key-v1\0":
            raise ValueError("no key")
        encrypted = wire.string() != b"none"
        wire.string()
        wire.string()
        wire.number()
        public = Public(wire.string())
        wire.string()
    except (StopIteration, ValueError):
        raise CommandExecutionError(_NO_KEY)
    if not encrypted:
        if passphrase:
            raise SuperfluousPassword()
        return Private(data, None, public)
    if passphrase is None:
        raise MissingPassword()
    with Folder() as folder:
        done = keygen(["-y", "-f", folder.add("key", data.rstrip() + b"\n")], [passphrase])
    if done.retcode:
        raise InvalidPassword()
    return Private(data, str(passphrase), public)


def _from_line(data):
    """The blob in a line ``type base64 comment``. Raises ValueError."""
    import base64

    words = data.split(None, 2)
    if len(words) < 2:
        raise ValueError("no key")
    blob = base64.b64decode(words[1], validate=True)
    if Wire(blob).string() != words[0]:
        raise ValueError("no key")
    return blob


def load_public(value):
    """The Public key, for a certificate its own key. Raises CommandExecutionError."""
    if isinstance(value, Public):
        return value
    try:
        blob = _from_line(load(value))
        return Certificate(blob).public if _CERTIFICATE.encode("ascii") in blob[:64] else Public(blob)
    except ValueError:
        raise CommandExecutionError("Could not load OpenSSH public key.")


def load_certificate(value, verify=True):
    """The Certificate. Raises CommandExecutionError, unless ``verify`` is False also for an invalid signature."""
    if isinstance(value, Certificate):
        return value
    try:
        blob = _from_line(load(value))
        if _CERTIFICATE.encode("ascii") not in blob[:64]:
            name = Public(blob).type
        else:
            name, certificate = None, Certificate(blob)
    except ValueError:
        raise CommandExecutionError("Could not load OpenSSH certificate.")
    if name:
        raise SaltInvocationError("The data decoded to a public key (%s), not SSHCertificate" % name)
    if verify and not is_signed(certificate):
        raise CommandExecutionError("The signature on the SSH certificate was invalid")
    return certificate


def is_signed(certificate):
    """Whether the certificate has a valid signature of its signing key: ssh-keygen only shows such certificates."""
    with Folder() as folder:
        return keygen(["-L", "-f", folder.add("cert", certificate.text.encode("ascii") + b"\n")]).retcode == 0


def public_key(value, passphrase=None):
    """The Public key of a public key, a certificate or a private key. Raises CommandExecutionError."""
    if isinstance(value, Private):
        return value.public
    if isinstance(value, Certificate):
        return value.public
    for read in (load_public, lambda one: load_certificate(one).public):
        try:
            return read(value)
        except (CommandExecutionError, SaltInvocationError):
            continue
    try:
        return load_private(value, passphrase).public
    except given.PasswordError as exc:
        words = "Could not load key as certificate, public key or private key: %s" % exc
    except (CommandExecutionError, SaltInvocationError):
        words = "Could not load key as certificate, public key or private key"
    raise CommandExecutionError(words)


def generate(algo="rsa", size=None, passphrase=None):
    """A new Private key. Raises SaltInvocationError."""
    if algo not in _SIZES:
        raise SaltInvocationError(
            "Invalid algorithm specified for generating private key: %s. Valid: rsa, ec, ed25519" % algo
        )
    size = size or (_SIZES[algo] or [None])[0]
    if _SIZES[algo] and size not in _SIZES[algo]:
        raise SaltInvocationError(
            "RSA key size must be either 2048, 3072 or 4096 bits."
            if algo == "rsa"
            else "EC key size must be either 256, 384, 521 bits."
        )
    argv = ["-q", "-t", {"ec": "ecdsa"}.get(algo, algo), "-C", ""] + (["-b", str(size)] if size else [])
    with Folder() as folder:
        path = os.path.join(folder.path, "key")
        checked(keygen(argv + ["-N", "", "-f", path]), "generate a key")
        key = load_private(folder.read("key"))
    return key if passphrase is None else encrypted(key, passphrase)


def encrypted(key, passphrase):
    """The same key with another passphrase; None: without one."""
    if passphrase == key.passphrase:
        return key
    with Folder() as folder:
        path = folder.add("key", key.data.rstrip() + b"\n")
        old = [] if key.passphrase is None else [key.passphrase]
        if passphrase is None:
            argv, answers = ["-p", "-N", "", "-f", path], old
        else:
            argv, answers = ["-p", "-f", path], old + [passphrase, passphrase]
        checked(keygen(argv, answers), "encrypt the key")
        return Private(folder.read("key"), passphrase, key.public)
