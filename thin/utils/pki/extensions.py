"""Builds extensions of certificates, requests and revocation lists from Salt's arguments.

``build(name, value, …)`` returns (critical, DER). Values are texts in the format of openssl's configuration, or dicts
and lists as Salt documents them. Raises SaltInvocationError, CommandExecutionError.
"""

import re

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.pki import der, general, names, oids

TIME = "%Y-%m-%d %H:%M:%S"

_USAGES = (
    "digitalSignature",
    "nonRepudiation",
    "keyEncipherment",
    "dataEncipherment",
    "keyAgreement",
    "keyCertSign",
    "cRLSign",
    "encipherOnly",
    "decipherOnly",
)
#: Reasons of a revocation: the bit in ReasonFlags (None: there is none), the number in CRLReason.
_REASONS = {
    "unspecified": (None, 0),
    "keyCompromise": (1, 1),
    "cACompromise": (2, 2),
    "affiliationChanged": (3, 3),
    "superseded": (4, 4),
    "cessationOfOperation": (5, 5),
    "certificateHold": (6, 6),
    "removeFromCRL": (None, 8),
    "privilegeWithdrawn": (7, 9),
    "aACompromise": (8, 10),
}
_FEATURES = {"status_request": 5, "status_request_v2": 17}
PRESENT = "__present__"


def build(name, value, subject_key=None, ca=None, ca_key=None):
    """(critical, DER) of an extension. ``name`` is that of Salt's argument.

    ``subject_key``: the certified PublicKey; ``ca``: the Certificate of the authority; ``ca_key``: the PublicKey of a
    self-signed certificate.
    """
    if name not in _BUILDERS:
        raise CommandExecutionError("Unknown extension %s" % name)
    try:
        return _BUILDERS[name](value, subject_key, ca, ca_key)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as exc:
        raise SaltInvocationError("Invalid configuration for %s: %r (%s)" % (name, value, exc))


def pairs_of(text):
    """([(key, value)], critical) of openssl's format ``critical, key:value, key``."""
    critical = text.startswith("critical")
    if critical:
        text = text[8:].strip(",").strip()
    result = []
    for item in text.split(","):
        key, colon, value = item.strip().partition(":")
        result.append((key.strip(), value.strip() if colon else PRESENT))
    return result, critical


def _listed(value):
    """The (key, value) pairs of a list of ``key:value`` texts and dicts."""
    result = []
    for item in value:
        if isinstance(item, str) and ":" in item:
            key, _, rest = item.partition(":")
            result.append((key.strip(), rest.strip()))
        elif isinstance(item, dict):
            result.extend(item.items())
    return result


def _names_given(value):
    """(pairs, critical) of general names in a text, list or dict."""
    if isinstance(value, str):
        return pairs_of(value)
    if isinstance(value, dict):
        return [pair for pair in value.items() if pair[0] != "critical"], bool(value.get("critical"))
    return _listed(value), "critical" in value


def _flat(pair):
    key, _, value = str(pair).partition(":")
    return key, value


def _basic(value, *about):
    if isinstance(value, str):
        pairs, critical = pairs_of(value.lower())
        value = dict(pairs)
        value["ca"] = value["ca"] == "true"
    else:
        critical = bool(value.get("critical", False))
    if "ca" not in value:
        raise SaltInvocationError("Undefined required key for basicConstraints: 'ca'")
    ca, length = value["ca"], value.get("pathlen")
    if not isinstance(ca, bool):
        raise SaltInvocationError("ca must be a boolean value")
    length = int(length) if isinstance(length, str) else length
    if length is not None and not ca:
        raise SaltInvocationError("path_length must be None when ca is False")
    if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 0):
        raise SaltInvocationError("path_length must be a non-negative integer or None")
    return critical, der.sequence(der.boolean(True) if ca else b"", b"" if length is None else der.integer(length))


def _usage(value, *about):
    result = {number for number, name in enumerate(_USAGES) if name in value}
    if result & {7, 8} and 4 not in result:
        raise SaltInvocationError("encipher_only and decipher_only can only be true when key_agreement is true")
    return "critical" in value, der.tlv(der.BIT_STRING, der.flags(result)[2:])


