"""Resolves the source of a managed file: ``salt://``, paths of the target, http(s) and ftp, with Salt's rules and
texts. Other schemes (``s3://``) are served by plug-ins of the controller, as a file identified by its digest.
"""

import os
import stat

from thin import link
from thin.exceptions import CommandExecutionError
from thin.utils.files import content, hashes, safepath
from thin.utils.files.urls import redact

REMOTE = ("http", "https", "ftp")
MISMATCH = (
    "Specified %%s checksum for %s (%%s) does not match actual checksum (%%s)%s. If the 'source_hash' value refers to "
    "a remote file with multiple possible matches, then it may be necessary to set 'source_hash_name'."
)


def mismatch(name, source):
    """The error text for a source with another digest, a format for (hash type, wanted digest, found digest)."""
    shown = redact(source).replace("%", "%%")
    return MISMATCH % ((name.replace("%", "%%"), " of " + shown if source else "") if name else (shown, ""))


class NoContent(CommandExecutionError):
    """The source cannot be read. In Salt, the comment of a dry run is this text alone, that of a real run has "Unable
    to manage file: " before it."""


def scheme(source):
    """The scheme of a source in lower case, "" for a path."""
    head, separator, _ = str(source).partition("://")
    head = head.lower()
    return head if separator and (head in hashes.PROTOCOLS or head.isidentifier()) else ""


def _is_plugged(kind):
    """Whether sources of this scheme are served by a plug-in of the controller."""
    return kind not in ("", "file", "salt") and kind not in REMOTE


def local_path(source):
    """The path of ``/a/b`` or ``file:///a/b``."""
    return source[len("file://") :].rstrip("/") if scheme(source) == "file" else source


def choose(source, source_hash, saltenv):
    """(source, source_hash). If ``source`` is a list: the first entry that exists, with its own hash if it has one.

    Raises CommandExecutionError if none exists. Salt: ``file.source_list``.
    """
    if not isinstance(source, (list, tuple)):
        return source, source_hash
    for entry in source:
        single, single_hash = entry, source_hash
        if isinstance(entry, dict):
            if len(entry) != 1:
                continue
            [(single, own)] = entry.items()
            single_hash = own or source_hash
        if exists(str(single), saltenv):
            return single, single_hash
    raise CommandExecutionError("none of the specified sources were found")


def exists(source, saltenv):
    """Whether a source exists: a file or directory of the file server, a path of this machine, a URL that answers."""
    kind = scheme(source)
    if kind == "salt":
        return link.file_digest(source, saltenv) is not None or link.tree(source, saltenv) is not None
    if kind in REMOTE:
        from thin.utils.files import web

        return web.exists(source)
    if _is_plugged(kind):
        return link.file_digest(source, saltenv) is not None
    path = local_path(source)
    return path.startswith(os.sep) and os.path.exists(path)


def source_sum(name, source, source_hash, source_hash_name, saltenv, verify_ssl=True, signed=None):
    """``{"hash_type", "hsum"}`` of a ``source_hash``: a digest, ``type=digest``, or the path or URL of a list of
    digests.

    ``signed(path)``: raises if the list has no valid signature. Raises CommandExecutionError. Salt:
    ``file.get_source_sum``.
    """
    if is_list_of_hashes(source_hash):
        path = _hash_list(source_hash, saltenv, verify_ssl)
        try:
            if signed is not None:
                signed(path)
            with open(path, "rb") as lines:
                digest = hashes.extract(lines, "", name, source, source_hash_name)
        finally:
            if scheme(source_hash) in REMOTE:
                safepath.unlink(path)  # our copy of the list
        if digest is None:
            raise hashes.bad_format(source_hash)
        return {"hash_type": digest["hash_type"], "hsum": digest["hsum"].lower()}
    return hashes.parse(source_hash)


def is_list_of_hashes(source_hash):
    """Whether a ``source_hash`` is the path or URL of a list of digests."""
    return isinstance(source_hash, str) and bool(os.path.isabs(source_hash) or scheme(source_hash))


def _hash_list(source_hash, saltenv, verify_ssl):
    path = fetch(source_hash, saltenv, verify_ssl)
    if not path or not os.path.isfile(path):
        raise CommandExecutionError("Source hash file %s not found" % redact(source_hash))
    return path


def fetch(source, saltenv, verify_ssl=True, have=(), cache=None, use_etag=False):
    """The path of a local copy of a source, or None if it does not exist. Raises CommandExecutionError, LinkError."""
    kind = scheme(source)
    if kind == "salt" or _is_plugged(kind):
        return link.file(source, saltenv, have)
    if kind in REMOTE:
        from thin.utils.files import web

        return web.fetch(source, verify_ssl, cache, use_etag)
    path = local_path(source)
    return path if os.path.exists(path) else None


