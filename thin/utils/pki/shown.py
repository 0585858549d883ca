"""Extensions in the format of Salt's ``read_certificate``: dicts with ``critical`` and the value."""

from thin.utils.pki import der, extensions, general, names, oids


def hexed(value):
    """``AB:CD:…`` from bytes or hexadecimal text."""
    text = value.hex() if isinstance(value, bytes) else value
    text = "0" + text if len(text) % 2 else text
    return ":".join(text[at : at + 2] for at in range(0, len(text), 2)).upper()


def number(value):
    """``AB:CD:…`` from an integer."""
    return hexed("%x" % value)


def all_of(values, identifiers=None):
    """{name of the argument: what it says} of {object identifier: (critical, DER)}. ``known``: {name: identifier}."""
    identifiers = identifiers or oids.EXTENSIONS
    order = oids.EXTENSION_ORDER if identifiers is oids.EXTENSIONS else identifiers
    found = {}
    for name in order:
        if identifiers[name] in values:
            critical, data = values[identifiers[name]]
            found[name] = dict({"critical": critical}, **_SHOWN[name](der.read(data)))
    return found


def _basic(item):
    ca, length = False, None
    for part in item.items():
        if part.tag == der.BOOLEAN:
            ca = part.body != b"\0"
        else:
            length = part.number()
    return {"ca": ca, "pathlen": length}


def _usage(item):
    found = item.flags()
    shown = {name: number in found for number, name in enumerate(extensions.USAGES)}
    if not shown["keyAgreement"]:
        shown["encipherOnly"] = shown["decipherOnly"] = False
    return shown


def _purposes(item):
    numbers = [part.oid() for part in item.items()]
    return {"value": [oids.PURPOSE_NAMES.get(one, one) for one in numbers]}


def _subject_key(item):
    return {"value": hexed(item.body)}


def _authority_key(item):
    found = {"keyid": None, "issuer": None, "issuer_sn": None}
    for part in item.items():
        if part.tag == 0x80:
            found["keyid"] = hexed(part.body)
        elif part.tag == 0xA1:
            found["issuer"] = [general.shown(name) for name in part]
        elif part.tag == 0x82:
            found["issuer_sn"] = number(part.number())
    return found


def _names(item):
    return {"value": [general.shown(name) for name in item.items()]}


def _access(item):
    found = []
    for part in item.items():
        method, location = part.items()
        # as in Salt, only these names are without their type
        found.append({oids.ACCESS_NAMES.get(method.oid(), method.oid()): general.shown(location).partition(":")[2]})
    return {"value": found}


def _point_name(item):
    """(full names, relative name) of a DistributionPointName."""
    inner = item.inner()
    if inner.tag == 0xA0:
        return [general.shown(name) for name in inner], None
    return [], names.relative_text(names.read_relative(inner, 0xA1))


def _reasons(item):
    return sorted(extensions.REASON_BITS[bit] for bit in item.flags() if bit in extensions.REASON_BITS)


def _points(item):
    found = []
    for part in item.items():
        point = {"crlissuer": [], "fullname": [], "reasons": [], "relativename": None}
        for piece in part.items():
            if piece.tag == 0xA0:
                point["fullname"], point["relativename"] = _point_name(piece)
            elif piece.tag == 0x81:
                point["reasons"] = _reasons(piece)
            elif piece.tag == 0xA2:
                point["crlissuer"] = [general.shown(name) for name in piece]
        found.append(point)
    return {"value": found}


def _issuing_point(item):
    # "onysomereasons" is how Salt spells it
    found = {
        "fullname": [],
        "onysomereasons": [],
        "relativename": None,
        "onlyuser": False,
        "onlyCA": False,
        "onlyAA": False,
        "indirectCRL": False,
    }
    flags = {0x81: "onlyuser", 0x82: "onlyCA", 0x84: "indirectCRL", 0x85: "onlyAA"}
    for part in item.items():
        if part.tag == 0xA0:
            found["fullname"], found["relativename"] = _point_name(part)
        elif part.tag == 0x83:
            found["onysomereasons"] = _reasons(part)
        elif part.tag in flags:
            found[flags[part.tag]] = part.body != b"\0"
    return found


def _policies(item):
    found = []
    for part in item.items():
        pieces = part.items()
        qualifiers = [_qualifier(*one.items()) for one in (pieces[1].items() if len(pieces) > 1 else ())]
        found.append({pieces[0].oid(): qualifiers})
    return {"value": found}


def _qualifier(kind, value):
    if kind.oid() == oids.CPS:
        return {"practice_statement": value.text()}
    # "organizataion" is how Salt spells it
    found = {"organizataion": None, "notice_numbers": None, "explicit_text": None}
    for part in value.items():
        if part.tag == der.SEQUENCE:
            organization, numbers = part.items()
            found["organizataion"] = organization.text()
            found["notice_numbers"] = [one.number() for one in numbers.items()]
        else:
            found["explicit_text"] = part.text()
    return found


def _policy_constraints(item):
    found = {"inhibitPolicyMapping": None, "requireExplicitPolicy": None}
    for part in item.items():
        found["requireExplicitPolicy" if part.tag == 0x80 else "inhibitPolicyMapping"] = part.number()
    return found


def _name_constraints(item):
    found = {"excluded": [], "permitted": []}
    for part in item.items():
        scope = "permitted" if part.tag == 0xA0 else "excluded"
        found[scope] = [general.shown(subtree.items()[0]) for subtree in part]
    return found


def _no_check(item):
    return {"value": True}


def _features(item):
    return {"value": [extensions.FEATURES.get(part.number(), part.number()) for part in item.items()]}


def _number(item):
    return {"value": item.number()}


def _reason(item):
    return {"value": extensions.REASONS[item.number()]}


def _date(item):
    return {"value": item.time().strftime(extensions.TIME)}


_SHOWN = {
    "basicConstraints": _basic,
    "keyUsage": _usage,
    "extendedKeyUsage": _purposes,
    "subjectKeyIdentifier": _subject_key,
    "authorityKeyIdentifier": _authority_key,
    "issuerAltName": _names,
    "certificateIssuer": _names,
    "authorityInfoAccess": _access,
    "subjectAltName": _names,
    "crlDistributionPoints": _points,
    "freshestCRL": _points,
    "issuingDistributionPoint": _issuing_point,
    "certificatePolicies": _policies,
    "policyConstraints": _policy_constraints,
    "inhibitAnyPolicy": _number,
    "nameConstraints": _name_constraints,
    "noCheck": _no_check,
    "tlsfeature": _features,
    "cRLNumber": _number,
    "deltaCRLIndicator": _number,
    "CRLReason": _reason,
    "invalidityDate": _date,
}
