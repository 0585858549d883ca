"""Lines of ``authorized_keys`` files, and public keys as states write them: ``[options] type key [comment]``."""

import re

from thin.exceptions import CommandExecutionError

_LINE = re.compile(r"^(.*?)\s?((?:sk-)?(?:ssh-|ecds)[\w@.-]+\s.+)$")
_SHORT = {
    "r": "ssh-rsa",
    "rsa": "ssh-rsa",
    "d": "ssh-dss",
    "dsa": "ssh-dss",
    "dss": "ssh-dss",
    "e": "ecdsa-sha2-nistp256",
    "ecdsa": "ecdsa-sha2-nistp256",
    "ed25519": "ssh-ed25519",
}
_TYPE = re.compile(
    r"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp(?:256|384|521)|rsa-sha2-(?:256|512))\Z"
    r"|(?:ssh-(?:rsa|ed25519)|ecdsa-sha2-nistp(?:256|384|521)|rsa-sha2-(?:256|512)|sk-ssh-ed25519"
    r"|sk-ecdsa-sha2-nistp256)-cert-v01@openssh\.com\Z|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com\Z"
)


def key_type(name):
    """OpenSSH's name of a key type; accepts Salt's short names. Raises CommandExecutionError for an unknown type."""
    name = _SHORT.get(name, name)
    if not _TYPE.match(str(name)):
        raise CommandExecutionError("Incorrect encryption key type '%s'." % name)
    return name


def fields(text):
    """``(options, type, key, comment)`` of a line; None if the line has no key."""
    match = None if text.lstrip().startswith("#") else _LINE.search(text.strip())
    words = match.group(2).split() if match else ()
    if len(words) < 2:
        return None
    return match.group(1).split(",") if match.group(1) else [], words[0], words[1], " ".join(words[2:])


def wanted(name, enc, comment, options):
    """As ``fields``, for the name of a state: a whole line, or ``key [comment]``. The other arguments are the values of
    the fields that the name does not have."""
    parts = fields(name)
    if parts:
        return parts[0] or options or [], parts[1], parts[2], parts[3] or comment
    key, _, rest = name.strip().partition(" ")
    return options or [], enc, key, rest.strip() or comment


def line(options, enc, key, comment):
    """A line with its newline."""
    return "%s%s %s %s\n" % (",".join(options) + " " if options else "", enc, key, comment)


def fingerprint(key, hash_type=None):
    """The fingerprint as pairs of hexadecimal digits with colons; None if the key is not base64. Raises
    CommandExecutionError for an unknown hash type."""
    import base64
    import hashlib

    name = (hash_type or "sha256").lower()
    if name not in hashlib.algorithms_available or name.startswith("shake"):
        raise CommandExecutionError("The fingerprint_hash_type %s is not supported." % name)
    try:
        digest = hashlib.new(name, base64.b64decode(key, validate=True)).hexdigest()
    except ValueError:
        return None
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))


def parse(lines, hash_type=None):
    """``{key: {"enc", "comment", "options", "fingerprint"}}`` of all lines that have a key."""
    parsed = {}
    for options, enc, key, comment in filter(None, map(fields, lines)):
        digits = fingerprint(key, hash_type)
        if digits is not None:
            parsed[key] = {"enc": enc, "comment": comment, "options": options, "fingerprint": digits}
    return parsed
