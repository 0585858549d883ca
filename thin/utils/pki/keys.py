"""Private and public keys: parses, generates and encodes them. openssl encrypts and decrypts.

``PublicKey.spki`` and ``PrivateKey.pkcs8`` are DER (SubjectPublicKeyInfo, PrivateKeyInfo).
"""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.pki import der, given, oids, openssl, pem

_SIZES = {"rsa": (2048, 3072, 4096), "ec": (256, 384, 521)}
_PASS, _NEW_PASS = "PUSHSALT_PASS_IN", "PUSHSALT_PASS_OUT"
_AES = ["-keypbe", "AES-256-CBC", "-certpbe", "AES-256-CBC", "-macalg", "sha256"]
_OLD = ["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1", "-iter", "50000"]
_PLAIN = ["-keypbe", "NONE", "-certpbe", "NONE"]


class PublicKey(object):
    """``type`` (rsa, ec, ed25519, ed448, or the object identifier of another), ``size`` in bits (rsa, ec), ``spki``."""

    def __init__(self, spki):
        """Raises ValueError if the bytes are no public key."""
        algorithm, self.bits = _parts(der.read(spki), der.BIT_STRING)
        self.spki = spki
        number = algorithm[0].expect(der.OID).oid()
        self.type = oids.KEY_TYPES.get(number, number)
        self.size = None
        if self.type == "rsa":
            self.size = der.read(self.bits.bits()).items()[0].number().bit_length()
        elif self.type == "ec":
            self.size = oids.CURVES.get(algorithm[1].oid() if algorithm[1].tag == der.OID else None)

    def __eq__(self, other):
        return isinstance(other, PublicKey) and self.spki == other.spki

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.spki)

    def digest(self):
        """SHA-1 of the key's bits, the usual key identifier in certificates."""
        import hashlib

        return hashlib.sha1(self.bits.bits()).digest()  # noqa: S324 - that is how it is defined

    def pem(self):
        return pem.armor("PUBLIC KEY", self.spki)


def _parts(item, tag):
    """([the algorithm's items], the key's Item)"""
    items = item.items()
    if len(items) < 2 or items[1].tag != tag:
        raise ValueError("bad DER: no key")
    return items[0].items(), items[1]


class PrivateKey(object):
    """``pkcs8``, and ``public``, its PublicKey; ``type`` and ``size`` are those of the PublicKey."""

    def __init__(self, data):
        """``data``: DER in any of the formats of private keys. Raises ValueError."""
        self.pkcs8 = _as_pkcs8(data)
        self._public = None

    @property
    def public(self):
        if self._public is None:
            spki = _public_of(self.pkcs8)
            if spki is None:
                spki = openssl.output(["pkey", "-inform", "DER", "-pubout", "-outform", "DER"], self.pkcs8)
            self._public = PublicKey(spki)
        return self._public

    @property
    def type(self):
        number = der.read(self.pkcs8).items()[1].items()[0].oid()
        return oids.KEY_TYPES.get(number, number)

    @property
    def size(self):
        return self.public.size


def _as_pkcs8(data):
    items = der.read(data).items()
    tags = [item.tag for item in items]
    if tags[:3] == [der.INTEGER, der.SEQUENCE, der.OCTET_STRING]:
        items[1].items()[0].expect(der.OID)
        return bytes(data)
    if len(items) >= 9 and set(tags[:9]) == {der.INTEGER}:
        algorithm = der.sequence(der.oid(oids.RSA), der.tlv(der.NULL))
    elif tags[:2] == [der.INTEGER, der.OCTET_STRING] and 0xA0 in tags:
        curve = next(item for item in items if item.tag == 0xA0).inner()
        algorithm = der.sequence(der.oid(oids.EC), curve.raw)
    else:
        raise ValueError("bad DER: no private key")
    return der.sequence(der.integer(0), algorithm, der.octets(bytes(data)))


def _public_of(pkcs8):
    """The SubjectPublicKeyInfo in a private key; None if it has to be computed."""
    _, algorithm, secret = der.read(pkcs8).items()[:3]
    kind = oids.KEY_TYPES.get(algorithm.items()[0].oid())
    if kind == "rsa":
        numbers = der.read(secret.body).items()
        return der.sequence(algorithm.raw, der.bits(der.sequence(numbers[1].raw, numbers[2].raw)))
    if kind == "ec":
        for item in der.read(secret.body):
            if item.tag == 0xA1:
                return der.sequence(algorithm.raw, item.inner().raw)
    return None


