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
    result = {}
    for name in order:
        if identifiers[name] in values:
            critical, data = values[identifiers[name]]
            result[name] = dict({"critical": critical}, **_SHOWN[name](der.read(data)))
    return result


def _basic(item):
    ca, length = False, None
    for part in item.items():
        if part.tag == der.BOOLEAN:
            ca = part.body != b"\0"
        else:
            length = part.number()
    return {"ca": ca, "pathlen": length}


def _usage(item):
    flags = item.flags()
    shown = {name: number in flags for number, name in enumerate(extensions.USAGES)}
    if not shown["keyAgreement"]:
        shown["encipherOnly"] = shown["decipherOnly"] = False
    return shown


def _purposes(item):
    numbers = [part.oid() for part in item.items()]
    return {"value": [oids.PURPOSE_NAMES.get(one, one) for one in numbers]}


def _subject_key(item):
    return {"value": hexed(item.body)}


def _authority_key(item):
    result = {"keyid": None, "issuer": None, "issuer_sn": None}
    for part in item.items():
        if part.tag == 0x80:
            result["keyid"] = hexed(part.body)
        elif part.tag == 0xA1:
            result["issuer"] = [general.shown(name) for name in part]
        elif part.tag == 0x82:
            result["issuer_sn"] = number(part.number())
    return result


def _names(item):
    return {"value": [general.shown(name) for name in item.items()]}


def _access(item):
    access = []
    for part in item.items():
        method, location = part.items()
        # as in Salt, only these names are without their type
        access.append({oids.ACCESS_NAMES.get(method.oid(), method.oid()): general.shown(location).partition(":")[2]})
    return {"value": access}


def _point_name(item):
    """(full names, relative name) of a DistributionPointName."""
    inner = item.inner()
    if inner.tag == 0xA0:
        return [general.shown(name) for name in inner], None
    return [], names.relative_text(names.read_relative(inner, 0xA1))


def _reasons(item):
    return sorted(extensions.REASON_BITS[bit] for bit in item.flags() if bit in extensions.REASON_BITS)


def _points(item):
    points = []
    for part in item.items():
        point = {"crlissuer": [], "fullname": [], "reasons": [], "relativename": None}
        for piece in part.items():
            if piece.tag == 0xA0:
                point["fullname"], point["relativename"] = _point_name(piece)
            elif piece.tag == 0x81:
                point["reasons"] = _reasons(piece)
            elif piece.tag == 0xA2:
                point["crlissuer"] = [general.shown(name) for name in piece]
        points.append(point)
    return {"value": points}


def _issuing_point(item):
    # "onysomereasons" is how Salt spells it
    result = {
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
            result["fullname"], result["relativename"] = _point_name(part)
        elif part.tag == 0x83:
            result["onysomereasons"] = _reasons(part)
        elif part.tag in flags:
            result[flags[part.tag]] = part.body != b"\0"
    return result


def _policies(item):
    policies = []
    for part in item.items():
        pieces = part.items()
        qualifiers = [_qualifier(*one.items()) for one in (pieces[1].items() if len(pieces) > 1 else ())]
        policies.append({pieces[0].oid(): qualifiers})
    return {"value": policies}


def _qualifier(kind, value):
    if kind.oid() == oids.CPS:
        return {"practice_statement": value.text()}
    # "organizataion" is how Salt spells it
    result = {"organizataion": None, "notice_numbers": None, "explicit_text": None}
    for part in value.items():
        if part.tag == der.SEQUENCE:
            organization, numbers = part.items()
            result["organizataion"] = organization.text()
            result["notice_numbers"] = [one.number() for one in numbers.items()]
        else:
            result["explicit_text"] = part.text()
    return result


def _policy_constraints(item):
    policy_constraints = {"inhibitPolicyMapping": None, "requireExplicitPolicy": None}
    for part in item.items():
        policy_constraints["requireExplicitPolicy" if part.tag == 0x80 else "inhibitPolicyMapping"] = part.number()
    return policy_constraints


def _name_constraints(item):
    name_constraints = {"excluded": [], "permitted": []}
    for part in item.items():
        scope = "permitted" if part.tag == 0xA0 else "excluded"
        name_constraints[scope] = [general.shown(subtree.items()[0]) for subtree in part]
    return name_constraints


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