def resolve(
    name,
    source,
    source_hash,
    source_hash_name,
    saltenv,
    skip_verify=False,
    verify_ssl=True,
    cache=None,
    signed=None,
    use_etag=False,
):
    """The content of a source. Raises NoContent with Salt's text. A file of ``salt://`` is not transferred yet."""
    kind = scheme(source)
    if kind == "salt":
        digest = link.file_digest(source, saltenv)
        if digest is None:
            raise NoContent("Source file %s not found in saltenv '%s'" % (source, saltenv))
        return served(source, digest, saltenv)
    if kind in ("", "file"):
        path = local_path(source)
        if not os.path.exists(path):
            raise NoContent("Local file source %s does not exist" % path)
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise NoContent("Local file source %s is a named pipe" % path)  # reading it could block forever
        if not source_hash or skip_verify:
            return content.LocalFile(path)
        return content.LocalFile(
            path,
            _wanted_sum(name, source, source_hash, source_hash_name, saltenv, verify_ssl, signed),
            mismatch(name, source),
        )
    if _is_plugged(kind):
        return _plugged(name, source, source_hash, source_hash_name, saltenv, skip_verify, verify_ssl, signed)
    shown = redact(source)
    wanted = None
    if not skip_verify:
        if not source_hash and not use_etag:
            raise NoContent(
                "Unable to verify upstream hash of source file %s, please set source_hash or set skip_verify to "
                "True" % shown
            )
        if source_hash:
            wanted = _wanted_sum(name, source, source_hash, source_hash_name, saltenv, verify_ssl, signed)

    def download():
        if wanted and cache and hashes.is_file_of(cache, wanted):
            return cache
        try:
            return fetch(source, saltenv, verify_ssl, cache=cache, use_etag=use_etag)
        except CommandExecutionError as exc:
            raise NoContent("Failed to cache %s: %s" % (shown, exc))

    return content.Fetched(shown, download, wanted, mismatch(name, source))


def _plugged(name, source, source_hash, source_hash_name, saltenv, skip_verify, verify_ssl, signed):
    try:
        digest = link.file_digest(source, saltenv)
    except link.LinkError as exc:
        raise NoContent(str(exc))
    if digest is None:
        raise NoContent("Source file %s not found" % redact(source))
    if not source_hash or skip_verify:
        return served(source, digest, saltenv)
    wanted = _wanted_sum(name, source, source_hash, source_hash_name, saltenv, verify_ssl, signed)
    return content.Fetched(redact(source), lambda: link.file(source, saltenv), wanted, mismatch(name, source))


def served(source, digest, saltenv):
    """The content of a file of the file server with this SHA-256; it is transferred when its bytes are needed."""
    return content.Fetched(source, lambda: link.file(source, saltenv), {"hash_type": "sha256", "hsum": digest})


def _wanted_sum(name, source, source_hash, source_hash_name, saltenv, verify_ssl, signed):
    try:
        return source_sum(name, source, source_hash, source_hash_name, saltenv, verify_ssl, signed)
    except CommandExecutionError as exc:
        raise NoContent("Unable to manage file: %s" % exc)


def rendered(source, saltenv, engine, context, defaults, tag, sls, fetched=None, names=None):
    """The content that the controller renders from a template. Raises NoContent with the error of rendering.

    ``fetched``: the template, if it is not on ``salt://``. ``names``: see thin.link.template.
    """
    try:
        if scheme(source) == "salt":
            made = link.template(source, saltenv, engine, context, defaults, tag, sls, names=names)
            return content.Data(_bytes(made))
        return text(content.read_file(fetched.fetched()), saltenv, engine, context, defaults, tag, sls, names)
    except link.LinkError as exc:
        if scheme(source) == "salt" and link.connected() and link.file_digest(source, saltenv) is None:
            raise NoContent("Source file %s not found in saltenv '%s'" % (source, saltenv))
        raise NoContent(str(exc))


def text(template, saltenv, engine, context, defaults, tag="", sls="", names=None):
    """The content that the controller renders from the text of a template. Raises LinkError."""
    if isinstance(template, bytes):
        template = template.decode("utf-8")
    return content.Data(_bytes(link.template(None, saltenv, engine, context, defaults, tag, sls, template, names)))


def _bytes(data):
    return data if isinstance(data, bytes) else data.encode("utf-8")


def server_mode(source, saltenv):
    """The mode of a source on the file server or on this machine (``mode: keep``), or None."""
    try:
        if scheme(source) == "salt":
            return link.ask("cp.stat_file", [source], {"saltenv": saltenv, "octal": True})
        from thin.utils.files import owner

        return owner.mode_text(os.stat(local_path(source)))
    except (OSError, link.LinkError):
        return None
