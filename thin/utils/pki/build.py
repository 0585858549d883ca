"""Builds drafts of certificates, requests and revocation lists from Salt's arguments; ``sign`` makes the result.

A draft is compared with the present file before it is signed. Salt: ``salt.utils.x509``.
"""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.pki import der, extensions, keys, load, names, oids, shown, signing
from thin.utils.pki.documents import Certificate, Request, RevocationList, compare, extensions_der

log = getLogger(__name__)

_PAIR = "Signing private key does not match the certificate's public key"


class Draft(object):
    """A structure that is not signed yet: ``subject``, ``issuer``, ``public``, ``serial_number``, ``not_before``,
    ``not_after``, ``extensions``; and the loaded ``signing_key``, ``signing_cert``, ``private_key``."""

    def __init__(self, **values):
        self.__dict__.update(values)


class CertificateDraft(Draft):
    def sign(self, digest):
        """The signed Certificate."""
        parts = [
            der.context(0, der.integer(2)),
            der.integer(self.serial_number),
            signing.algorithm(self.signing_key, digest),
            self.issuer.raw,
            der.sequence(der.time(self.not_before), der.time(self.not_after)),
            self.subject.raw,
            self.public.spki,
        ]
        if self.extensions:
            parts.append(der.context(3, extensions_der(self.extensions)))
        return Certificate(signing.signed(self.signing_key, der.sequence(*parts), digest))

    def changes(self, current, serial_number=None):
        """The differences from the present Certificate, in the shape of the state's changes."""
        changes = {}
        if serial_number is not None and self.serial_number != current.serial_number:
            changes["serial_number"] = serial_number
        if self.public != current.public:
            changes["private_key"] = True
        if self.signing_cert and not current.verify(self.signing_cert.public):
            changes["signing_private_key"] = True
        if self.subject != current.subject:
            changes["subject_name"] = self.subject.text()
        if self.issuer != current.issuer:
            changes["issuer_name"] = self.issuer.text()
        different = compare(current.extensions, self.extensions)
        if any(different.values()):
            changes["extensions"] = different
        return changes


class RequestDraft(Draft):
    def sign(self, digest):
        """The signed Request."""
        wanted = b""
        if self.extensions:
            wanted = der.sequence(der.oid("1.2.840.113549.1.9.14"), der.set_of(extensions_der(self.extensions)))
        info = der.sequence(der.integer(0), self.subject.raw, self.public.spki, der.context(0, wanted))
        return Request(signing.signed(self.signing_key, info, digest))

    def changes(self, current):
        changes = {}
        if self.public != current.public:
            changes["private_key"] = True
        if self.subject != current.subject:
            changes["subject_name"] = self.subject.text()
        different = compare(current.extensions, self.extensions)
        if any(different.values()):
            changes["extensions"] = different
        return changes


class ListDraft(Draft):
    """``revoked``: {serial number: (date, extensions)}."""

    def sign(self, digest):
        """The signed RevocationList."""
        if self.issuer is None:
            raise SaltInvocationError("A CRL must have an issuer name: pass signing_cert")
        parts = [
            der.integer(1),
            signing.algorithm(self.signing_key, digest),
            self.issuer.raw,
            der.time(self.not_before),
            der.time(self.not_after),
        ]
        entries = [
            der.sequence(der.integer(number), der.time(date), extensions_der(more) if more else b"")
            for number, (date, more) in self.revoked.items()
        ]
        if entries:
            parts.append(der.sequence(*entries))
        if self.extensions:
            parts.append(der.context(0, extensions_der(self.extensions)))
        return RevocationList(signing.signed(self.signing_key, der.sequence(*parts), digest))

    def changes(self, current):
        if self.issuer is None:
            raise SaltInvocationError("A CRL must have an issuer name: pass signing_cert")
        changes = {}
        if self.issuer != current.issuer:
            changes["issuer_name"] = self.issuer.text()
        if not current.verify(self.signing_key.public):
            changes["public_key"] = True
        revoked = {"added": [], "changed": [], "removed": []}
        for number, (_, more) in self.revoked.items():
            if number not in current.revoked:
                revoked["added"].append(shown.number(number))
            elif current.revoked[number][1] != more:
                revoked["changed"].append(shown.number(number))
        revoked["removed"] = [shown.number(number) for number in current.revoked if number not in self.revoked]
        if any(revoked.values()):
            changes["revocations"] = revoked
        different = compare(current.extensions, self.extensions)
        if any(different.values()):
            changes["extensions"] = different
        return changes


