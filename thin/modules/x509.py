"""X.509 certificates, requests, revocation lists and keys, with openssl(1). Salt: ``salt/modules/x509_v2.py``.

Keys and certificates are given as PEM, hexadecimal or base64 text, as bytes, or as the path of a file in any encoding.
Passphrases reach openssl in its environment, private keys on its stdin.

This file creates certificates, requests and keys, x509_revocation.py revocation lists. x509_read.py reads all of them.
"""

import os

from thin.exceptions import SaltInvocationError
from thin.log import getLogger
from thin.utils.pki import build, given, keys, load, oids, output, pem, policies, signing

__reads__ = (
    "encode_certificate",
    "encode_csr",
    "encode_private_key",
    "get_pem_entries",
    "get_pem_entry",
    "get_signing_policy",
)
__changes__ = (
    "create_certificate",
    "create_certificate_ssh",
    "create_csr",
    "create_private_key",
    "sign_remote_certificate",
    "write_pem",
)

log = getLogger(__name__)

_CERTIFICATES = ("der", "pem", "pkcs7_der", "pkcs7_pem", "pkcs12")
_KEYS = ("der", "pem", "pkcs12")


def create_certificate(
    ca_server=None,
    signing_policy=None,
    encoding="pem",
    append_certs=None,
    pkcs12_passphrase=None,
    pkcs12_encryption_compat=False,
    pkcs12_friendlyname=None,
    path=None,
    overwrite=True,
    raw=False,
    **kwargs,
):
    """
    Create a certificate; returns it encoded, or writes it to ``path``

    ca_server
        Not supported: it would need a request from one minion to another
    signing_policy
        Name of one of ``x509_signing_policies`` (pillar or configuration); arguments cannot override it
    encoding
        pem (default), der, pkcs7_pem, pkcs7_der or pkcs12; binary ones are returned as base64
    append_certs
        Certificates after the new one (not with der)
    pkcs12_passphrase
        Encrypts a pkcs12 container
    pkcs12_encryption_compat
        Use algorithms that old programs support
    pkcs12_friendlyname
        The certificate's name within the container
    path
        Write it to this file, and return a sentence
    overwrite
        False: keep an existing file
    raw
        Return bytes
    signing_private_key
        Key that signs; required here or in the policy. Its passphrase: ``signing_private_key_passphrase``
    signing_cert
        Certificate of the authority; without one, the certificate is self-signed
    private_key
        Key whose public half is certified (``private_key_passphrase``); else ``public_key``, else that of ``csr``
    csr
        A request; its extensions are used unless they are given as arguments
    subject
        The name: RFC 4514 text, a list of its parts, or a dict. Else of ``C``, ``ST``, ``L``, ``STREET``, ``O``,
        ``OU``, ``CN``, ``MAIL``, ``SN``, ``GN``, ``UID``, ``SERIALNUMBER``
    serial_number
        Number or hexadecimal text; random by default
    not_before, not_after
        ``YYYY-mm-dd HH:MM:SS`` in UTC; now, and ``days_valid`` (365) days later, by default
    digest
        sha256 by default
    copypath
        Also write it to this directory as ``SERIAL.crt``; ``prepend_cn``: as ``CN-SERIAL.crt``
    basicConstraints, keyUsage, extendedKeyUsage, subjectKeyIdentifier, authorityKeyIdentifier, subjectAltName, …
        Extensions, in openssl's syntax (``critical, CA:TRUE``), or as dicts and lists

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.create_certificate signing_private_key=/srv/pki/app.key CN=web01.example.org days_valid=30
    """
    if "algorithm" in kwargs:
        kwargs["digest"] = kwargs.pop("algorithm")
    kwargs = oids.short(kwargs)
    if "days_valid" not in kwargs and "not_after" not in kwargs:
        kwargs["days_valid"] = 365
    output.check(encoding, _CERTIFICATES)
    signing.check_digest(kwargs.get("digest", "sha256"))
    if encoding == "der" and append_certs:
        raise SaltInvocationError("Cannot encode a certificate chain in DER")
    if ca_server:
        raise SaltInvocationError(policies.REMOTE)
    if path and not overwrite and os.path.isfile(path):
        return "The file at %s exists and overwrite was set to false" % path
    kwargs = build.with_policy(_policy(signing_policy), kwargs)
    if not kwargs.get("signing_private_key"):
        raise SaltInvocationError("Creating a certificate locally at least requires a signing private key.")
    if encoding == "pkcs12" and "private_key" not in kwargs and "signing_cert" in kwargs:
        raise SaltInvocationError("Creating a PKCS12-encoded certificate without embedded private key is unsupported")
    certificate, key = _certificate(**kwargs)
    more = {}
    if encoding == "pkcs12":
        more = {
            "private_key": key,
            "pkcs12_passphrase": pkcs12_passphrase,
            "pkcs12_friendlyname": pkcs12_friendlyname,
            "pkcs12_encryption_compat": pkcs12_encryption_compat,
        }
    out = encode_certificate(certificate, encoding, append_certs, raw=bool(path) or raw, **more)
    if path is None:
        return out
    if encoding == "pem":
        return write_pem(out.decode("ascii"), path, overwrite=overwrite, pem_type="CERTIFICATE")
    output.write(path, out, 0o644)
    return "Certificate written to %s" % path


