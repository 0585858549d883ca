"""X.509 certificates, requests, revocation lists and keys in files. Salt: ``salt/states/x509_v2.py``.

The wanted content of a file is compared with the present one; the file is replaced only if they differ or if it expires
soon. Owner, mode and directories are those of ``file.managed``, whose arguments are accepted, too (``encoding`` as
``file_encoding``), and whose return is reported as a further state.
"""

from thin.call_state import INTERNAL
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.pki import build, documents, given, keys, load, oids
from thin.utils.pki.managed import Found, Managed, split

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt

_FOR_ENGINE = INTERNAL - {"check_cmd"}


def certificate_managed(
    name,
    days_remaining=None,
    ca_server=None,
    signing_policy=None,
    encoding="pem",
    append_certs=None,
    digest="sha256",
    signing_private_key=None,
    signing_private_key_passphrase=None,
    signing_cert=None,
    public_key=None,
    private_key=None,
    private_key_passphrase=None,
    csr=None,
    subject=None,
    serial_number=None,
    not_before=None,
    not_after=None,
    days_valid=None,
    pkcs12_passphrase=None,
    pkcs12_encryption_compat=False,
    pkcs12_friendlyname=None,
    **kwargs,
):
    """The certificate is in the file; it is renewed ``days_remaining`` (90) days before it expires.

    The arguments are those of the function ``x509.create_certificate`` and of ``file.managed``. If only the encoding,
    the appended certificates or the friendly name differ, the certificate is kept. changes: ``created``, ``replaced``,
    ``expiration``, ``encoding``, ``additional_certs``, ``pkcs12_friendlyname``, ``pkcs12_passphrase``, ``digest``,
    ``serial_number``, ``private_key``, ``signing_private_key``, ``subject_name``, ``issuer_name``, ``extensions``.
    """
    if days_valid is None and not_after is None:
        days_valid = 365
    if days_remaining is None:
        days_remaining = 90
    digest = kwargs.pop("algorithm", digest)
    file, more = split(kwargs, _FOR_ENGINE)
    oids.short(more)
    append_certs = append_certs or []
    append_certs = append_certs if isinstance(append_certs, list) else [append_certs]
    container = {
        "pkcs12_passphrase": pkcs12_passphrase,
        "pkcs12_encryption_compat": pkcs12_encryption_compat,
        "pkcs12_friendlyname": pkcs12_friendlyname,
    }
    wanted = dict(
        more,
        digest=digest,
        signing_private_key=signing_private_key,
        signing_private_key_passphrase=signing_private_key_passphrase,
        signing_cert=signing_cert,
        public_key=public_key,
        private_key=private_key,
        private_key_passphrase=private_key_passphrase,
        csr=csr,
        subject=subject,
        serial_number=serial_number,
        not_before=not_before,
        not_after=not_after,
        days_valid=days_valid,
    )

    def examine(path):
        policy = __salt__["x509.get_signing_policy"](signing_policy, ca_server=ca_server)
        return _examined(path, policy, wanted, encoding, append_certs, days_remaining, container)

    def make(examined):
        if set(examined.changes) - {"additional_certs", "encoding", "pkcs12_friendlyname"}:
            return __salt__["x509.create_certificate"](
                ca_server=ca_server,
                signing_policy=signing_policy,
                encoding=encoding,
                append_certs=append_certs,
                raw=True,
                **dict(wanted, **container),
            )
        extra = dict(container, private_key=examined.key) if encoding == "pkcs12" else {}
        return __salt__["x509.encode_certificate"](
            examined.current, encoding=encoding, append_certs=append_certs, raw=True, **extra
        )

    managed = Managed(name, "certificate", file, encoding in ("pem", "pkcs7_pem"), globals())
    return managed.run(examine, make)


def _examined(path, policy, wanted, encoding, append_certs, days_remaining, container):
    """The Found of a certificate's file; ``key`` is the private key for the wanted certificate."""
    import datetime

    try:
        loaded = load.certificate_as(path, container["pkcs12_passphrase"])
    except given.InvalidPassword:
        return Found(changes={"pkcs12_passphrase": True})
    except given.DeserializationError:
        return Found(replaced=True)
    current, changes = loaded.certificate, {}
    if encoding != loaded.encoding:
        changes["encoding"] = encoding
    elif encoding == "pkcs12" and loaded.name != (container["pkcs12_friendlyname"] or None):
        changes["pkcs12_friendlyname"] = container["pkcs12_friendlyname"]
    if current.not_after < build.utc_now() + datetime.timedelta(days=days_remaining):
        changes["expiration"] = True
    if [one.raw for one in loaded.chain] != [load.certificate(one).raw for one in append_certs]:
        changes["additional_certs"] = True
    final = build.with_policy(policy, wanted)
    draft = build.certificate(**final)
    if not _same_digest(current, final["digest"]):
        changes["digest"] = wanted["digest"]
    changes.update(draft.changes(current, wanted["serial_number"]))
    examined = Found(current, changes)
    examined.key = draft.private_key
    return examined