def certificate(
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
    days_valid=30,
    **kwargs,
):
    """The CertificateDraft for the arguments of ``x509.create_certificate``."""
    import datetime

    signing_key = keys.load_private(signing_private_key, signing_private_key_passphrase)
    request = load.request(csr) if csr else None
    own = None
    if signing_cert:
        signing_cert = load.certificate(signing_cert)
        if private_key:
            own = keys.load_private(private_key, private_key_passphrase)
            public = own.public
        elif public_key:
            public = keys.load_public(public_key)
        elif request:
            public = request.public
        else:
            raise SaltInvocationError(
                "This certificate is not self-signed (signing_cert is set) and thus needs public_key, private_key or "
                "csr to derive public key to sign"
            )
        if signing_cert.public != signing_key.public:
            raise SaltInvocationError(_PAIR)
    else:
        own, public, signing_cert = signing_key, signing_key.public, None
    name = names.build(subject or kwargs)
    now = utc_now().replace(microsecond=0)
    start = moment(not_before) if not_before else now
    end = moment(not_after) if not_after else now + datetime.timedelta(days=days_valid)
    if end < start:
        raise SaltInvocationError("not_after (%s) is before not_before (%s)" % (end, start))
    about = {"subject_key": public, "ca": signing_cert, "ca_key": None if signing_cert else public}
    draft = _wanted(kwargs, oids.FOR_CERTIFICATES, **about)
    if request:
        for extension in oids.EXTENSION_ORDER:
            oid = oids.EXTENSIONS[extension]
            if (
                extension in oids.FOR_CERTIFICATES
                and extension not in oids.NOT_IN_REQUESTS
                and oid in request.extensions
                and oid not in draft
            ):
                draft[oid] = request.extensions[oid]
    return CertificateDraft(
        subject=name,
        issuer=signing_cert.subject if signing_cert else name,
        public=public,
        serial_number=serial(serial_number),
        not_before=start,
        not_after=end,
        extensions=draft,
        signing_key=signing_key,
        signing_cert=signing_cert,
        private_key=own,
    )


def request(private_key, private_key_passphrase=None, subject=None, **kwargs):
    """The RequestDraft for the arguments of ``x509.create_csr``."""
    key = keys.load_private(private_key, private_key_passphrase)
    wanted = oids.FOR_CERTIFICATES.difference(oids.NOT_IN_REQUESTS)
    draft = _wanted(kwargs, wanted, subject_key=key.public)
    return RequestDraft(subject=names.build(subject or kwargs), public=key.public, extensions=draft, signing_key=key)


def _wanted(kwargs, which, **about):
    """{object identifier: (critical, DER)} of the extensions ``which`` among the arguments; None: without this one."""
    return {
        oids.EXTENSIONS[name]: extensions.build(name, kwargs[name], **about)
        for name in oids.EXTENSION_ORDER
        if name in which and kwargs.get(name) is not None
    }


