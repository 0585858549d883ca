"""Certificate authorities and server certificates for 127.0.0.1, made for a test."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


class Authority:
    """A certificate authority; its certificate is the file ``ca``."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._name = _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        made = self._built(self._name, self._key, 30).add_extension(x509.BasicConstraints(True, None), True)
        made = made.add_extension(_SIGNS, True)
        self.ca = folder / f"{name}.pem"
        self.ca.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def _built(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=90))
        # Python 3.13 requires both identifiers, and the usage of an authority's key (RFC 5280, 4.2.1)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return builder.add_extension(issuer, False).not_valid_after(now + datetime.timedelta(days=days))

    def server(self, name: str, *addresses: str, days: int = 30) -> tuple[Path, Path]:
        """Certificate and key of a server at these addresses, or 127.0.0.1.

        ``days``: from now to its end, negative for an expired one.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        given = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses or ("127.0.0.1",)]
        names = x509.SubjectAlternativeName(given)
        made = self._built(_name(name), key, days).add_extension(names, False).sign(self._key, hashes.SHA256())
        certificate, private = self._folder / f"{name}.pem", self._folder / f"{name}-key.pem"
        certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        private.write_bytes(_pem(key))
        return certificate, private