def _same_digest(current, digest):
    """Whether the digest of the signature is the wanted one; ed25519 and ed448 have no digest."""
    return current.digest is None or current.digest == digest.lower().replace("_", "-")


def crl_managed(
    name,
    signing_private_key,
    revoked,
    days_remaining=None,
    signing_cert=None,
    signing_private_key_passphrase=None,
    include_expired=False,
    days_valid=None,
    digest="sha256",
    encoding="pem",
    extensions=None,
    **kwargs,
):
    """The revocation list is in the file; it is renewed ``days_remaining`` (30) days before the next one is due.

    The arguments are those of the function ``x509.create_crl`` and of ``file.managed``. ``cRLNumber: auto`` among the
    extensions increases the number. changes: ``created``, ``replaced``, ``expiration``, ``encoding``, ``digest``,
    ``issuer_name``, ``public_key``, ``revocations``, ``extensions``.
    """
    import datetime

    kwargs.pop("text", None)
    days_valid = 100 if days_valid is None else days_valid
    days_remaining = 30 if days_remaining is None else days_remaining
    file, more = split(kwargs, _FOR_ENGINE)
    _no_more(more)
    extensions = dict(extensions or {})
    counted = extensions.get("cRLNumber") == "auto"
    if counted:
        del extensions["cRLNumber"]
    number = oids.EXTENSIONS["cRLNumber"]

    def examine(path):
        try:
            current, current_encoding = load.revocation_list_as(path)
        except given.DeserializationError:
            return Found(replaced=True)
        changes = {}
        if not _same_digest(current, digest):
            changes["digest"] = digest
        if encoding != current_encoding:
            changes["encoding"] = encoding
        limit = build.utc_now() + datetime.timedelta(days=days_remaining)
        if days_remaining and current.next_update and current.next_update < limit:
            changes["expiration"] = True
        signer = (signing_cert, signing_private_key_passphrase)
        listed = build.revocations(revoked)
        draft = build.revocation_list(signing_private_key, listed, *signer, include_expired, days_valid, extensions)
        if counted and number in current.extensions:
            draft.extensions[number] = current.extensions[number]
        changes.update(draft.changes(current))
        return Found(current, changes)

    def make(examined):
        if not set(examined.changes) - {"encoding"}:
            return __salt__["x509.encode_crl"](examined.current, encoding=encoding, raw=True)
        wanted = dict(extensions)
        if counted:
            extension = examined.current.extensions.get(number) if examined.current else None
            wanted["cRLNumber"] = documents.der.read(extension[1]).number() + 1 if extension else 1
        return __salt__["x509.create_crl"](
            signing_private_key,
            revoked,
            signing_cert=signing_cert,
            signing_private_key_passphrase=signing_private_key_passphrase,
            include_expired=include_expired,
            days_valid=days_valid,
            digest=digest,
            encoding=encoding,
            extensions=wanted,
            raw=True,
        )

    return Managed(name, "certificate revocation list", file, encoding == "pem", globals()).run(examine, make)


def csr_managed(
    name, private_key, private_key_passphrase=None, digest="sha256", encoding="pem", subject=None, **kwargs
):
    """This certificate signing request is in the file.

    The arguments are those of the function ``x509.create_csr`` and of ``file.managed``. changes: ``created``,
    ``replaced``, ``encoding``, ``digest``, ``private_key``, ``subject_name``, ``extensions``, ``invalid_version``.
    """
    digest = kwargs.pop("algorithm", digest)
    file, more = split(kwargs, _FOR_ENGINE)
    wanted = dict(oids.short(more), private_key_passphrase=private_key_passphrase, subject=subject)

    def examine(path):
        try:
            current, current_encoding = load.request_as(path)
        except documents.InvalidVersion:
            return Found(changes={"invalid_version": True}, replaced=True)
        except given.DeserializationError:
            return Found(replaced=True)
        changes = {}
        if not _same_digest(current, digest):
            changes["digest"] = digest
        if encoding != current_encoding:
            changes["encoding"] = encoding
        changes.update(build.request(private_key, **wanted).changes(current))
        return Found(current, changes)

    def make(examined):
        if not set(examined.changes) - {"encoding"}:
            return __salt__["x509.encode_csr"](examined.current, encoding=encoding, raw=True)
        return __salt__["x509.create_csr"](private_key, digest=digest, encoding=encoding, raw=True, **wanted)

    return Managed(name, "certificate signing request", file, encoding == "pem", globals()).run(examine, make)


