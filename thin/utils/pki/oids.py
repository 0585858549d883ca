"""Object identifiers, and their names in Salt's arguments and returns."""

#: Attributes of distinguished names, in the order in which those of a dict are encoded.
NAME_ATTRS = {
    "C": "2.5.4.6",
    "ST": "2.5.4.8",
    "L": "2.5.4.7",
    "STREET": "2.5.4.9",
    "O": "2.5.4.10",
    "OU": "2.5.4.11",
    "CN": "2.5.4.3",
    "MAIL": "1.2.840.113549.1.9.1",
    "SN": "2.5.4.4",
    "GN": "2.5.4.42",
    "UID": "0.9.2342.19200300.100.1.1",
    "SERIALNUMBER": "2.5.4.5",
}
NAME_ORDER = ("C", "ST", "L", "STREET", "O", "OU", "CN", "MAIL", "SN", "GN", "UID", "SERIALNUMBER")
NAME_LONG = {
    "CN": ("commonName",),
    "L": ("localityName",),
    "ST": ("stateOrProvinceName",),
    "O": ("organizationName",),
    "OU": ("organizationUnitName",),
    "GN": ("givenName",),
    "SN": ("surname",),
    "MAIL": ("Email", "emailAddress"),
    "SERIALNUMBER": ("serialNumber",),
}

#: Attributes with short names in RFC 4514.
RFC4514 = {
    "CN": "2.5.4.3",
    "L": "2.5.4.7",
    "ST": "2.5.4.8",
    "O": "2.5.4.10",
    "OU": "2.5.4.11",
    "C": "2.5.4.6",
    "STREET": "2.5.4.9",
    "DC": "0.9.2342.19200300.100.1.25",
    "UID": "0.9.2342.19200300.100.1.1",
}

#: Extensions by the names of Salt's arguments, in the order in which they are encoded.
EXTENSION_ORDER = (
    "basicConstraints",
    "keyUsage",
    "extendedKeyUsage",
    "subjectKeyIdentifier",
    "authorityKeyIdentifier",
    "issuerAltName",
    "authorityInfoAccess",
    "subjectAltName",
    "crlDistributionPoints",
    "issuingDistributionPoint",
    "certificatePolicies",
    "policyConstraints",
    "inhibitAnyPolicy",
    "nameConstraints",
    "noCheck",
    "tlsfeature",
    "nsComment",
    "nsCertType",
    "cRLNumber",
    "deltaCRLIndicator",
    "freshestCRL",
)
EXTENSIONS = {
    "basicConstraints": "2.5.29.19",
    "keyUsage": "2.5.29.15",
    "extendedKeyUsage": "2.5.29.37",
    "subjectKeyIdentifier": "2.5.29.14",
    "authorityKeyIdentifier": "2.5.29.35",
    "issuerAltName": "2.5.29.18",
    "authorityInfoAccess": "1.3.6.1.5.5.7.1.1",
    "subjectAltName": "2.5.29.17",
    "crlDistributionPoints": "2.5.29.31",
    "issuingDistributionPoint": "2.5.29.28",
    "certificatePolicies": "2.5.29.32",
    "policyConstraints": "2.5.29.36",
    "inhibitAnyPolicy": "2.5.29.54",
    "nameConstraints": "2.5.29.30",
    "noCheck": "1.3.6.1.5.5.7.48.1.5",
    "tlsfeature": "1.3.6.1.5.5.7.1.24",
    "nsComment": None,
    "nsCertType": None,
    "cRLNumber": "2.5.29.20",
    "deltaCRLIndicator": "2.5.29.27",
    "freshestCRL": "2.5.29.46",
}
EXTENSION_LONG = {
    "basicConstraints": ("X509v3 Basic Constraints",),
    "keyUsage": ("X509v3 Key Usage",),
    "extendedKeyUsage": ("X509v3 Extended Key Usage",),
    "subjectKeyIdentifier": ("X509v3 Subject Key Identifier",),
    "authorityKeyIdentifier": ("X509v3 Authority Key Identifier",),
    "issuerAltName": ("X509v3 Issuer Alternative Name", "issuserAltName"),
    "authorityInfoAccess": ("Authority Information Access",),
    "subjectAltName": ("X509v3 Subject Alternative Name",),
    "crlDistributionPoints": ("X509v3 CRL Distribution Points",),
    "issuingDistributionPoint": ("X509v3 Issuing Distribution Point",),
    "certificatePolicies": ("X509v3 Certificate Policies",),
    "policyConstraints": ("X509v3 Policy Constraints",),
    "inhibitAnyPolicy": ("X509v3 Inhibit Any Policy",),
    "nameConstraints": ("X509v3 Name Constraints",),
    "noCheck": ("OCSP No Check",),
    "tlsfeature": ("TLS Feature",),
    "nsComment": ("Netscape Comment",),
    "nsCertType": ("Netscape Certificate Type",),
    "cRLNumber": ("X509v3 CRLNumber",),
    "deltaCRLIndicator": ("X509v3 Delta CRL Indicator",),
    "freshestCRL": ("x509v3 Freshest CRL",),
}
CRL_ENTRY = {"certificateIssuer": "2.5.29.29", "CRLReason": "2.5.29.21", "invalidityDate": "2.5.29.24"}
FOR_CERTIFICATES = frozenset(EXTENSION_ORDER) - {
    "issuingDistributionPoint",
    "cRLNumber",
    "deltaCRLIndicator",
    "freshestCRL",
}
FOR_CRLS = (
    "authorityKeyIdentifier",
    "authorityInfoAccess",
    "cRLNumber",
    "deltaCRLIndicator",
    "freshestCRL",
    "issuerAltName",
    "issuingDistributionPoint",
)
#: Extensions that a request cannot contain and that are not copied from one.
NOT_IN_REQUESTS = ("authorityInfoAccess", "authorityKeyIdentifier", "issuerAltName", "crlDistributionPoints")

