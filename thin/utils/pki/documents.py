"""Parses certificates, requests and revocation lists from DER. Raises ValueError for invalid data.

``extensions`` of each is {object identifier: (critical, DER of the value)}, in order.
"""

from thin.utils.pki import der, names, oids, pem, signing
from thin.utils.pki.keys import PublicKey

_REQUESTED = ("1.2.840.113549.1.9.14", "1.3.6.1.4.1.311.2.1.14")


class InvalidVersion(ValueError):
    """A request with a version other than 1, as Salt's x509 module once made them."""


class Signed(object):
    """A signed structure: ``raw`` and ``tbs`` (the signed part) as DER."""

    kind = None

    def __init__(self, data):
        items = der.read(data).items()
        if len(items) != 3:
            raise ValueError("bad DER: nothing that was signed")
        self.raw, self.tbs = bytes(data), items[0].raw
        self.algorithm, self.signature = items[1], items[2].bits()
        try:
            self.read(items[0].items())
        except (IndexError, StopIteration):
            raise ValueError("bad DER: something is missing")

    def read(self, items):
        raise NotImplementedError

    @property
    def signature_name(self):
        return signing.digest_of(self.algorithm)[0]

    @property
    def digest(self):
        """The digest of the signature, with openssl's name; None for ed25519 and ed448."""
        return signing.digest_of(self.algorithm)[1]

    def verify(self, public):
        """Whether the signature was made with the private key of this PublicKey."""
        return signing.verify(public, self.algorithm, self.signature, self.tbs)

    def pem(self):
        return pem.armor(self.kind, self.raw)

    def encoded(self, encoding):
        return self.pem() if encoding == "pem" else self.raw


class Certificate(Signed):
    kind = "CERTIFICATE"

    def read(self, items):
        self.version = items.pop(0).inner().number() + 1 if items[0].tag == 0xA0 else 1
        self.serial_number = items[0].expect(der.INTEGER).number()
        self.issuer = names.read(items[2])
        self.not_before, self.not_after = [item.time() for item in items[3].items()]
        self.subject = names.read(items[4])
        self.public = PublicKey(items[5].raw)
        self.extensions = {}
        for item in items[6:]:
            if item.tag == 0xA3:
                self.extensions = extensions(item.inner())

    def fingerprint(self, digest):
        import hashlib

        return hashlib.new(digest, self.raw).digest()


class Request(Signed):
    kind = "CERTIFICATE REQUEST"

    def read(self, items):
        version = items[0].expect(der.INTEGER).number()
        if version:
            raise InvalidVersion("%d is not a valid CSR version" % version)
        self.subject = names.read(items[1])
        self.public = PublicKey(items[2].raw)
        self.extensions = {}
        for item in items[3:]:
            for attribute in item.items(0xA0):
                number, values = attribute.items()
                if number.oid() in _REQUESTED:
                    self.extensions = extensions(values.items(der.SET)[0])


class RevocationList(Signed):
    """``revoked``: {serial number: (date, extensions)}."""

    kind = "X509 CRL"

    def read(self, items):
        if items[0].tag == der.INTEGER:
            items.pop(0)
        self.issuer = names.read(items[1])
        self.last_update = items[2].time()
        rest = items[3:]
        self.next_update = rest.pop(0).time() if rest and rest[0].tag in (der.UTC_TIME, der.GENERALIZED_TIME) else None
        self.revoked, self.extensions = {}, {}
        for item in rest:
            if item.tag == 0xA0:
                self.extensions = extensions(item.inner())
                continue
            for entry in item.items():
                fields = entry.items()
                more = extensions(fields[2]) if len(fields) > 2 else {}
                self.revoked[fields[0].expect(der.INTEGER).number()] = (fields[1].time(), more)


def extensions(item):
    """{object identifier: (critical, DER)} of a sequence of extensions. Raises ValueError."""
    extensions = {}
    for extension in item.items():
        parts = extension.items()
        critical = parts[1].tag == der.BOOLEAN and parts[1].body != b"\0"
        number = parts[0].expect(der.OID).oid()
        if number in extensions:
            raise ValueError("bad DER: the extension %s twice" % number)
        extensions[number] = (critical, parts[-1].expect(der.OCTET_STRING).body)
    return extensions


def extensions_der(values):
    """The DER of {object identifier: (critical, DER)}."""
    return der.sequence(
        *[
            der.sequence(der.oid(number), der.boolean(True) if critical else b"", der.octets(value))
            for number, (critical, value) in values.items()
        ]
    )


def compare(current, wanted):
    """``{added, changed, removed: [names]}`` of two dicts of extensions."""
    return {
        "added": [oids.shown(number) for number in wanted if number not in current],
        "changed": [oids.shown(number) for number in wanted if number in current and current[number] != wanted[number]],
        "removed": [oids.shown(number) for number in current if number not in wanted],
    }
