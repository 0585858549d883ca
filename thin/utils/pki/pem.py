"""PEM: DER in base64, between two lines with its type."""

import re

from thin.exceptions import SaltInvocationError

_BLOCK = re.compile(rb"-----BEGIN ([^\r\n-]+)-----[ \t]*\r?\n(.*?)-----END \1-----", re.DOTALL)


def armor(kind, data):
    """PEM (bytes) of DER."""
    import base64

    coded = base64.b64encode(data)
    lines = [coded[at : at + 64] for at in range(0, len(coded), 64)]
    name = kind.encode("ascii") + b"-----"
    return b"\n".join([b"-----BEGIN " + name] + lines + [b"-----END " + name, b""])


def blocks(data):
    """[(kind, headers, DER)] of the blocks in bytes. ``headers``: of encrypted keys in the old format. Raises
    ValueError."""
    import base64

    blocks = []
    for kind, body in _BLOCK.findall(data):
        headers, blank, rest = body.replace(b"\r", b"").partition(b"\n\n")
        if not blank or b":" not in headers:
            headers, rest = b"", body
        blocks.append((kind.decode("ascii"), headers, base64.b64decode(rest, validate=False)))
    return blocks


def is_pem(data):
    return b"-----BEGIN" in data


def tidy(text, kind=None):
    """The first block of a text (whose kind matches the pattern ``kind``), in lines of 64 characters, as bytes.

    Accepts blocks whose line ends were lost or written as ``\\n``. Raises SaltInvocationError without a block.
    """
    text = text.replace("\\n", "\n")
    shown = "(it holds a private key, and is not shown)" if "PRIVATE KEY" in text else text
    pattern = "-----BEGIN (%s)-----(.*?)-----END \\1-----" % ("(?:%s)" % kind if kind else "[0-9A-Z ]+")
    match = re.search(pattern, text, re.DOTALL)
    if not match:
        if kind:
            raise SaltInvocationError("PEM does not contain a single entry of type %s:\n%s" % (kind, shown))
        raise SaltInvocationError("PEM text not valid:\n%s" % shown)
    name, body = match.group(1), match.group(match.lastindex)
    headers = re.match(r"\s*(Proc-Type: 4,ENCRYPTED)\s*(DEK-Info: [0-9A-Z-]+,[0-9A-Fa-f]+)\s", body)
    lines = ["-----BEGIN %s-----" % name]
    if headers:
        lines += [headers.group(1), headers.group(2), ""]
        body = body[headers.end() :]
    body = "".join(body.split())
    if not body:
        raise SaltInvocationError("PEM text not valid:\n%s" % shown)
    lines += [body[at : at + 64] for at in range(0, len(body), 64)]
    return ("\n".join(lines + ["-----END %s-----" % name]) + "\n").encode("ascii")