#: Extensions whose name in changes differs from that of the argument.
SHOWN = {
    "2.5.29.31": "cRLDistributionPoints",
    "1.3.6.1.5.5.7.48.1.5": "OCSPNoCheck",
    "1.3.6.1.5.5.7.1.24": "TLSFeature",
    "2.5.29.9": "subjectDirectoryAttributes",
    "2.5.29.16": "privateKeyUsagePeriod",
    "2.5.29.33": "policyMappings",
    "1.3.6.1.5.5.7.1.11": "subjectInfoAccess",
    "1.3.6.1.4.1.11129.2.4.2": "signedCertificateTimestampList",
    "1.3.6.1.4.1.11129.2.4.3": "ctPoison",
    "1.3.6.1.4.1.311.21.7": "msCertificateTemplate",
}

PURPOSES = {
    "serverAuth": "1.3.6.1.5.5.7.3.1",
    "clientAuth": "1.3.6.1.5.5.7.3.2",
    "codeSigning": "1.3.6.1.5.5.7.3.3",
    "emailProtection": "1.3.6.1.5.5.7.3.4",
    "timeStamping": "1.3.6.1.5.5.7.3.8",
    "OCSPSigning": "1.3.6.1.5.5.7.3.9",
    "msSmartcardLogin": "1.3.6.1.4.1.311.20.2.2",
    "pkInitKDC": "1.3.6.1.5.2.3.5",
    "ipsecIKE": "1.3.6.1.5.5.7.3.17",
    "msCodeInd": "1.3.6.1.4.1.311.2.1.21",
    "msCodeCom": "1.3.6.1.4.1.311.2.1.22",
    "msCTLSign": "1.3.6.1.4.1.311.10.3.1",
    "msEFS": "1.3.6.1.4.1.311.10.3.4",
}
#: Purposes that Salt shows by their numbers.
_UNNAMED = ("ipsecIKE", "msCodeInd", "msCodeCom", "msCTLSign", "msEFS")
PURPOSE_NAMES = {number: name for name, number in PURPOSES.items() if name not in _UNNAMED}
ACCESS = {"OCSP": "1.3.6.1.5.5.7.48.1", "caIssuers": "1.3.6.1.5.5.7.48.2", "caRepository": "1.3.6.1.5.5.7.48.5"}
ACCESS_NAMES = {number: name for name, number in ACCESS.items()}
CPS, USER_NOTICE = "1.3.6.1.5.5.7.2.1", "1.3.6.1.5.5.7.2.2"

