"""Makes and verifies signatures of certificates, requests and revocation lists with openssl."""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.pki import der, libcrypto, oids, openssl, pem

DIGESTS = (
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512_224",
    "sha512_256",
    "sha3_224",
    "sha3_256",
    "sha3_384",
    "sha3_512",
)
_HASHES = {
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.4": "sha224",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}


def check_digest(digest):
    """Raise CommandExecutionError for a digest that Salt does not accept."""
    if digest.lower() not in DIGESTS:
        raise CommandExecutionError("Invalid value '%s' for digest. Valid: %s" % (digest, ", ".join(DIGESTS)))


def algorithm(key, digest):
    """The DER of the signature algorithm for a key and this digest. Raises CommandExecutionError."""
    kind = key.type
    digest = None if kind.startswith("ed") else digest.lower().replace("_", "-")
    number = oids.SIGNING.get((kind, digest))
    if number is None:
        raise CommandExecutionError("A signature by a key of type %s with the digest %s has no name" % (kind, digest))
    return der.sequence(der.oid(number), *([der.tlv(der.NULL)] if kind == "rsa" else []))


def sign(key, data, digest):
    """The signature (bytes) of a PrivateKey."""
    with openssl.Files() as files:
        path = files.add("data", data)
        secret = pem.armor("PRIVATE KEY", key.pkcs8)
        if key.type.startswith("ed"):
            argv = ["pkeyutl", "-sign", "-rawin", "-inkey", "/dev/stdin", "-in", path]
            done = openssl.run(argv, secret)
            if done.retcode and b"-rawin" in done.stderr:
                return libcrypto.sign(key.pkcs8, data)
        else:
            argv = ["dgst", "-" + digest.lower().replace("_", "-"), "-sign", "/dev/stdin", path]
            done = openssl.run(argv, secret)
        if done.retcode:
            raise CommandExecutionError("openssl could not sign: %s" % openssl.error_text(done))
        return done.stdout


def signed(key, tbs, digest):
    """The DER of the signed structure: a certificate, a request or a list."""
    return der.sequence(tbs, algorithm(key, digest), der.bits(sign(key, tbs, digest)))


def digest_of(item):
    """(name, digest or None) of an algorithm's Item."""
    number = item.items()[0].oid()
    name, _, digest = oids.SIGNATURES.get(number, (number, None, None))
    if number == oids.RSA_PSS:
        digest = _pss_digest(item) or digest
    return name, digest


def _pss_digest(item):
    items = item.items()
    for part in items[1] if len(items) > 1 else ():
        if part.tag == 0xA0:
            return _HASHES.get(part.inner().items()[0].oid())
    return "sha1"


def verify(public, item, signature, data):
    """Whether the private key of a PublicKey signed the data; ``item``: the algorithm's. Raises SaltInvocationError."""
    if public.type not in ("rsa", "ec", "ed25519", "ed448"):
        raise SaltInvocationError("Invalid public key type, can only process rsa, ec, ed25519, ed448")
    number = item.items()[0].oid()
    kind = oids.SIGNATURES.get(number, (None, None, None))[1]
    if kind != public.type:
        return False
    with openssl.Files() as files:
        key, path = files.add("key", public.pem()), files.add("data", data)
        given = files.add("signature", signature)
        if kind.startswith("ed"):
            argv = ["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", key, "-in", path, "-sigfile", given]
            done = openssl.run(argv)
            if done.retcode and b"-rawin" in done.stderr:
                return libcrypto.verify(public.spki, signature, data)
        else:
            argv = ["dgst", "-" + digest_of(item)[1], "-verify", key, "-signature", given]
            if number == oids.RSA_PSS:
                argv += ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-2"]
            done = openssl.run(argv + [path])
        return done.retcode == 0