def pem_managed(name, text, **kwargs):
    """The first PEM block of a text is in the file, normalized. Arguments and return are those of file.managed."""
    file, more = split(kwargs, _FOR_ENGINE)
    _no_more(more)
    try:
        file["contents"] = str(__salt__["x509.get_pem_entry"](text=text), "ascii")
    except (CommandExecutionError, SaltInvocationError) as exc:
        return {"name": name, "result": False, "comment": str(exc), "changes": {}}
    return __states__["file.managed"](name, **file)


def private_key_managed(
    name,
    algo="rsa",
    keysize=None,
    passphrase=None,
    encoding="pem",
    new=False,
    overwrite=False,
    pkcs12_encryption_compat=False,
    **kwargs,
):
    """A private key of this kind is in the file, which only its owner can read (``mode``: 0400).

    algo
        rsa, ec, ed25519 or ed448, with a ``keysize`` as in the function ``x509.create_private_key``
    passphrase
        The key is encrypted with it
    encoding
        pem, der or pkcs12
    new
        A new key each time the state runs (with ``prereq``: when a certificate is renewed)
    overwrite
        Replace content that is no key, or a key that the passphrase does not decrypt; otherwise this is a failure

    changes: ``created``, ``replaced``, ``algo``, ``keysize``, ``encoding``, ``passphrase``.
    """
    keysize = kwargs.pop("bits", keysize)
    for ignored in ("cipher", "verbose", "text"):
        kwargs.pop(ignored, None)
    file, more = split(kwargs, _FOR_ENGINE)
    _no_more(more)
    file["mode"] = file.get("mode") or "0400"
    managed = Managed(name, "private key", file, encoding == "pem", globals())

    def examine(path):
        if new:
            return Found(changes={"replaced": name})
        if keysize and algo in ("ed25519", "ed448"):
            raise SaltInvocationError("keysize is an invalid parameter for %s" % algo)
        return _examined_key(path, name, algo, keysize, passphrase, encoding, overwrite)

    def make(examined):
        if not set(examined.changes) - {"encoding", "passphrase"}:
            return __salt__["x509.encode_private_key"](
                examined.current, passphrase=passphrase, encoding=encoding, raw=True
            )
        return __salt__["x509.create_private_key"](
            algo=algo,
            keysize=keysize,
            passphrase=passphrase,
            encoding=encoding,
            pkcs12_encryption_compat=pkcs12_encryption_compat,
            raw=True,
        )

    if keysize and algo in ("ed25519", "ed448"):
        managed.ret.update(result=False, comment="keysize is an invalid parameter for %s" % algo)
        return managed.ret
    return managed.run(examine, make, exists_counts=True)


def _examined_key(path, name, algo, keysize, passphrase, encoding, overwrite):
    changes, current, current_encoding = {}, None, None
    try:
        current, current_encoding = keys.load_private_as(path, passphrase)
    except given.SuperfluousPassword:
        changes["passphrase"] = True
        current, current_encoding = keys.load_private_as(path)
    except given.DeserializationError:
        if not overwrite:
            raise CommandExecutionError(
                "The existing file does not seem to be a private key formatted as DER, PEM or embedded in PKCS12. "
                "Pass overwrite: true to force regeneration"
            )
    except given.PasswordError as exc:
        if not overwrite:
            missing = isinstance(exc, given.MissingPassword)
            raise CommandExecutionError(
                "The existing file is encrypted. Pass overwrite: true to force regeneration without passphrase"
                if missing
                else "The provided passphrase cannot decrypt the private key. Pass overwrite: true to force "
                "regeneration"
            )
        changes["passphrase"] = True
    if current is None:
        changes["created"] = name
        return Found(None, changes)
    if current.type != algo:
        changes["algo"] = algo
    elif algo in ("rsa", "ec"):
        wanted = keysize or {"rsa": 2048, "ec": 256}[algo]
        if current.size != wanted:
            changes["keysize"] = wanted
    if encoding != current_encoding:
        changes["encoding"] = encoding
    return Found(current, changes)


def _no_more(kwargs):
    if kwargs:
        raise SaltInvocationError("Unrecognized keyword arguments: %s" % list(kwargs))