def _certificate(digest="sha256", copypath=None, prepend_cn=False, **kwargs):
    """(Certificate, PrivateKey that belongs to it or None)"""
    draft = build.certificate(**kwargs)
    certificate = draft.sign(digest)
    if copypath:
        name = certificate.subject.first(oids.NAME_ATTRS["CN"]) if prepend_cn else None
        if name and ("/" in name or "\0" in name):
            raise SaltInvocationError("prepend_cn: the common name %r cannot be part of a file's name" % name)
        name = "%s%x.crt" % (name + "-" if name else "", certificate.serial_number)
        write_pem(certificate.pem(), os.path.join(copypath, name), pem_type="CERTIFICATE")
    return certificate, draft.private_key


#: the name that salt-ssh uses
create_certificate_ssh = create_certificate


def encode_certificate(
    certificate,
    encoding="pem",
    append_certs=None,
    private_key=None,
    private_key_passphrase=None,
    pkcs12_passphrase=None,
    pkcs12_encryption_compat=False,
    pkcs12_friendlyname=None,
    raw=False,
):
    """
    Return a certificate in another encoding

    certificate
        What to encode
    encoding
        pem (default), der, pkcs7_pem, pkcs7_der or pkcs12; binary ones are returned as base64
    append_certs
        Certificates after it
    private_key
        The key that goes into a pkcs12 container, with its ``private_key_passphrase``
    pkcs12_passphrase, pkcs12_encryption_compat, pkcs12_friendlyname
        As in ``x509.create_certificate``
    raw
        Return bytes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.encode_certificate /etc/pki/web01.crt pkcs7_pem
    """
    output.check(encoding, _CERTIFICATES)
    if encoding == "der" and append_certs:
        raise SaltInvocationError("Cannot encode a certificate chain in DER")
    if encoding != "pkcs12" and private_key:
        raise SaltInvocationError("Embedding private keys is only supported for pkcs12 encoding")
    if encoding == "pkcs12" and not private_key:
        raise SaltInvocationError("Creating a PKCS12-encoded certificate without embedded private key is unsupported")
    append_certs = append_certs or []
    append_certs = append_certs if isinstance(append_certs, list) else [append_certs]
    result = [load.certificate(one) for one in [certificate] + append_certs]
    if encoding == "der":
        out = result[0].raw
    elif encoding == "pem":
        out = b"\n".join(one.pem() for one in result)
    elif encoding == "pkcs12":
        key = keys.load_private(private_key, private_key_passphrase)
        chain = [one.raw for one in result]
        out = keys.make_container(key, chain, pkcs12_passphrase, pkcs12_friendlyname, pkcs12_encryption_compat)
    else:
        out = load.bundle([one.raw for one in result])
        out = pem.armor("PKCS7", out) if encoding == "pkcs7_pem" else out
    return output.returned(out, encoding, raw)


def create_csr(
    private_key, private_key_passphrase=None, digest="sha256", encoding="pem", path=None, raw=False, **kwargs
):
    """
    Create a certificate signing request; returns it encoded, or writes it to ``path``

    private_key
        Key of the certificate, with its ``private_key_passphrase``
    digest
        sha256 by default
    encoding
        pem or der
    path, raw, subject, and extensions
        As in ``x509.create_certificate``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.create_csr private_key=/etc/pki/web01.key CN=web01.example.org
    """
    if "algorithm" in kwargs:
        digest = kwargs.pop("algorithm")
    output.check(encoding, output.PLAIN)
    signing.check_digest(digest)
    draft = build.request(private_key, private_key_passphrase, **oids.short(kwargs))
    out = encode_csr(draft.sign(digest), encoding, raw=bool(path) or raw)
    if path is None:
        return out
    if encoding == "pem":
        return write_pem(out.decode("ascii"), path, pem_type="CERTIFICATE REQUEST")
    output.write(path, out, 0o644)
    return "CSR written to %s" % path


def encode_csr(csr, encoding="pem", raw=False):
    """
    Return a certificate signing request as pem or der (base64, with ``raw`` bytes)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.encode_csr /etc/pki/web01.csr der
    """
    output.check(encoding, output.PLAIN)
    return output.returned(load.request(csr).encoded(encoding), encoding, raw)