def _purposes(value, *about):
    critical = "critical" in value
    if isinstance(value, str):
        pairs, critical = pairs_of(value)
        value = [key for key, _ in pairs]
    elif not isinstance(value, list):
        value = [value]
    numbers = [oids.PURPOSES.get(name, name) for name in value if name != "critical"]
    return critical, der.sequence(*[general.oid(number) for number in numbers])


def _subject_key(value, subject_key, *about):
    if not isinstance(value, bytes) and "critical" in value:
        raise SaltInvocationError("subjectKeyIdentifier must be marked as non-critical")
    if value == "hash":
        value = subject_key.digest()
    elif isinstance(value, str):
        try:
            value = bytes.fromhex(value.replace(":", ""))
        except ValueError:
            raise SaltInvocationError("Value must be precomputed hash")
    if not isinstance(value, bytes):
        raise SaltInvocationError("Value must be a (hex-)digest or pubkey")
    return False, der.octets(value)


def _authority_key(value, subject_key, ca, ca_key):
    if "critical" in value:
        raise SaltInvocationError("authorityKeyIdentifier must be marked as non-critical")
    if not (ca or ca_key):
        raise SaltInvocationError("Need CA certificate or CA pubkey to calculate authorityKeyIdentifier")
    if isinstance(value, str):
        value = dict(pairs_of(value)[0])
    parts, named = [], False
    if "keyid" in value:
        extension = ca.extensions.get(oids.EXTENSIONS["subjectKeyIdentifier"]) if ca else None
        digest = der.read(extension[1]).body if extension else (ca.public if ca else ca_key).digest()
        parts.append(der.tlv(0x80, digest))
        named = True
    if value.get("issuer") == "always" or ("issuer" in value and not named):
        if ca:
            parts.append(der.context(1, der.context(4, ca.issuer.raw)))
            parts.append(der.implicit(2, der.integer(ca.serial_number)))
        elif value["issuer"] == "always":
            raise CommandExecutionError(
                "Could not add authority_cert_issuer and authority_cert_serial_number, but was set to always."
            )
    return False, der.sequence(*parts)


def _issuer_names(value, subject_key, ca, ca_key):
    pairs, critical = _names_given(value)
    issuer_names = []
    if ("issuer", "copy") in pairs:
        if not ca:
            raise SaltInvocationError("Need CA certificate to copy to issuerAltName")
        extension = ca.extensions.get(oids.EXTENSIONS["subjectAltName"])
        if not extension:
            raise CommandExecutionError("No subjectAltName extension was found in the CA certificate to copy from")
        issuer_names = [item.raw for item in der.read(extension[1])]
        pairs = [pair for pair in pairs if pair[0] != "issuer"]
    return critical, der.sequence(*(issuer_names + general.build(pairs)))


def _subject_names(value, *about):
    pairs, critical = _names_given(value)
    return critical, der.sequence(*general.build(pairs))


def _access(value, *about):
    if isinstance(value, str):
        pairs = [tuple(item.strip().split(";")) for item in value.split(",") if item.strip() != "critical"]
    else:
        given = [value] if isinstance(value, dict) else [item for item in value if isinstance(item, dict)]
        pairs = [pair for item in given for pair in item.items() if pair[0] != "critical"]
    access = []
    for method, location in pairs:
        try:
            number = general.oid(oids.ACCESS.get(method, method))
        except CommandExecutionError:
            raise CommandExecutionError("Unknown access OID: %s" % method)
        access.append(der.sequence(number, general.build([_flat(location)])[0]))
    return False, der.sequence(*access)


def _general_list(value):
    return general.build([_flat(item) for item in (value if isinstance(value, list) else [value])])


def _reason_flags(reasons):
    """The content of ReasonFlags."""
    reason_flags = set()
    for reason in reasons:
        if _REASONS.get(reason, (None,))[0] is None:
            raise SaltInvocationError("%r is not a valid reason here" % (reason,))
        reason_flags.add(_REASONS[reason][0])
    return der.flags(reason_flags)


def _point_name(fullname, relative):
    """DistributionPointName in the tag [0], which it has in both structures; b"" without a name."""
    if fullname and relative:
        raise SaltInvocationError("You cannot provide both full_name and relative_name, at least one must be None.")
    if fullname:
        return der.context(0, der.context(0, *_general_list(fullname)))
    if relative:
        rdn = names.build_relative(relative)
        return der.context(0, der.context(1, *sorted(names.attributes(rdn))))
    return b""


