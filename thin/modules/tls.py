"""A small certificate authority in a directory, with openssl(1). Salt: ``salt/modules/tls.py``, which needs pyOpenSSL.

An authority ``NAME`` is ``BASE/NAME/NAME_ca_cert.crt`` and ``.key``, with ``index.txt`` and what it signed in
``certs/``. ``BASE`` is ``cacert_path``, else the option ``ca.cert_base_path`` (/etc/pki). For single certificates, and
for states, the module ``x509`` is the better one.
"""

# ruff: noqa: E741 - the name of an argument is Salt's
import os

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils import safepath
from thin.utils.pki import build, given, keys, load, names, oids, openssl, pem

__reads__ = (
    "cert_base_path",
    "set_ca_path",
    "ca_exists",
    "maybe_fix_ssl_version",
    "get_ca",
    "get_ca_signed_cert",
    "get_ca_signed_key",
    "get_expiration_date",
    "validate",
    "get_extensions",
    "cert_info",
)
__changes__ = (
    "create_ca",
    "create_csr",
    "create_self_signed_cert",
    "create_ca_signed_cert",
    "create_pkcs12",
    "create_empty_crl",
    "revoke_cert",
)

log = getLogger(__name__)

_SHORT = "%y%m%d%H%M%SZ"
_ATTRIBUTES = (("C", "C"), ("ST", "ST"), ("L", "L"), ("O", "O"), ("OU", "OU"), ("CN", "CN"), ("emailAddress", "MAIL"))
_NAMES = {oids.NAME_ATTRS[mine]: name for name, mine in _ATTRIBUTES}
#: what requests ask for, and certificates get, unless the pillar says otherwise
_EXTENSIONS = {
    "common": {
        "csr": {"basicConstraints": "CA:FALSE"},
        "cert": {"authorityKeyIdentifier": "keyid,issuer:always", "subjectKeyIdentifier": "hash"},
    },
    "server": {"csr": {"extendedKeyUsage": "serverAuth", "keyUsage": "digitalSignature, keyEncipherment"}, "cert": {}},
    "client": {
        "csr": {"extendedKeyUsage": "clientAuth", "keyUsage": "nonRepudiation, digitalSignature, keyEncipherment"},
        "cert": {},
    },
}


def cert_base_path(cacert_path=None):
    """
    Return the directory of all authorities

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.cert_base_path
    """
    known = __context__.get("ca.contextual_cert_base_path")
    return cacert_path or known or __salt__["config.get"]("ca.cert_base_path", "") or "/etc/pki"


def set_ca_path(cacert_path):
    """
    Set the directory of all authorities for the rest of this run, and return it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.set_ca_path /srv/pki
    """
    if cacert_path:
        __context__["ca.contextual_cert_base_path"] = cacert_path
    return cert_base_path()


def ca_exists(ca_name, cacert_path=None, ca_filename=None):
    """
    Whether an authority is there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.ca_exists app_ca /srv/pki
    """
    return os.path.exists(_ca(ca_name, cacert_path, ca_filename) + ".crt")


def maybe_fix_ssl_version(ca_name, cacert_path=None, ca_filename=None):
    """
    Nothing to do: certificates of a wrong version, as they were made in 2014, are not made here

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.maybe_fix_ssl_version app_ca /srv/pki
    """
    set_ca_path(cacert_path)


def get_ca(ca_name, as_text=False, cacert_path=None):
    """
    Return the path of an authority's certificate, or the certificate

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.get_ca app_ca as_text=True
    """
    path = _ca(ca_name, cacert_path) + ".crt"
    return _found(path, as_text, "Certificate does not exist for %s" % ca_name)


def get_ca_signed_cert(ca_name, CN="localhost", as_text=False, cacert_path=None, cert_filename=None):
    """
    Return the path of a certificate that an authority signed, or the certificate

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.get_ca_signed_cert app_ca CN=web01.example.org as_text=True
    """
    path = "%s/%s.crt" % (_signed(ca_name, cacert_path), cert_filename or CN)
    return _found(path, as_text, "Certificate does not exists for %s" % CN)