class Container(object):
    """The content of PKCS#12: ``key``, ``certificate`` and ``name`` (or None), ``others``: DER of certificates."""

    def __init__(self, blocks):
        keys = [(body, attributes) for kind, body, attributes in blocks if kind.endswith("PRIVATE KEY")]
        certificates = [(body, attributes) for kind, body, attributes in blocks if kind == "CERTIFICATE"]
        self.key = PrivateKey(keys[0][0]) if keys else None
        self.certificate = self.name = None
        self.others = []
        for body, attributes in certificates:
            if self.certificate is None and self.key and spki_of(body) == self.key.public.spki:
                self.certificate, self.name = body, attributes.get("friendlyName")
            else:
                self.others.append(body)


def spki_of(certificate):
    """The SubjectPublicKeyInfo in a certificate's DER."""
    items = der.read(certificate).items()[0].items()
    return items[6 if items[0].tag == 0xA0 else 5].raw


def is_container(data):
    """Whether these bytes look like PKCS#12."""
    try:
        items = der.read(data).items()
        return (
            len(items) > 1
            and items[0].tag == der.INTEGER
            and items[0].number() == 3
            and items[1].items()[0].tag == der.OID
        )
    except (IndexError, ValueError):
        return False


def container(data, passphrase):
    """The Container in PKCS#12 bytes. Raises InvalidPassword, DeserializationError."""
    argv = ["pkcs12", "-nodes", "-passin", "env:" + _PASS]
    if len(der.read(data).items()) < 3:
        argv.append("-nomacver")
    secrets = {_PASS: text(passphrase)}
    done = openssl.run(argv, data, secrets)
    if done.retcode and b"unsupported" in done.stderr:
        done = openssl.run(argv + ["-legacy"], data, secrets)
    if done.retcode:
        words = openssl.error_text(done)
        if "password" in words or "bad decrypt" in words or "Mac verify" in words:
            raise given.InvalidPassword()
        raise given.DeserializationError("Could not deserialize binary data as PKCS#12: %s" % words)
    return Container(_bags(done.stdout))


def _bags(shown):
    """[(kind, DER, {attribute: text})] from the output of ``openssl pkcs12``."""
    bags, attributes, lines, within = [], {}, [], False
    for line in shown.splitlines():
        if line.startswith(b"-----BEGIN"):
            lines, within = [], True
        if within:
            lines.append(line)
            if line.startswith(b"-----END"):
                kind, _, body = pem.blocks(b"\n".join(lines))[0]
                bags.append((kind, body, attributes))
                attributes, within = {}, False
        elif line.startswith(b"Bag Attributes"):
            attributes = {}
        elif line.startswith(b"    "):
            name, _, value = line.strip().decode("utf-8", "replace").partition(":")
            attributes[name] = value.strip()
    return bags


def make_container(key, certificates, passphrase=None, name=None, old=False):
    """PKCS#12 of a PrivateKey and certificates (DER), the key's own first. ``old``: with algorithms for old
    programs."""
    argv = ["pkcs12", "-export", "-inkey", "/dev/stdin"]
    argv += _PLAIN if passphrase is None else _OLD if old else _AES
    argv += ["-passout", "env:" + _NEW_PASS] + (["-name", name] if name else [])
    with openssl.Files() as files:
        if certificates:
            shown = b"".join(pem.armor("CERTIFICATE", one) for one in certificates)
            argv += ["-in", files.add("certificates", shown)]
        else:
            argv += ["-nocerts"]
        return openssl.output(argv, pem.armor("PRIVATE KEY", key.pkcs8), {_NEW_PASS: text(passphrase)})


def text(passphrase):
    if isinstance(passphrase, bytes):
        passphrase = passphrase.decode("utf-8")
    return "" if passphrase is None else str(passphrase)


def load_private(value, passphrase=None):
    """The PrivateKey in a value, see ``load_private_as``."""
    return load_private_as(value, passphrase)[0]