def _points(value, *about):
    critical = "critical" in value
    if isinstance(value, str):
        entries, critical = pairs_of(value)
    else:
        entries = []
        for item in [value] if isinstance(value, dict) else value:
            if isinstance(item, str) and ":" in item:
                entries.extend(_listed([item]))
            elif item != "critical":
                entries.append(item)
    points = []
    for point in entries:
        if not isinstance(point, dict):
            point = {"fullname": "%s:%s" % tuple(point)}
        parts = [_point_name(point.get("fullname"), point.get("relativename"))]
        if point.get("reasons"):
            parts.append(der.implicit(1, _reason_flags(point["reasons"])))
        if point.get("crlissuer"):
            parts.append(der.context(2, *_general_list(point["crlissuer"])))
        if not parts[0] and not point.get("crlissuer"):
            raise SaltInvocationError("Either full_name, relative_name or crl_issuer must be provided.")
        points.append(der.sequence(*parts))
    return critical, der.sequence(*points)


def _freshest(value, *about):
    return False, _points(value)[1]


def _issuing_point(value, *about):
    if not isinstance(value, dict):
        raise SaltInvocationError("issuingDistributionPoint must be a dictionary")
    parts = [_point_name(value.get("fullname"), value.get("relativename"))]
    flags = (("onlyuser", 1), ("onlyCA", 2), ("indirectCRL", 4), ("onlyAA", 5))
    kinds = [name for name in ("onlyuser", "onlyCA", "onlyAA", "indirectCRL") if value.get(name)]
    if len(kinds) > 1:
        raise SaltInvocationError("Only one of onlyuser, onlyCA, onlyAA and indirectCRL can be set")
    for name, number in flags:
        if number == 4 and value.get("onlysomereasons"):
            parts.append(der.implicit(3, _reason_flags(value["onlysomereasons"])))
        if value.get(name):
            parts.append(der.implicit(number, der.boolean(True)))
    if not any(parts):
        raise SaltInvocationError("Cannot create empty extension: issuingDistributionPoint")
    return bool(value.get("critical", False)), der.sequence(*parts)


def _policies(value, *about):
    if isinstance(value, str):
        numbers = [item.strip() for item in value.split(",") if item.strip() != "critical"]
        try:
            policies = [der.sequence(general.oid(number)) for number in numbers]
        except CommandExecutionError:
            raise SaltInvocationError("certificatePolicies defined as string must be a comma-separated list of OID.")
        return value.startswith("critical"), der.sequence(*policies)
    policies = []
    for number, qualifiers in value.items():
        if number == "critical":
            continue
        given = [qualifiers] if isinstance(qualifiers, (str, dict)) else qualifiers or []
        parts = [part for part in map(_qualifier, given) if part]
        policies.append(der.sequence(general.oid(number), der.sequence(*parts) if parts else b""))
    return bool(value.get("critical", False)), der.sequence(*policies)


def _qualifier(given):
    if isinstance(given, str):
        return der.sequence(der.oid(oids.CPS), der.text(given, der.IA5))
    parts = []
    if given.get("noticeNumbers"):
        numbers = der.sequence(*[der.integer(int(number)) for number in given["noticeNumbers"]])
        parts.append(der.sequence(der.text(given.get("organization") or ""), numbers))
    if not parts:  # as in Salt, a notice without a reference is left out
        return b""
    if given.get("text"):
        parts.append(der.text(given["text"]))
    return der.sequence(der.oid(oids.USER_NOTICE), der.sequence(*parts))


def _policy_constraints(value, *about):
    critical = "critical" in value
    if isinstance(value, str):
        pairs, critical = pairs_of(value)
        value = dict(pairs)
    names_of = ((0, "requireExplicitPolicy"), (1, "inhibitPolicyMapping"))
    parts = [der.implicit(tag, der.integer(int(value[name]))) for tag, name in names_of if name in value]
    if not parts:
        raise SaltInvocationError("At least one of require_explicit_policy and inhibit_policy_mapping must not be None")
    return critical, der.sequence(*parts)


def _any_policy(value, *about):
    critical = False
    if isinstance(value, str):
        pairs, critical = pairs_of(value)
        value = int(pairs[0][0])
    elif isinstance(value, dict):
        critical = "critical" in value
        if "value" not in value:
            raise SaltInvocationError("Undefined required key for inhibitAnyPolicy: 'value'")
        value = value["value"]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise SaltInvocationError("skip_certs must be a non-negative integer")
    return critical, der.integer(value)