def get_ca_signed_key(ca_name, CN="localhost", as_text=False, cacert_path=None, key_filename=None):
    """
    Return the path of the key of a certificate that an authority signed, or the key

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.get_ca_signed_key app_ca CN=web01.example.org
    """
    path = "%s/%s.key" % (_signed(ca_name, cacert_path), key_filename or CN)
    return _found(path, as_text, "Certificate does not exists for %s" % CN)


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
    Return ``{valid: bool, error: text}``: whether an authority signed a certificate, and it is in force

    crl_file
        A revocation list; None: what the authority's index says

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.validate /srv/pki/app_ca/certs/web01.example.org.crt app_ca None
    """
    certificate, ca = _read(cert), _read(_ca(ca_name) + ".crt")
    if crl_file is None:
        revoked = [number for number, _ in _revoked("%s/%s/index.txt" % (cert_base_path(), ca_name))]
    else:
        revoked = list(load.revocation_list(crl_file).revoked)
    if certificate.serial_number in revoked:
        return {"valid": False, "error": "certificate revoked"}
    with openssl.Files() as files:
        trusted, leaf = files.add("ca", ca.pem()), files.add("leaf", certificate.pem())
        done = openssl.run(["verify", "-CAfile", trusted, leaf])
    return {"valid": True} if not done.retcode else {"valid": False, "error": openssl.said(done)}


def create_ca(
    ca_name,
    bits=2048,
    days=365,
    CN="localhost",
    C="US",
    ST="Utah",
    L="Salt Lake City",
    O="SaltStack",
    OU=None,
    emailAddress=None,
    fixmode=False,
    cacert_path=None,
    ca_filename=None,
    digest="sha256",
    onlyif=None,
    unless=None,
    replace=False,
):
    """
    Create an authority; a key that is there is used again

    bits, days, digest
        Size of its key, how long it is valid, and the hash that it signs
    CN, C, ST, L, O, OU, emailAddress
        Its name
    cacert_path, ca_filename
        Where it lies
    onlyif, unless
        Commands, or values, that say whether to do it
    replace
        Replace one that is there
    fixmode
        Only one that is there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.create_ca app_ca
    """
    if _unwanted(onlyif, unless):
        return None
    path = _ca(ca_name, cacert_path, ca_filename)
    if not replace and not fixmode and os.path.exists(path + ".crt"):
        return 'Certificate for CA named "%s" already exists' % ca_name
    if fixmode and not os.path.exists(path + ".crt"):
        raise ValueError("%s.crt does not exists, can't fix" % path)
    safepath.makedirs(os.path.dirname(path))
    key = None
    if os.path.exists(path + ".key"):
        try:
            key = keys.load_private(path + ".key")
        except given.SaltInvocationError as exc:
            log.warning("%s.key cannot be loaded, and is kept under another name: %s", path, exc)
            safepath.rename(path + ".key", "%s.key.unloadable.%s" % (path, build.utc_now().strftime("%Y%m%d%H%M%S")))
    if key is None:
        key = _new_key(bits)
        _write(path + ".key", pem.armor("PRIVATE KEY", key.pkcs8), 0o600)
    wanted = {
        "basicConstraints": "critical, CA:TRUE, pathlen:0",
        "keyUsage": "critical, keyCertSign, cRLSign",
        "subjectKeyIdentifier": "hash",
        "authorityKeyIdentifier": "keyid:always",
    }
    draft = build.certificate(signing_private_key=key, days_valid=int(days), CN="x", **wanted)
    name = _subject(C, ST, L, O, OU, CN, emailAddress)
    draft.subject = draft.issuer = name
    certificate = draft.sign(digest)
    _write(path + ".crt", certificate.pem(), 0o644)
    _note(ca_name, certificate)
    return 'Created Private Key: "%s.key" Created CA "%s": "%s.crt"' % (path, ca_name, path)


def get_extensions(cert_type):
    """
    Return ``{csr: {name: value}, cert: …}``, the extensions of certificates of a type: server, client, or what the
    pillar has at ``tls.extensions``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.get_extensions server
    """
    cert_type = cert_type or "server"
    found = {}
    for kind in ("common", cert_type):
        known = __salt__["pillar.get"]("tls.extensions:" + kind, {}) or _EXTENSIONS.get(kind)
        if known is None:
            raise CommandExecutionError("The pillar has no tls.extensions:%s" % kind)
        for use in ("csr", "cert"):
            found.setdefault(use, {}).update(known.get(use) or {})
    return found


def create_csr(
    ca_name,
    bits=2048,
    CN="localhost",
    C="US",
    ST="Utah",
    L="Salt Lake City",
    O="SaltStack",
    OU=None,
    emailAddress=None,
    subjectAltName=None,
    cacert_path=None,
    ca_filename=None,
    csr_path=None,
    csr_filename=None,
    digest="sha256",
    type_ext=False,
    cert_type="server",
    replace=False,
):
    """
    Create a key and a request for an authority that is there

    subjectAltName
        One name or a list: ``DNS:example.org``
    csr_path, csr_filename
        Where both lie: in the authority's ``certs``, named by CN, by default
    cert_type, type_ext
        See ``tls.get_extensions``; whether file names say it
    bits, digest, replace, and the name
        As in ``tls.create_ca``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.create_csr app_ca CN=web01.example.org
    """
    if not ca_exists(ca_name, cacert_path, ca_filename):
        return 'Certificate for CA named "%s" does not exist, please create it first.' % ca_name
    folder = csr_path or _signed(ca_name, cacert_path) + "/"
    safepath.makedirs(folder)
    path = os.path.join(folder, csr_filename or CN + ("_%s" % cert_type if type_ext else ""))
    if not replace and os.path.exists(path + ".csr"):
        return 'Certificate Request "%s.csr" already exists' % path
    wanted = dict(get_extensions(cert_type)["csr"])
    if subjectAltName:
        wanted["subjectAltName"] = subjectAltName if isinstance(subjectAltName, list) else [subjectAltName]
    key = _new_key(bits)
    draft = build.request(key, CN="x", **wanted)
    draft.subject = _subject(C, ST, L, O, OU, CN, emailAddress)
    _write(path + ".key", pem.armor("PRIVATE KEY", key.pkcs8), 0o600)
    _write(path + ".csr", draft.sign(digest).pem(), 0o644)
    return 'Created Private Key: "%s.key" Created CSR for "%s": "%s.csr"' % (path, CN, path)


def create_self_signed_cert(
    tls_dir="tls",
    bits=2048,
    days=365,
    CN="localhost",
    C="US",
    ST="Utah",
    L="Salt Lake City",
    O="SaltStack",
    OU=None,
    emailAddress=None,
    cacert_path=None,
    cert_filename=None,
    digest="sha256",
    replace=False,
):
    """
    Create a key and a certificate that is signed by it

    tls_dir, cert_filename
        Where they lie: ``BASE/tls_dir/certs``, named by CN
    bits, days, digest, replace, and the name
        As in ``tls.create_ca``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.create_self_signed_cert CN=web01.example.org
    """
    folder = _signed(tls_dir, cacert_path)
    safepath.makedirs(folder)
    path = "%s/%s" % (folder, cert_filename or CN)
    if not replace and os.path.exists(path + ".crt"):
        return 'Certificate "%s" already exists' % (cert_filename or CN)
    key = _new_key(bits)
    draft = build.certificate(signing_private_key=key, days_valid=int(days), CN="x")
    draft.subject = draft.issuer = _subject(C, ST, L, O, OU, CN, emailAddress)
    certificate = draft.sign(digest)
    _write(path + ".key", pem.armor("PRIVATE KEY", key.pkcs8), 0o600)
    _write(path + ".crt", certificate.pem(), 0o644)
    _note(tls_dir, certificate)
    return 'Created Private Key: "%s.key" Created Certificate: "%s.crt"' % (path, path)


def create_ca_signed_cert(
    ca_name,
    CN,
    days=365,
    cacert_path=None,
    ca_filename=None,
    cert_path=None,
    cert_filename=None,
    digest="sha256",
    cert_type=None,
    type_ext=False,
    replace=False,
):
    """
    Sign a request that is there (``tls.create_csr``)

    cert_path, cert_filename
        Where request and certificate lie: in the authority's ``certs``, named by CN, by default
    days, digest, cert_type, type_ext, replace
        As in ``tls.create_csr``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.create_ca_signed_cert app_ca CN=web01.example.org
    """
    if type_ext and not cert_type:
        log.error("type_ext needs cert_type; no certificate was written")
        return {}
    ca, folder = _ca(ca_name, cacert_path, ca_filename), cert_path or _signed(ca_name, cacert_path)
    request = CN + ("_%s" % cert_type if type_ext else "")
    name = cert_filename or request
    if not replace and os.path.exists("%s/%s.crt" % (_signed(ca_name), name)):
        return 'Certificate "%s" already exists' % name
    if not os.path.exists(ca + ".crt") or not os.path.exists(ca + ".key"):
        return {"retcode": 1, "comment": 'There is no CA named "%s"' % ca_name}
    path = "%s/%s.csr" % (folder, request)
    if not os.path.exists(path):
        return {"retcode": 1, "comment": 'There is no CSR that matches the CN "%s"' % name}
    draft = build.certificate(
        signing_private_key=ca + ".key", signing_cert=ca + ".crt", csr=path, days_valid=int(days), CN="x"
    )
    draft.subject = load.request(path).subject
    certificate = draft.sign(digest)
    _write("%s/%s.crt" % (folder, name), certificate.pem(), 0o644)
    _note(ca_name, certificate)
    return 'Created Certificate for "%s": "%s/%s.crt"' % (CN, folder, name)


def create_pkcs12(ca_name, CN, passphrase="", cacert_path=None, replace=False):
    """
    Put a certificate that an authority signed, its key and the authority's certificate into a PKCS#12 file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.create_pkcs12 app_ca web01.example.org passphrase='correct horse'
    """
    ca, path = _ca(ca_name, cacert_path), "%s/%s" % (_signed(ca_name, cacert_path), CN)
    if not replace and os.path.exists(path + ".p12"):
        return 'Certificate "%s" already exists' % CN
    if not os.path.exists(ca + ".crt"):
        return 'There is no CA named "%s"' % ca_name
    if not os.path.exists(path + ".crt") or not os.path.exists(path + ".key"):
        return 'There is no certificate that matches the CN "%s"' % CN
    chain = [load.certificate(one).raw for one in (path + ".crt", ca + ".crt")]
    data = keys.make_container(keys.load_private(path + ".key"), chain, passphrase or None, CN)
    _write(path + ".p12", data, 0o600)
    return 'Created PKCS#12 Certificate for "%s": "%s.p12"' % (CN, path)


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
    found, said = load.certificate(cert), __salt__["x509.read_certificate"](cert)
    fingerprint = found.fingerprint(digest).hex().upper()
    ret = {
        "fingerprint": ":".join(fingerprint[at : at + 2] for at in range(0, len(fingerprint), 2)),
        "subject": _parts(found.subject),
        "issuer": _parts(found.issuer),
        "serial_number": found.serial_number,
        "not_before": calendar.timegm(found.not_before.timetuple()),
        "not_after": calendar.timegm(found.not_after.timetuple()),
        "extensions": said["extensions"],
        "signature_algorithm": found.signature_name,
    }
    if "subjectAltName" in said["extensions"]:
        entries = [entry.partition(":") for entry in said["extensions"]["subjectAltName"]["value"]]
        ret["subject_alt_names"] = [value for kind, _, value in entries if kind in ("DNS", "IP")]
    return ret


def create_empty_crl(ca_name, cacert_path=None, ca_filename=None, crl_file=None, digest="sha256"):
    """
    Create a revocation list of an authority, with nothing in it: ``crl.pem`` beside it by default

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
    _write(path, draft.sign(digest).pem(), 0o644)
    return 'Created an empty CRL: "%s"' % path


