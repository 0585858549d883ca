"""Creates revocation lists and changes their encoding: a part of ``x509``. Salt: ``salt/modules/x509_v2.py``."""

from thin.utils.pki import build, load, output, signing

__virtualname__ = "x509"
__reads__ = ("encode_crl",)
__changes__ = ("create_crl",)


def __virtual__():
    return __virtualname__


def create_crl(
    signing_private_key,
    revoked,
    signing_cert=None,
    signing_private_key_passphrase=None,
    include_expired=False,
    days_valid=None,
    digest="sha256",
    encoding="pem",
    extensions=None,
    path=None,
    raw=False,
    **kwargs,
):
    """
    Create a revocation list; returns it encoded, or writes it to ``path``

    signing_private_key
        Key that signs, with its ``signing_private_key_passphrase``
    revoked
        A list of dicts: ``certificate`` or ``serial_number``, ``not_after``, ``revocation_date``, ``extensions``
        (``certificateIssuer``, ``CRLReason``, ``invalidityDate``)
    signing_cert
        Certificate of the authority
    include_expired
        Keep expired certificates
    days_valid
        Days until the next list, 100 by default
    digest
        sha256 by default
    encoding
        pem or der
    extensions
        ``authorityKeyIdentifier``, ``authorityInfoAccess``, ``cRLNumber``, ``deltaCRLIndicator``, ``freshestCRL``,
        ``issuerAltName``, ``issuingDistributionPoint``
    path, raw
        As in ``x509.create_certificate``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.create_crl signing_private_key=/srv/pki/app.key signing_cert=/srv/pki/app.crt \\
            revoked="[{serial_number: '3B:0F:91:C2'}]"
    """
    output.no_more(kwargs, ("text",))
    output.check(encoding, output.PLAIN)
    signing.check_digest(digest)
    draft = build.revocation_list(
        signing_private_key,
        build.revocations(revoked),
        signing_cert,
        signing_private_key_passphrase,
        include_expired,
        100 if days_valid is None else days_valid,
        extensions,
    )
    out = encode_crl(draft.sign(digest), encoding, raw=bool(path) or raw)
    if path is None:
        return out
    if encoding == "pem":
        return __salt__["x509.write_pem"](out.decode("ascii"), path, pem_type="X509 CRL")
    output.write(path, out, 0o644)
    return "CRL written to %s" % path


def encode_crl(crl, encoding="pem", raw=False):
    """
    Return a revocation list as pem or der (base64, with ``raw`` bytes)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.encode_crl /srv/pki/app.crl der
    """
    output.check(encoding, output.PLAIN)
    return output.returned(load.revocation_list(crl).encoded(encoding), encoding, raw)