def _name_constraints(value, *about):
    critical = "critical" in value
    name_constraints = {}
    if isinstance(value, dict):
        for scope in ("permitted", "excluded"):
            if scope in value:
                name_constraints[scope] = _listed(value[scope])
    else:
        for item in value.split(","):
            scope, _, constraint = item.strip().partition(";")
            if scope in ("permitted", "excluded"):
                name_constraints.setdefault(scope, []).append(_flat(constraint))
    if not any(name_constraints.values()):
        raise SaltInvocationError("nameConstraints needs at least one definition")
    parts = [
        der.context(number, *[der.sequence(name) for name in general.build(name_constraints[scope])])
        for number, scope in enumerate(("permitted", "excluded"))
        if name_constraints.get(scope)
    ]
    return critical, der.sequence(*parts)


def _no_check(value, *about):
    return "critical" in str(value), der.tlv(der.NULL)


def _features(value, *about):
    if isinstance(value, str):
        value = [item.strip() for item in value.split(",")]
    wanted = [name for name in value if name != "critical"]
    bad = [name for name in wanted if name not in _FEATURES]
    if bad:
        raise SaltInvocationError("%s is not a valid TLS feature" % bad[0])
    return "critical" in value, der.sequence(*[der.integer(_FEATURES[name]) for name in wanted])


def _ns_comment(value, *about):
    raise SaltInvocationError("nsComment is currently not implemented.")


def _ns_type(value, *about):
    raise SaltInvocationError("nsCertType is currently not implemented.")


def _number(value, *about):
    try:
        return False, der.integer(int(value))
    except ValueError:
        raise SaltInvocationError("cRLNumber must be an integer and must be marked as non-critical")


def _delta(value, *about):
    numbers = re.findall(r"[\d]+", str(value))
    if len(numbers) != 1:
        raise SaltInvocationError("deltaCRLIndicator must contain a single integer pointing to a cRLNumber")
    return "critical" in str(value), der.integer(int(numbers[0]))


def _reason(value, *about):
    if isinstance(value, str):
        pairs, critical = pairs_of(value)
        wanted = pairs[0][0]
    else:
        critical = "critical" in value
        wanted = next(item for item in value if item != "critical")
    if wanted not in _REASONS:
        raise SaltInvocationError("%r is not a valid ReasonFlags" % (wanted,))
    return critical, der.integer(_REASONS[wanted][1], der.ENUMERATED)


def _invalidity(value, *about):
    import datetime

    if not isinstance(value, str):
        raise SaltInvocationError("invalidityDate must be a string")
    critical = value.startswith("critical")
    if critical:
        value = value.split(" ", 1)[1]
    try:
        return critical, der.generalized(datetime.datetime.strptime(value, TIME))
    except ValueError as exc:
        raise SaltInvocationError(str(exc))


_BUILDERS = {
    "basicConstraints": _basic,
    "keyUsage": _usage,
    "extendedKeyUsage": _purposes,
    "subjectKeyIdentifier": _subject_key,
    "authorityKeyIdentifier": _authority_key,
    "issuerAltName": _issuer_names,
    "certificateIssuer": _issuer_names,
    "authorityInfoAccess": _access,
    "subjectAltName": _subject_names,
    "crlDistributionPoints": _points,
    "freshestCRL": _freshest,
    "issuingDistributionPoint": _issuing_point,
    "certificatePolicies": _policies,
    "policyConstraints": _policy_constraints,
    "inhibitAnyPolicy": _any_policy,
    "nameConstraints": _name_constraints,
    "noCheck": _no_check,
    "tlsfeature": _features,
    "nsComment": _ns_comment,
    "nsCertType": _ns_type,
    "cRLNumber": _number,
    "deltaCRLIndicator": _delta,
    "CRLReason": _reason,
    "invalidityDate": _invalidity,
}
REASONS = {number: name for name, (_, number) in _REASONS.items()}
REASON_BITS = {bit: name for name, (bit, _) in _REASONS.items() if bit is not None}
USAGES = _USAGES
FEATURES = {number: name for name, number in _FEATURES.items()}
