"""Validity of certificates: their data, verification by an authority, and revocation.

A part of ``tls``; tls.py documents the arguments. Salt: ``salt/modules/tls.py``.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.pki import build, caindex, given, load, openssl

__virtualname__ = "tls"
__reads__ = ("get_expiration_date", "validate", "cert_info")
__changes__ = ("create_empty_crl", "revoke_cert")

log = getLogger(__name__)


def _ca(ca_name, cacert_path=None, ca_filename=None):
    return caindex.authority(__salt__["tls.set_ca_path"](cacert_path), ca_name, ca_filename)


def get_expiration_date(cert, date_format="%Y-%m-%d"):
    """
    Return when a certificate expires

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.get_expiration_date /srv/pki/app_ca/certs/web01.example.org.crt date_format='%Y/%m/%d'
    """
    return _read(cert).not_after.strftime(date_format)


def validate(cert, ca_name, crl_file):
    """
    Return ``{valid: bool, error: text}``: whether an authority signed a certificate, and it is valid now

    crl_file
        A revocation list; None: the authority's index

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.validate /srv/pki/app_ca/certs/web01.example.org.crt app_ca None
    """
    certificate, ca = _read(cert), _read(_ca(ca_name) + ".crt")
    if crl_file is None:
        revoked = [
            number for number, _ in caindex.revoked("%s/%s/index.txt" % (__salt__["tls.cert_base_path"](), ca_name))
        ]
    else:
        revoked = list(load.revocation_list(crl_file).revoked)
    if certificate.serial_number in revoked:
        return {"valid": False, "error": "certificate revoked"}
    with openssl.Files() as files:
        trusted, leaf = files.add("ca", ca.pem()), files.add("leaf", certificate.pem())
        done = openssl.run(["verify", "-CAfile", trusted, leaf])
    return {"valid": True} if not done.retcode else {"valid": False, "error": openssl.error_text(done)}


def cert_info(cert, digest="sha256"):
    """
    Return ``{fingerprint, subject, issuer, serial_number, not_before, not_after, signature_algorithm}`` of a
    certificate (text or path), times as seconds since 1970; and ``subject_alt_names``, ``extensions``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.cert_info /srv/pki/app_ca/certs/web01.example.org.crt
    """
    import calendar

    if "-----BEGIN" not in cert and not os.path.isfile(cert):
        raise FileNotFoundError(2, os.strerror(2), cert)
    certificate, answer = load.certificate(cert), __salt__["x509.read_certificate"](cert)
    fingerprint = certificate.fingerprint(digest).hex().upper()
    ret = {
        "fingerprint": ":".join(fingerprint[at : at + 2] for at in range(0, len(fingerprint), 2)),
        "subject": caindex.parts(certificate.subject),
        "issuer": caindex.parts(certificate.issuer),
        "serial_number": certificate.serial_number,
        "not_before": calendar.timegm(certificate.not_before.timetuple()),
        "not_after": calendar.timegm(certificate.not_after.timetuple()),
        "extensions": answer["extensions"],
        "signature_algorithm": certificate.signature_name,
    }
    if "subjectAltName" in answer["extensions"]:
        entries = [entry.partition(":") for entry in answer["extensions"]["subjectAltName"]["value"]]
        ret["subject_alt_names"] = [value for kind, _, value in entries if kind in ("DNS", "IP")]
    return ret


def create_empty_crl(ca_name, cacert_path=None, ca_filename=None, crl_file=None, digest="sha256"):
    """
    Create an empty revocation list of an authority, by default ``crl.pem`` in its folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.create_empty_crl app_ca
    """
    ca = _ca(ca_name, cacert_path, ca_filename)
    path = crl_file or os.path.join(os.path.dirname(ca), "crl.pem")
    if os.path.exists(path):
        return 'CRL "%s" already exists' % path
    if not os.path.exists(ca + ".crt") or not os.path.exists(ca + ".key"):
        return 'There is no CA named "%s"' % ca_name
    draft = build.revocation_list(ca + ".key", [], ca + ".crt", days_valid=36500)
    caindex.write(path, draft.sign(digest).pem(), 0o644)
    return 'Created an empty CRL: "%s"' % path


def revoke_cert(
    ca_name, CN, cacert_path=None, ca_filename=None, cert_path=None, cert_filename=None, crl_file=None, digest="sha256"
):
    """
    Revoke a certificate in the authority's index and in its revocation list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.revoke_cert app_ca web01.example.org
    """
    ca = _ca(ca_name, cacert_path, ca_filename)
    path = "%s/%s.crt" % (
        cert_path or caindex.signed(__salt__["tls.set_ca_path"](cacert_path), ca_name),
        cert_filename or CN,
    )
    if not os.path.exists(ca + ".crt") or not os.path.exists(ca + ".key"):
        return 'There is no CA named "%s"' % ca_name
    if not os.path.exists(path):
        return 'There is no client certificate named "%s"' % CN
    certificate = load.certificate(path)
    index, serial = os.path.join(os.path.dirname(ca), "index.txt"), "%X" % certificate.serial_number
    if certificate.serial_number in [number for number, _ in caindex.revoked(index)]:
        return '"%s" was already revoked, serial number: %s' % (path, serial)
    lines, now = caindex.lines(index), build.utc_now()
    for at, line in enumerate(lines):
        fields = line.split("\t")
        if len(fields) > 3 and fields[3] == serial:
            lines[at] = "\t".join(["R", fields[1], now.strftime(caindex.SHORT)] + fields[3:])
            break
    else:
        lines.append(caindex.line(certificate, "R", now.strftime(caindex.SHORT)))
    caindex.write(index, "".join(lines).encode("utf-8"), 0o644)
    revoked = [
        {"serial_number": number, "revocation_date": date.strftime("%Y-%m-%d %H:%M:%S")}
        for number, date in caindex.revoked(index)
    ]
    draft = build.revocation_list(ca + ".key", revoked, ca + ".crt", days_valid=100)
    caindex.write(crl_file or os.path.join(os.path.dirname(ca), "crl.pem"), draft.sign(digest).pem(), 0o644)
    return 'Revoked Certificate: "%s", serial number: %s' % (path, serial)


def _read(cert):
    try:
        return load.certificate(cert)
    except given.SaltInvocationError as exc:
        log.error("%s: %s", cert, exc)
        raise CommandExecutionError("Failed to read cert from %s, see log for details" % cert)