def create_private_key(
    algo="rsa",
    keysize=None,
    passphrase=None,
    encoding="pem",
    pkcs12_encryption_compat=False,
    path=None,
    raw=False,
    **kwargs,
):
    """
    Create a private key; returns it encoded, or writes it to ``path``, which only its owner can read

    algo
        rsa, ec, ed25519 or ed448
    keysize
        rsa: 2048 (default), 3072, 4096; ec: 256 (default), 384, 521
    passphrase
        Encrypts the key
    encoding
        pem (default), der or pkcs12; binary ones are returned as base64
    pkcs12_encryption_compat, raw
        As in ``x509.create_certificate``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.create_private_key algo=ec path=/etc/pki/web01.key
    """
    if "bits" in kwargs:
        keysize = kwargs.pop("bits")
    output.no_more(kwargs, ("cipher", "verbose", "text"))
    output.check(encoding, _KEYS)
    key = keys.generate(algo, keysize)
    out = keys.encode_private(key, encoding, passphrase, pkcs12_encryption_compat)
    if path is None:
        return output.returned(out, encoding, raw)
    if encoding == "pem":
        return write_pem(out.decode("ascii"), path, pem_type="(?:(?:RSA|ENCRYPTED) )?PRIVATE KEY")
    output.write(path, out, 0o600)
    return None


def encode_private_key(
    private_key,
    encoding="pem",
    passphrase=None,
    private_key_passphrase=None,
    pkcs12_encryption_compat=False,
    raw=False,
):
    """
    Return a private key in another encoding, or with another passphrase

    encoding
        pem (default), der or pkcs12; binary ones are returned as base64
    passphrase
        Encrypts what is returned
    private_key_passphrase
        The passphrase of the given key
    pkcs12_encryption_compat, raw
        As in ``x509.create_certificate``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.encode_private_key /etc/pki/web01.key der
    """
    output.check(encoding, _KEYS)
    key = keys.load_private(private_key, private_key_passphrase)
    return output.returned(keys.encode_private(key, encoding, passphrase, pkcs12_encryption_compat), encoding, raw)


def get_pem_entries(glob_path):
    """
    Return ``{path: its first PEM block}`` of the files that match a pattern

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.get_pem_entries '/srv/pki/*.pem'
    """
    return given.each(glob_path, get_pem_entry)


def get_pem_entry(text, pem_type=None):
    """
    Return the first PEM block of a text or file, normalized

    pem_type
        Only a block of this kind, like ``CERTIFICATE``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.get_pem_entry /etc/pki/web01.crt
    """
    return pem.tidy(given.load(text).decode("utf-8", "replace"), pem_type)


def get_signing_policy(signing_policy, ca_server=None):
    """
    Return a signing policy, from ``x509_signing_policies`` of pillar or configuration; {} without it

    ca_server
        Not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.get_signing_policy web_servers
    """
    if ca_server is not None:
        raise SaltInvocationError(policies.REMOTE)
    return oids.short(dict(_policy(signing_policy)))


def sign_remote_certificate(signing_policy, kwargs, get_signing_policy_only=False, **more_kwargs):
    """
    Return ``{data: certificate as DER, errors: [text]}``, signed according to a configured policy

    kwargs
        Arguments of ``x509.create_certificate``
    get_signing_policy_only
        Return the policy instead, without its keys
    __pub_id
        The requesting target; a policy's ``minions`` (a glob, or a compound expression) must match it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.sign_remote_certificate web_servers kwargs="{public_key: /etc/pki/web01.pub}"
    """
    policy, refusal = policies.allowed(_policy, signing_policy, more_kwargs, __salt__)
    if refusal:
        return {"data": None, "errors": [refusal]}
    ret = {"data": None, "errors": []}
    try:
        if get_signing_policy_only:
            policy.pop("signing_private_key", None)
            policy.pop("signing_private_key_passphrase", None)
            if "signing_cert" in policy:
                policy["signing_cert"] = load.certificate(policy["signing_cert"]).raw
            ret["data"] = policy
            return ret
        wanted = build.with_policy(policy, kwargs)
        wanted.pop("ca_server", None)
        ret["data"] = _certificate(**wanted)[0].raw
    except Exception as exc:
        ret["errors"].append(str(exc))
    return ret


def write_pem(text, path, overwrite=True, pem_type=None):
    """
    Write the first PEM block of a text to a file, normalized

    overwrite
        False: keep a private key and DH parameters that are in the file (with ``pem_type=CERTIFICATE``)
    pem_type
        Only a block of this kind

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' x509.write_pem "-----BEGIN CERTIFICATE-----MIIBszCCAVmg..." path=/etc/pki/web01.crt
    """
    parts = [get_pem_entry(text, pem_type)]
    if pem_type == "CERTIFICATE" and os.path.isfile(path) and not overwrite:
        before = given.load(path).decode("utf-8", "replace")
        for kind, place in (("DH PARAMETERS", 1), ("(?:RSA )?PRIVATE KEY", 0)):
            try:
                parts.insert(place, pem.tidy(before, kind))
            except SaltInvocationError as exc:
                log.debug("%s", exc)
    output.write(path, b"".join(parts), 0o600)
    return "PEM written to %s" % path


def _policy(name):
    """The policy of this name, merged if it is a list of dicts; {} if there is none."""
    if name is None:
        return {}
    policy = __salt__["pillar.get"]("x509_signing_policies", {}).get(name)
    policy = policy or __salt__["config.get"]("x509_signing_policies", {}).get(name)
    if isinstance(policy, list):
        merged = {}
        for part in policy:
            merged.update(part)
        policy = merged
    return policy or {}
