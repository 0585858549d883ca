"""Digests of files, and the forms in which ``source_hash`` gives them."""

import hashlib
import os

from thin.exceptions import CommandExecutionError, SaltInvocationError

#: Hash type -> length of its hexadecimal text.
LENGTHS = {"sha512": 128, "sha384": 96, "sha256": 64, "sha224": 56, "sha1": 40, "md5": 32}
TYPES = {length: name for name, length in LENGTHS.items()}
PROTOCOLS = ("salt", "file", "http", "https", "ftp", "swift", "s3")


def new(form):
    """An empty hash object. Raises ValueError for a type that Python does not have."""
    if form not in hashlib.algorithms_available:
        raise ValueError("Invalid hash type: %s" % form)
    return hashlib.new(form)


def file_hash(path, form="sha256", chunk_size=1 << 18):
    """The hexadecimal digest of a file, which is read in pieces."""
    digest = new(form)
    with open(path, "rb", opener=at_once) as source:
        for chunk in iter(lambda: source.read(chunk_size), b""):
            digest.update(chunk)
    return digest.hexdigest()


def at_once(path, flags):
    """An opener for ``open`` that does not block if the file is a named pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def is_file_of(path, source_sum):
    """Whether the file exists and has the digest ``{"hash_type", "hsum"}``."""
    try:
        return file_hash(path, source_sum["hash_type"]) == source_sum["hsum"].lower()
    except OSError:
        return False


def data_hash(data, form="sha256"):
    digest = new(form)
    digest.update(data)
    return digest.hexdigest()


def bad_format(text):
    return CommandExecutionError(
        "Source hash %s format is invalid. The supported formats are: 1) a hash, 2) an expression in the format "
        "<hash_type>=<hash>, or 3) either a path to a local file containing hashes, or a URI of a remote hash file. "
        "Supported protocols for remote hash files are: %s. The hash may also not be of a valid length, the following "
        "are supported hash types and lengths: %s."
        % (text, ", ".join(PROTOCOLS), ", ".join("%s (%d)" % (TYPES[size], size) for size in sorted(TYPES)))
    )


def parse(text):
    """``{"hash_type", "hsum"}`` of "sha256=ab12..." or of a bare digest, whose type follows from its length.

    Raises CommandExecutionError with what is wrong and what is allowed.
    """
    if not isinstance(text, str):
        raise bad_format(text)
    kind, equals, hsum = (part.strip() for part in text.partition("="))
    if not equals:
        kind, hsum = TYPES.get(len(text)), text
        if kind is None or not _is_hex(text):
            raise bad_format(text)
    if kind not in LENGTHS:
        raise CommandExecutionError(
            "Invalid hash type '%s'. Supported hash types are: %s. Either remove the hash type and simply use '%s' "
            "as the "
            "source_hash, or change the hash type to a supported type." % (kind, ", ".join(LENGTHS), hsum)
        )
    if len(hsum) not in TYPES:
        raise bad_format(text)
    if len(hsum) != LENGTHS[kind]:
        raise CommandExecutionError(
            "Invalid length (%d) for hash type '%s'. Either remove the hash type and simply use '%s' as the "
            "source_hash, "
            "or change the hash type to '%s'" % (len(hsum), kind, hsum, TYPES[len(hsum)])
        )
    return {"hash_type": kind, "hsum": hsum.lower()}


def _is_hex(text):
    try:
        int(text, 16)
    except ValueError:
        return False
    return text.isalnum()


def check(path, text):
    """Whether the file has the digest, which is given as "type=digest", "type:digest" or a bare digest."""
    if not isinstance(text, str):
        raise SaltInvocationError("hash must be a string")
    for separator in (":", "="):
        if separator in text:
            kind, _, hsum = text.partition(separator)
            break
    else:
        kind, hsum = TYPES.get(len(text)), text
        if kind is None:
            raise SaltInvocationError(
                "Hash %s (length: %d) could not be matched to a supported hash type. The supported hash types and "
                "lengths are: %s" % (text, len(text), ", ".join("%s (%d)" % (TYPES[n], n) for n in sorted(TYPES)))
            )
    return file_hash(os.path.expanduser(path), kind) == hsum


def extract(lines, hash_type="sha256", file_name="", source="", source_hash_name=None):
    """The digest of a file in a list such as SHA256SUMS, as ``{"hsum", "hash_type"}``, or None.

    A line with ``source_hash_name`` is preferred, then one with the file's name, then one with the source's name; if
    there is none, the first digest of the list is used. If ``hash_type`` is unknown, digests of any type are accepted.
    """
    import re
    from urllib.parse import urlparse

    length = LENGTHS.get(hash_type)
    sizes = str(length) if length else "%d,%d" % (min(TYPES), max(TYPES))
    pattern = re.compile(r"(?i)(?<![a-z0-9])([a-f0-9]{%s})(?![a-z0-9])" % sizes)
    names = []  # (name at the end of a line, characters that may precede it, name at the beginning of a line)
    if source_hash_name:
        names.append((str(source_hash_name), " \t\r\n\x0b\x0c", str(source_hash_name)))
    for name in (file_name, source):
        if name:
            parsed = urlparse(str(name)) if name is source else None
            tail = os.path.basename((parsed.path or parsed.netloc) if parsed else str(name))
            names.append((tail, " \t\r\n\x0b\x0c\\/*", str(name)))
    result, first = {}, None
    for line in lines:
        line = (line.decode("utf-8", "replace") if isinstance(line, bytes) else line).strip()
        match = pattern.search(line)
        if not match or len(match.group(1)) not in TYPES:
            continue
        entry = {"hsum": match.group(1), "hash_type": TYPES[len(match.group(1))]}
        first = first or entry
        for rank, (tail, before, head) in enumerate(names):
            at_end = line.endswith(tail) and len(line) > len(tail) and line[-len(tail) - 1] in before
            at_start = not line.endswith(tail) and re.match(re.escape(head) + r"\s+", line)
            if at_end or at_start:
                result.setdefault(rank, entry)
    return result[min(result)] if result else first
