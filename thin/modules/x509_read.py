"""Reads certificates, requests, revocation lists and keys: a part of ``x509``.

Salt: ``salt/modules/x509_v2.py``.
"""

from thin.utils.pki import build, given, keys, load, oids, shown

__virtualname__ = "x509"
__reads__ = (
    "expires",
    "expired",
    "will_expire",
    "get_private_key_size",
    "get_public_key",
    "read_certificate",
    "read_certificates",
    "read_crl",
    "read_csr",
    "verify_crl",
    "verify_private_key",
    "verify_signature",
)

_TIME = "%Y-%m-%d %H:%M:%S"


def __virtual__():
    return __virtualname__


def expires(certificate, days=0):
    """
    Whether a certificate expires within a number of days

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.expires /etc/pki/web01.crt days=21
    """
    import datetime

    return load.certificate(certificate).not_after <= build.utc_now() + datetime.timedelta(days=days)


def expired(certificate):
    """
    Return whether a certificate has expired: ``{path, cn, expired}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.expired /etc/pki/web01.crt
    """
    return dict(_about(certificate), expired=expires(certificate))


def will_expire(certificate, days):
    """
    Return whether a certificate will have expired in a number of days: ``{check_days, path, cn, will_expire}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.will_expire /etc/pki/web01.crt days=45
    """
    return dict(_about(certificate), check_days=days, will_expire=expires(certificate, days))


def get_private_key_size(private_key, passphrase=None):
    """
    Return the size of a private key in bits; None for ed25519 and ed448

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.get_private_key_size /etc/pki/web01.key
    """
    return keys.load_private(private_key, passphrase).size


def get_public_key(key, passphrase=None, asObj=None):
    """
    Return the public key (PEM) of a key, certificate or request

    passphrase
        The passphrase of an encrypted private key
    asObj
        Without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.get_public_key /etc/pki/web01.crt
    """
    return load.public_key(key, passphrase).pem().decode("ascii")


def read_certificate(certificate):
    """
    Return the data of a certificate: ``version``, ``key_type``, ``key_size``, ``serial_number``, ``fingerprints``,
    ``subject``, ``issuer``, ``not_before``, ``not_after``, ``public_key``, ``extensions``, ``signature_algorithm`` …

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.read_certificate /etc/pki/web01.crt
    """
    loaded = load.certificate(certificate)
    ret = {
        "version": loaded.version,
        "key_size": loaded.public.size,
        "key_type": loaded.public.type,
        "serial_number": shown.number(loaded.serial_number),
        "fingerprints": {digest: shown.hexed(loaded.fingerprint(digest)) for digest in ("sha1", "sha256")},
        "subject": loaded.subject.parts(),
        "subject_hash": shown.hexed(loaded.subject.hash()),
        "subject_str": loaded.subject.text(),
        "issuer": loaded.issuer.parts(),
        "issuer_hash": shown.hexed(loaded.issuer.hash()),
        "issuer_str": loaded.issuer.text(),
        "not_before": loaded.not_before.strftime(_TIME),
        "not_after": loaded.not_after.strftime(_TIME),
        "public_key": loaded.public.pem().decode("ascii"),
        "extensions": shown.all_of(loaded.extensions),
        "signature_algorithm": loaded.signature_name,
    }
    if not __opts__.get("fips_mode"):
        ret["fingerprints"]["md5"] = shown.hexed(loaded.fingerprint("md5"))
    return ret


def read_certificates(glob_path):
    """
    Return ``{path: data of the certificate}`` of the files that match a pattern

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.read_certificates '/srv/pki/*.crt'
    """
    return given.each(glob_path, read_certificate)


def read_crl(crl):
    """
    Return the data of a revocation list: ``issuer``, ``last_update``, ``next_update``, ``revoked_certificates``,
    ``extensions``, ``signature_algorithm``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.read_crl /srv/pki/app.crl
    """
    loaded = load.revocation_list(crl)
    return {
        "issuer": loaded.issuer.parts(),
        "last_update": loaded.last_update.strftime(_TIME),
        "next_update": loaded.next_update.strftime(_TIME) if loaded.next_update else None,
        "revoked_certificates": {
            shown.number(number).replace(":", ""): {
                "revocation_date": date.strftime(_TIME),
                "extensions": shown.all_of(more, oids.CRL_ENTRY),
            }
            for number, (date, more) in loaded.revoked.items()
        },
        "extensions": shown.all_of(loaded.extensions),
        "signature_algorithm": loaded.signature_name,
    }


def read_csr(csr):
    """
    Return the data of a request: ``key_type``, ``key_size``, ``subject``, ``public_key_hash``, ``extensions`` …

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.read_csr /etc/pki/web01.csr
    """
    loaded = load.request(csr)
    return {
        "key_size": loaded.public.size,
        "key_type": loaded.public.type,
        "subject": loaded.subject.parts(),
        "subject_hash": shown.hexed(loaded.subject.hash()),
        "subject_str": loaded.subject.text(),
        "public_key_hash": shown.hexed(loaded.public.digest()),
        "extensions": shown.all_of(loaded.extensions),
    }


def verify_crl(crl, cert):
    """
    Whether a revocation list was signed by the owner of a certificate (or key)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.verify_crl /srv/pki/app.crl /srv/pki/app.crt
    """
    return load.revocation_list(crl).verify(load.public_key(cert))


def verify_private_key(private_key, public_key, passphrase=None):
    """
    Whether a private key belongs to a public key, or to the one in a certificate

    passphrase
        The private key's

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.verify_private_key /etc/pki/web01.key /etc/pki/web01.crt
    """
    return keys.load_private(private_key, passphrase).public == load.public_key(public_key)


def verify_signature(certificate, signing_pub_key=None, signing_pub_key_passphrase=None):
    """
    Whether a certificate was signed by the owner of a key, by default that of the certificate itself

    signing_pub_key
        Public or private key, certificate or request; ``signing_pub_key_passphrase`` for an encrypted one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.verify_signature /etc/pki/web01.crt /srv/pki/app.crt
    """
    public = load.public_key(signing_pub_key or certificate, signing_pub_key_passphrase)
    return load.certificate(certificate).verify(public)


def _about(certificate):
    """{path, cn}, each if available."""
    ret = {"path": certificate} if given.is_file(certificate) else {}
    name = load.certificate(certificate).subject.first(oids.NAME_ATTRS["CN"])
    return dict(ret, cn=name) if name is not None else ret
