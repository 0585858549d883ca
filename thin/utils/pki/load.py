"""Loads certificates, requests and revocation lists in any of the encodings and forms that Salt accepts."""

from thin.exceptions import SaltInvocationError
from thin.utils.pki import der, given, keys, pem
from thin.utils.pki.documents import Certificate, InvalidVersion, Request, RevocationList

_SIGNED_DATA, _DATA = "1.2.840.113549.1.7.2", "1.2.840.113549.1.7.1"


class Loaded(object):
    """``certificate``, its ``encoding``, the ``chain`` of further certificates; of PKCS#12 also ``name`` and
    ``key``."""

    def __init__(self, certificate, encoding, chain=(), name=None, key=None):
        self.certificate, self.encoding, self.chain = certificate, encoding, list(chain)
        self.name, self.key = name, key


def certificate(value, passphrase=None):
    return value if isinstance(value, Certificate) else certificate_as(value, passphrase).certificate


def certificate_as(value, passphrase=None):
    """A certificate as Loaded. Raises DeserializationError, InvalidPassword."""
    data = given.load(value)
    if pem.is_pem(data):
        return _from_pem(data)
    try:
        return Loaded(Certificate(data), "der")
    except ValueError:
        pass
    if keys.is_container(data):
        try:
            held = keys.container(data, passphrase)
            if held.certificate:
                chain = [Certificate(one) for one in held.others]
                return Loaded(Certificate(held.certificate), "pkcs12", chain, held.name, held.key)
        except (ValueError, given.DeserializationError):
            pass
    try:
        certificate_as = [Certificate(one) for one in unbundle(data)]
        return Loaded(certificate_as[0], "pkcs7_der", certificate_as[1:])
    except (IndexError, ValueError):
        raise given.CertDeserializationError("Could not deserialize binary data, neither as DER nor PKCS#7, PKCS#12.")


def _from_pem(data):
    try:
        blocks = pem.blocks(data)
    except ValueError:
        blocks = []
    if blocks and blocks[0][0] == "PKCS7":
        try:
            result = [Certificate(one) for one in unbundle(blocks[0][2])]
            return Loaded(result[0], "pkcs7_pem", result[1:])
        except (IndexError, ValueError):
            raise given.CertDeserializationError("Could not load PEM-encoded PKCS#7 blob")
    try:
        first = Certificate(blocks[0][2])
    except (IndexError, ValueError):
        raise given.CertDeserializationError("Could not load PEM-encoded certificate.")
    chain = []
    for kind, _, body in blocks[1:]:
        if kind.endswith("CERTIFICATE"):
            try:
                chain.append(Certificate(body))
            except ValueError:
                pass
    return Loaded(first, "pem", chain)


def revocation_list(value):
    return revocation_list_as(value)[0]


def revocation_list_as(value):
    """(RevocationList, encoding). Raises DeserializationError."""
    problem = given.CRLDeserializationError("Could not load %s-encoded certificate revocation list.")
    return _signed(value, RevocationList, ("X509 CRL",), problem)


def request(value):
    return request_as(value)[0]


def request_as(value):
    """(Request, encoding). Raises DeserializationError, InvalidVersion."""
    problem = given.CSRDeserializationError("Could not load %s-encoded certificate signing request.")
    return _signed(value, Request, ("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"), problem)


def _signed(value, kind, names, problem):
    if isinstance(value, kind):
        return value, None
    data, encoding = given.one(value, names, type(problem)(str(problem) % "PEM"))
    try:
        return kind(data), encoding
    except InvalidVersion:
        raise
    except ValueError:
        raise type(problem)(str(problem) % encoding.upper())


def public_key(value, passphrase=None):
    """The PublicKey of a public or private key, a certificate or a request. Raises SaltInvocationError."""
    from thin.exceptions import CommandExecutionError

    if isinstance(value, keys.PublicKey):
        return value
    if isinstance(value, (Certificate, Request)):
        return value.public
    if isinstance(value, keys.PrivateKey):
        return value.public
    for read in (
        keys.load_public,
        lambda one: certificate(one, passphrase).public,
        lambda one: keys.load_private(one, passphrase).public,
        lambda one: request(one).public,
    ):
        try:
            return read(value)
        except given.PasswordError as exc:
            raise CommandExecutionError(str(exc))
        except (SaltInvocationError, ValueError):
            continue
    raise CommandExecutionError("Could not load key as certificate, public key, private key or CSR")


def bundle(certificates):
    """PKCS#7 (DER) with only these certificates (DER)."""
    content = der.sequence(
        der.integer(1), der.set_of(), der.sequence(der.oid(_DATA)), der.context(0, *certificates), der.set_of()
    )
    return der.sequence(der.oid(_SIGNED_DATA), der.context(0, content))


def unbundle(data):
    """[DER of the certificates] in PKCS#7. Raises ValueError."""
    kind, content = der.read(data).items()
    if kind.oid() != _SIGNED_DATA:
        raise ValueError("no PKCS#7 with certificates")
    return [item.raw for part in content.inner().items() if part.tag == 0xA0 for item in part]