def revoke_cert(
    ca_name, CN, cacert_path=None, ca_filename=None, cert_path=None, cert_filename=None, crl_file=None, digest="sha256"
):
    """
    Revoke a certificate: in the authority's index, and in its revocation list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.revoke_cert app_ca web01.example.org
    """
    ca = _ca(ca_name, cacert_path, ca_filename)
    path = "%s/%s.crt" % (cert_path or _signed(ca_name, cacert_path), cert_filename or CN)
    if not os.path.exists(ca + ".crt") or not os.path.exists(ca + ".key"):
        return 'There is no CA named "%s"' % ca_name
    if not os.path.exists(path):
        return 'There is no client certificate named "%s"' % CN
    certificate = load.certificate(path)
    index, serial = os.path.join(os.path.dirname(ca), "index.txt"), "%X" % certificate.serial_number
    if certificate.serial_number in [number for number, _ in _revoked(index)]:
        return '"%s" was already revoked, serial number: %s' % (path, serial)
    lines, now = _lines(index), build.utc_now()
    for at, line in enumerate(lines):
        fields = line.split("\t")
        if len(fields) > 3 and fields[3] == serial:
            lines[at] = "\t".join(["R", fields[1], now.strftime(_SHORT)] + fields[3:])
            break
    else:
        lines.append(_line(certificate, "R", now.strftime(_SHORT)))
    _write(index, "".join(lines).encode("utf-8"), 0o644)
    revoked = [
        {"serial_number": number, "revocation_date": date.strftime("%Y-%m-%d %H:%M:%S")}
        for number, date in _revoked(index)
    ]
    draft = build.revocation_list(ca + ".key", revoked, ca + ".crt", days_valid=100)
    _write(crl_file or os.path.join(os.path.dirname(ca), "crl.pem"), draft.sign(digest).pem(), 0o644)
    return 'Revoked Certificate: "%s", serial number: %s' % (path, serial)