def revocation_list(
    signing_private_key,
    revoked,
    signing_cert=None,
    signing_private_key_passphrase=None,
    include_expired=False,
    days_valid=100,
    extensions_=None,
):
    """The ListDraft for the arguments of ``x509.create_crl``."""
    import datetime

    signing_cert = load.certificate(signing_cert) if signing_cert else None
    key = keys.load_private(signing_private_key, signing_private_key_passphrase)
    if signing_cert and signing_cert.public != key.public:
        raise SaltInvocationError(_PAIR)
    now = utc_now().replace(microsecond=0)
    entries = {}
    for given in revoked:
        entry = _revoked(given, now, include_expired)
        if entry:
            entries[entry[0]] = entry[1:]
    result = {}
    for name, value in (extensions_ or {}).items():
        if name in oids.FOR_CRLS:
            result[oids.EXTENSIONS[name]] = extensions.build(name, value, ca=signing_cert)
        else:
            log.warning("the extension %s of the CRL is not valid and is left out", name)
    return ListDraft(
        issuer=signing_cert.subject if signing_cert else None,
        not_before=now,
        not_after=now + datetime.timedelta(days=days_valid),
        revoked=entries,
        extensions=result,
        signing_key=key,
    )


def _revoked(given, now, include_expired):
    """(serial number, date, extensions) of one entry; None if its certificate has expired."""
    number, until = given.get("serial_number"), given.get("not_after")
    until = moment(until) if until else None
    if "certificate" in given:
        revoked_cert = load.certificate(given["certificate"])
        number, until = revoked_cert.serial_number, revoked_cert.not_after
    if not number:
        raise SaltInvocationError("Need serial_number or certificate")
    number = serial(number)
    if until and not include_expired and now > until:
        return None
    result = {}
    for name, value in (given.get("extensions") or {}).items():
        if name in oids.CRL_ENTRY:
            result[oids.CRL_ENTRY[name]] = extensions.build(name, value)
        else:
            log.warning("the extension %s of the CRL's entry is not valid and is left out", name)
    return number, moment(given["revocation_date"]) if "revocation_date" in given else now, result


def revocations(revoked):
    """The entries in the present form, converted from that of older releases: ``name: [{...}]``, ``reason``."""
    revocations = []
    for given in revoked:
        entry = dict(given)
        first = next(iter(entry.values())) if len(entry) == 1 else None
        if isinstance(first, list):
            entry = {}
            for part in first:
                entry.update(part)
        if "reason" in entry:
            entry["extensions"] = dict(entry.get("extensions") or {}, CRLReason=entry.pop("reason"))
        revocations.append(entry)
    return revocations


def utc_now():
    """The current time in UTC, as datetime without time zone."""
    import datetime

    return datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)


def moment(text):
    """A datetime (UTC) from Salt's text. Raises SaltInvocationError."""
    import datetime

    try:
        return datetime.datetime.strptime(text, extensions.TIME)
    except (TypeError, ValueError) as exc:
        raise SaltInvocationError(str(exc))


def serial(value=None):
    """A serial number from an integer or hexadecimal text, or a new random one. Raises SaltInvocationError,
    CommandExecutionError."""
    import os

    if value is None:
        return int.from_bytes(os.urandom(20), "big") >> 1
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        try:
            number = int(value.replace(":", ""), 16)
        except (AttributeError, ValueError):
            raise CommandExecutionError("Could not parse serial number %s" % value)
    if number <= 0 or number.bit_length() >= 160:
        raise SaltInvocationError("The serial number should be positive and not more than 159 bits.")
    return number


def with_policy(policy, kwargs):
    """The arguments of a certificate, overridden by those of a signing policy, as a new dict."""
    if not policy:
        return kwargs
    policy, kwargs = oids.short(dict(policy)), oids.short(dict(kwargs))
    mine, given = policy.get("subject"), kwargs.get("subject")
    if "subject" in kwargs:
        if any(name in policy for name in oids.NAME_ATTRS):
            del kwargs["subject"]
        elif isinstance(mine, dict) and isinstance(given, dict):
            kwargs["subject"] = dict(given, **policy.pop("subject"))
        elif isinstance(mine, list) and isinstance(given, list):
            kwargs["subject"] = policy.pop("subject") + given
    kwargs.update(policy)
    return kwargs