def load_private_as(value, passphrase=None):
    """(PrivateKey, its encoding: pem, der, pkcs12). Raises PasswordError, DeserializationError and other Salt
    errors."""
    if isinstance(value, PrivateKey):
        return value, None
    if isinstance(value, PublicKey):
        raise SaltInvocationError("Passed object is not a known private key, but PublicKey")
    data = given.load(value)
    if pem.is_pem(data):
        return _private_pem(data, passphrase), "pem"
    if is_container(data):
        held = container(data, passphrase)
        if not held.key:
            raise CommandExecutionError("PKCS12-encoded blob does not contain a private key.")
        return held.key, "pkcs12"
    try:
        items = der.read(data).items()
        encrypted = [item.tag for item in items] == [der.SEQUENCE, der.OCTET_STRING]
        key = None if encrypted else PrivateKey(data)
    except (IndexError, ValueError):
        raise given.PrivDeserializationError("Could not deserialize binary data, neither as DER nor PKCS#12.")
    return _opened(key, pem.armor("ENCRYPTED PRIVATE KEY", data), passphrase), "der"


def _private_pem(data, passphrase):
    problem = given.PrivDeserializationError("Could not load PEM-encoded private key")
    try:
        for kind, headers, body in pem.blocks(data):
            if kind == "ENCRYPTED PRIVATE KEY" or (kind.endswith(" PRIVATE KEY") and b"ENCRYPTED" in headers):
                return _opened(None, data, passphrase)
            if kind in ("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"):
                return _opened(PrivateKey(body), data, passphrase)
    except (IndexError, StopIteration, ValueError):
        raise problem
    raise problem


def _opened(key, encrypted, passphrase):
    """The key, decrypted by openssl if necessary."""
    if key is not None:
        if passphrase is not None:
            raise given.SuperfluousPassword()
        return key
    if passphrase is None:
        raise given.MissingPassword()
    done = openssl.run(["pkey", "-passin", "env:" + _PASS, "-outform", "DER"], encrypted, {_PASS: text(passphrase)})
    if done.retcode:
        raise given.InvalidPassword()
    return PrivateKey(done.stdout)


def load_public(value):
    """The PublicKey in a value. Raises SaltInvocationError."""
    if isinstance(value, PublicKey):
        return value
    if isinstance(value, PrivateKey):
        raise SaltInvocationError("Passed object is not a public key, but PrivateKey")
    data = given.load(value)
    encoding = "PEM" if pem.is_pem(data) else "DER"
    problem = given.PubDeserializationError("Could not load %s-encoded public key." % encoding)
    try:
        if encoding == "DER":
            return PublicKey(data)
        for kind, _, body in pem.blocks(data):
            if kind == "PUBLIC KEY":
                return PublicKey(body)
            if kind == "RSA PUBLIC KEY":
                algorithm = der.sequence(der.oid(oids.RSA), der.tlv(der.NULL))
                return PublicKey(der.sequence(algorithm, der.bits(body)))
    except (IndexError, ValueError):
        raise problem
    raise problem


def generate(algo="rsa", size=None):
    """A new PrivateKey. Raises SaltInvocationError."""
    if algo in _SIZES:
        size = size or _SIZES[algo][0]
        if size not in _SIZES[algo]:
            raise SaltInvocationError(
                "RSA key size must be either 2048, 3072 or 4096 bits."
                if algo == "rsa"
                else "EC key size must be either 256, 384, 521 bits."
            )
    argv = {
        "rsa": ["RSA", "-pkeyopt", "rsa_keygen_bits:%s" % size],
        "ec": ["EC", "-pkeyopt", "ec_paramgen_curve:P-%s" % size, "-pkeyopt", "ec_param_enc:named_curve"],
        "ed25519": ["ED25519"],
        "ed448": ["ED448"],
    }.get(algo)
    if argv is None:
        raise SaltInvocationError(
            "Invalid algorithm specified for generating private key: %s. Valid: rsa, ec, ed25519, ed448" % algo
        )
    return PrivateKey(openssl.output(["genpkey", "-outform", "DER", "-algorithm"] + argv))


def encode_private(key, encoding="pem", passphrase=None, old=False):
    """The bytes of a private key as pem or der (PKCS#8), or pkcs12; encrypted if there is a passphrase."""
    if encoding == "pkcs12":
        return make_container(key, [], passphrase, old=old)
    data, kind = key.pkcs8, "PRIVATE KEY"
    if passphrase is not None:
        kind = "ENCRYPTED PRIVATE KEY"
        argv = ["pkcs8", "-topk8", "-inform", "DER", "-outform", "DER", "-v2", "aes-256-cbc"]
        data = openssl.output(argv + ["-passout", "env:" + _NEW_PASS], data, {_NEW_PASS: text(passphrase)})
    return pem.armor(kind, data) if encoding == "pem" else data