RSA, EC = "1.2.840.113549.1.1.1", "1.2.840.10045.2.1"
ED25519, ED448 = "1.3.101.112", "1.3.101.113"
RSA_PSS = "1.2.840.113549.1.1.10"
KEY_TYPES = {RSA: "rsa", EC: "ec", ED25519: "ed25519", ED448: "ed448"}
#: Named curves: the size in bits.
CURVES = {
    "1.2.840.10045.3.1.7": 256,
    "1.3.132.0.34": 384,
    "1.3.132.0.35": 521,
    "1.2.840.10045.3.1.1": 192,
    "1.3.132.0.33": 224,
    "1.3.132.0.10": 256,
    "1.3.36.3.3.2.8.1.1.7": 256,
    "1.3.36.3.3.2.8.1.1.11": 384,
    "1.3.36.3.3.2.8.1.1.13": 512,
}

#: Signatures: name, type of the key, openssl's name of the digest.
SIGNATURES = {
    "1.2.840.113549.1.1.4": ("md5WithRSAEncryption", "rsa", "md5"),
    "1.2.840.113549.1.1.5": ("sha1WithRSAEncryption", "rsa", "sha1"),
    "1.2.840.113549.1.1.14": ("sha224WithRSAEncryption", "rsa", "sha224"),
    "1.2.840.113549.1.1.11": ("sha256WithRSAEncryption", "rsa", "sha256"),
    "1.2.840.113549.1.1.12": ("sha384WithRSAEncryption", "rsa", "sha384"),
    "1.2.840.113549.1.1.13": ("sha512WithRSAEncryption", "rsa", "sha512"),
    "2.16.840.1.101.3.4.3.13": ("2.16.840.1.101.3.4.3.13", "rsa", "sha3-224"),
    "2.16.840.1.101.3.4.3.14": ("2.16.840.1.101.3.4.3.14", "rsa", "sha3-256"),
    "2.16.840.1.101.3.4.3.15": ("2.16.840.1.101.3.4.3.15", "rsa", "sha3-384"),
    "2.16.840.1.101.3.4.3.16": ("2.16.840.1.101.3.4.3.16", "rsa", "sha3-512"),
    "1.2.840.10045.4.1": ("ecdsa-with-SHA1", "ec", "sha1"),
    "1.2.840.10045.4.3.1": ("ecdsa-with-SHA224", "ec", "sha224"),
    "1.2.840.10045.4.3.2": ("ecdsa-with-SHA256", "ec", "sha256"),
    "1.2.840.10045.4.3.3": ("ecdsa-with-SHA384", "ec", "sha384"),
    "1.2.840.10045.4.3.4": ("ecdsa-with-SHA512", "ec", "sha512"),
    "2.16.840.1.101.3.4.3.9": ("2.16.840.1.101.3.4.3.9", "ec", "sha3-224"),
    "2.16.840.1.101.3.4.3.10": ("2.16.840.1.101.3.4.3.10", "ec", "sha3-256"),
    "2.16.840.1.101.3.4.3.11": ("2.16.840.1.101.3.4.3.11", "ec", "sha3-384"),
    "2.16.840.1.101.3.4.3.12": ("2.16.840.1.101.3.4.3.12", "ec", "sha3-512"),
    RSA_PSS: ("rsassaPss", "rsa", "sha256"),
    ED25519: ("ed25519", "ed25519", None),
    ED448: ("ed448", "ed448", None),
}
SIGNING = {(key, digest): number for number, (_, key, digest) in SIGNATURES.items() if number != RSA_PSS}


def short(kwargs):
    """Rename long names of attributes and extensions in the arguments to the short ones, in place."""
    for names in (NAME_LONG, EXTENSION_LONG):
        for name, others in names.items():
            for other in others:
                if other in kwargs:
                    kwargs[name] = kwargs.pop(other)
    return kwargs


def shown(number):
    """The name of an extension in changes."""
    if number in SHOWN:
        return SHOWN[number]
    for names in (EXTENSIONS, CRL_ENTRY):
        for name, other in names.items():
            if other == number:
                return name
    return "Unknown OID"