def _ca(ca_name, cacert_path=None, ca_filename=None):
    """The path of an authority's files, without their ending."""
    return "%s/%s/%s" % (set_ca_path(cacert_path), ca_name, ca_filename or ca_name + "_ca_cert")


def _signed(ca_name, cacert_path=None):
    return "%s/%s/certs" % (set_ca_path(cacert_path), ca_name)


def _found(path, as_text, words):
    if not os.path.exists(path):
        raise ValueError(words)
    if not as_text:
        return path
    with open(path, encoding="utf-8", errors="surrogateescape") as handle:
        return handle.read()


def _read(cert):
    try:
        return load.certificate(cert)
    except given.SaltInvocationError as exc:
        log.error("%s: %s", cert, exc)
        raise CommandExecutionError("Failed to read cert from %s, see log for details" % cert)


def _subject(C, ST, L, O, OU, CN, emailAddress):
    values = (C, ST, L, O, OU, CN, emailAddress)
    parts = [{mine: value} for (_, mine), value in zip(_ATTRIBUTES, values) if value]
    return names.Name([names.build(part).rdns[0] for part in parts])


def _parts(name):
    return {_NAMES.get(number, number): value for rdn in name.rdns for number, value in rdn}


def _new_key(bits):
    if int(bits) not in (2048, 3072, 4096):
        argv = ["genpkey", "-outform", "DER", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:%d" % int(bits)]
        return keys.PrivateKey(openssl.output(argv))
    return keys.generate("rsa", int(bits))


def _unwanted(onlyif, unless):
    for condition, bad in ((onlyif, False), (unless, True)):
        if condition is None:
            continue
        if isinstance(condition, str):
            condition = __salt__["cmd.retcode"](condition) == 0
        if bool(condition) is bad:
            return True
    return False


def _write(path, data, mode):
    from thin.utils.files import atomic

    try:
        atomic.write(safepath.real(path), data, mode=mode)
    except OSError as exc:
        raise CommandExecutionError("Unable to write %s: %s" % (path, exc.strerror))


def _lines(path):
    from thin.utils import textfile

    return textfile.lines(path)


def _line(certificate, status="V", revoked=""):
    """A line of the index, as openssl's own authority has it."""
    subject = "/" + "/".join("%s=%s" % pair for pair in _parts(certificate.subject).items())
    expires = certificate.not_after.strftime(_SHORT)
    return "\t".join((status, expires, revoked, "%X" % certificate.serial_number, "unknown", subject)) + "\n"


def _note(ca_name, certificate):
    path = "%s/%s/index.txt" % (cert_base_path(), ca_name)
    with open(path, "a", opener=safepath.opener, encoding="utf-8") as handle:
        handle.write(_line(certificate))


def _revoked(index):
    """[(serial number, date)] of what the index says is revoked."""
    import datetime

    found = [line.split("\t") for line in _lines(index) if line.startswith("R\t")]
    return [(int(fields[3], 16), datetime.datetime.strptime(fields[2], _SHORT)) for fields in found]
