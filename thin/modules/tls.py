"""A small certificate authority in a directory, with openssl(1). Salt: ``salt/modules/tls.py``, which needs pyOpenSSL.

An authority ``NAME`` is ``BASE/NAME/NAME_ca_cert.crt`` and ``.key``, with ``index.txt`` and the certificates that it
signed in ``certs/``. ``BASE`` is ``cacert_path``, else the option ``ca.cert_base_path`` (/etc/pki). For single
certificates, and for states, prefer the module ``x509``. tls_validity.py inspects and revokes certificates.
"""

# ruff: noqa: E741 - the name of an argument is Salt's
import os

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.files import safepath
from thin.utils.pki import build, caindex, given, keys, load, openssl, pem

__reads__ = (
    "cert_base_path",
    "set_ca_path",
    "ca_exists",
    "maybe_fix_ssl_version",
    "get_ca",
    "get_ca_signed_cert",
    "get_ca_signed_key",
    "get_extensions",
)
__changes__ = ("create_ca", "create_csr", "create_self_signed_cert", "create_ca_signed_cert", "create_pkcs12")

log = getLogger(__name__)

#: extensions of requests and certificates, unless the pillar has others
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
    directory = __context__.get("ca.contextual_cert_base_path")
    return cacert_path or directory or __salt__["config.get"]("ca.cert_base_path", "") or "/etc/pki"


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
    Whether an authority exists

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.ca_exists app_ca /srv/pki
    """
    return os.path.exists(_ca(ca_name, cacert_path, ca_filename) + ".crt")


def maybe_fix_ssl_version(ca_name, cacert_path=None, ca_filename=None):
    """
    Without effect: it repairs certificates of old versions of Salt

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
    return _existing_file(path, as_text, "Certificate does not exist for %s" % ca_name)


def get_ca_signed_cert(ca_name, CN="localhost", as_text=False, cacert_path=None, cert_filename=None):
    """
    Return the path of a certificate that an authority signed, or the certificate

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.get_ca_signed_cert app_ca CN=web01.example.org as_text=True
    """
    path = "%s/%s.crt" % (_signed(ca_name, cacert_path), cert_filename or CN)
    return _existing_file(path, as_text, "Certificate does not exists for %s" % CN)


def get_ca_signed_key(ca_name, CN="localhost", as_text=False, cacert_path=None, key_filename=None):
    """
    Return the path of the key of a certificate that an authority signed, or the key

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.get_ca_signed_key app_ca CN=web01.example.org
    """
    path = "%s/%s.key" % (_signed(ca_name, cacert_path), key_filename or CN)
    return _existing_file(path, as_text, "Certificate does not exists for %s" % CN)


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
    Create an authority; an existing key is used

    bits, days, digest
        Size of its key, validity in days, and the digest for its signature
    CN, C, ST, L, O, OU, emailAddress
        Its name
    cacert_path, ca_filename
        Its directory and file name
    onlyif, unless
        Commands, or values, that decide whether to do it
    replace
        Replace an existing one
    fixmode
        Without effect

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
        caindex.write(path + ".key", pem.armor("PRIVATE KEY", key.pkcs8), 0o600)
    wanted = {
        "basicConstraints": "critical, CA:TRUE, pathlen:0",
        "keyUsage": "critical, keyCertSign, cRLSign",
        "subjectKeyIdentifier": "hash",
        "authorityKeyIdentifier": "keyid:always",
    }
    draft = build.certificate(signing_private_key=key, days_valid=int(days), CN="x", **wanted)
    name = caindex.subject(C, ST, L, O, OU, CN, emailAddress)
    draft.subject = draft.issuer = name
    certificate = draft.sign(digest)
    caindex.write(path + ".crt", certificate.pem(), 0o644)
    _note(ca_name, certificate)
    return 'Created Private Key: "%s.key" Created CA "%s": "%s.crt"' % (path, ca_name, path)


def get_extensions(cert_type):
    """
    Return ``{csr: {name: value}, cert: …}``, the extensions for a type of certificate: server, client, or the pillar at
    ``tls.extensions``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' tls.get_extensions server
    """
    cert_type = cert_type or "server"
    extensions = {}
    for kind in ("common", cert_type):
        configured = __salt__["pillar.get"]("tls.extensions:" + kind, {}) or _EXTENSIONS.get(kind)
        if configured is None:
            raise CommandExecutionError("The pillar has no tls.extensions:%s" % kind)
        for use in ("csr", "cert"):
            extensions.setdefault(use, {}).update(configured.get(use) or {})
    return extensions


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
    Create a key and a request for an existing authority

    subjectAltName
        One name or a list: ``DNS:example.org``
    csr_path, csr_filename
        Directory and file name of both; by default the authority's ``certs``, and CN
    cert_type, type_ext
        See ``tls.get_extensions``; whether the type is part of the file names
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
    draft.subject = caindex.subject(C, ST, L, O, OU, CN, emailAddress)
    caindex.write(path + ".key", pem.armor("PRIVATE KEY", key.pkcs8), 0o600)
    caindex.write(path + ".csr", draft.sign(digest).pem(), 0o644)
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
        Directory and file name: ``BASE/tls_dir/certs``, and CN
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
    draft.subject = draft.issuer = caindex.subject(C, ST, L, O, OU, CN, emailAddress)
    certificate = draft.sign(digest)
    caindex.write(path + ".key", pem.armor("PRIVATE KEY", key.pkcs8), 0o600)
    caindex.write(path + ".crt", certificate.pem(), 0o644)
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
    Sign an existing request (``tls.create_csr``)

    cert_path, cert_filename
        Directory and file name of request and certificate; by default the authority's ``certs``, and CN
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
    caindex.write("%s/%s.crt" % (folder, name), certificate.pem(), 0o644)
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
    caindex.write(path + ".p12", data, 0o600)
    return 'Created PKCS#12 Certificate for "%s": "%s.p12"' % (CN, path)


def _existing_file(path, as_text, words):
    if not os.path.exists(path):
        raise ValueError(words)
    if not as_text:
        return path
    with open(path, encoding="utf-8", errors="surrogateescape") as handle:
        return handle.read()


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


def _ca(ca_name, cacert_path=None, ca_filename=None):
    return caindex.authority(set_ca_path(cacert_path), ca_name, ca_filename)


def _signed(ca_name, cacert_path=None):
    return caindex.signed(set_ca_path(cacert_path), ca_name)


def _note(ca_name, certificate):
    caindex.note(cert_base_path(), ca_name, certificate)
