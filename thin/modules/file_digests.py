"""Digests and sources of files: functions of the ``file`` module that determine the content of a managed file."""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files.arguments import cachedir, expand

__virtualname__ = "file"
__usual__ = True
__reads__ = (
    "get_hash",
    "get_sum",
    "check_hash",
    "extract_hash",
    "get_source_sum",
    "source_list",
    "apply_template_on_contents",
    "get_managed",
)


def get_hash(path, form="sha256", chunk_size=65536):
    """The hexadecimal digest of a file."""
    from thin.utils.files import hashes

    return hashes.file_hash(expand(path), form, chunk_size)


def get_sum(path, form="sha256"):
    """The hexadecimal digest of a file, or ``File not found``."""
    return get_hash(path, form) if os.path.isfile(expand(path)) else "File not found"


def check_hash(path, file_hash):
    """True when a file has the digest written as ``type=digest``, ``type:digest`` or just the digest."""
    from thin.utils.files import hashes

    return hashes.check(path, file_hash)


def extract_hash(hash_fn, hash_type="sha256", file_name="", source="", source_hash_name=None):
    """``{"hsum", "hash_type"}`` that a list of digests has for a file, or None."""
    from thin.utils.files import hashes

    with open(hash_fn, "rb") as lines:
        return hashes.extract(lines, hash_type, file_name, source, source_hash_name)


def get_source_sum(
    file_name="",
    source="",
    source_hash=None,
    source_hash_name=None,
    saltenv="base",
    verify_ssl=True,
    source_hash_sig=None,
    signed_by_any=None,
    signed_by_all=None,
    keyring=None,
    gnupghome=None,
    sig_backend="gpg",
):
    """``{"hsum", "hash_type"}`` of a ``source_hash`` in any of its forms."""
    from thin.utils.files import sources

    signed = _signed(
        source_hash_sig,
        saltenv,
        verify_ssl,
        sig_backend,
        signed_by_any,
        signed_by_all,
        keyring,
        gnupghome,
    )
    return sources.source_sum(file_name, source, source_hash, source_hash_name, saltenv, verify_ssl, signed)


def _signed(signature, *how):
    """The function that checks the signature of a file, or None if no signature is wanted; ``how``: see
    signatures.checker."""
    if not signature:
        return None
    from thin.utils.files import signatures

    return signatures.checker(signature, __salt__, __opts__, *how)


def source_list(source, source_hash, saltenv):
    """(source, source_hash); for a list of sources, the first that exists."""
    from thin.utils.files import sources

    return sources.choose(source, source_hash, saltenv)


def apply_template_on_contents(contents, template, context, defaults, saltenv):
    """The rendered text of a template that is given as text; a dict with ``result`` and ``comment`` if it cannot be
    rendered."""
    from thin import link
    from thin.utils.files import sources

    try:
        return sources.text(contents, saltenv, template, context, defaults).data.decode("utf-8")
    except link.LinkError as exc:
        return {"result": False, "comment": str(exc)}


def get_managed(
    name,
    template,
    source,
    source_hash,
    source_hash_name,
    user,
    group,
    mode,
    attrs,
    saltenv,
    context,
    defaults,
    skip_verify=False,
    verify_ssl=True,
    use_etag=False,
    source_hash_sig=None,
    signed_by_any=None,
    signed_by_all=None,
    keyring=None,
    gnupghome=None,
    ignore_ordering=False,
    ignore_whitespace=False,
    ignore_comment_characters=None,
    sig_backend="gpg",
    **kwargs,
):
    """(path of the content, {"hash_type", "hsum"}, the error as text if there is no content)."""
    from thin import link
    from thin.utils.files import content as contents_of
    from thin.utils.files import sources

    if not source:
        return "", {}, ""
    try:
        content = _content(
            name,
            template,
            source,
            source_hash,
            source_hash_name,
            saltenv,
            context,
            defaults,
            skip_verify,
            verify_ssl,
            _signed(
                source_hash_sig,
                saltenv,
                verify_ssl,
                sig_backend,
                signed_by_any,
                signed_by_all,
                keyring,
                gnupghome,
            ),
            use_etag,
        )
        if template:
            return contents_of.spooled(content), {"hash_type": content.hash_type, "hsum": content.hsum}, ""
        kept = sources.scheme(source) == "salt"
        return "" if kept else content.fetched(), {"hash_type": content.hash_type, "hsum": content.hsum}, ""
    except (CommandExecutionError, link.LinkError) as exc:
        return "", {}, str(exc)


def _content(
    name,
    template,
    source,
    source_hash,
    source_hash_name,
    saltenv,
    context,
    defaults,
    skip_verify,
    verify_ssl,
    signed=None,
    use_etag=False,
):
    from thin.utils.files import sources, web

    cache = web.cache_path(source, cachedir(__opts__), saltenv) if sources.scheme(source) in sources.REMOTE else None
    content = None
    if not template or sources.scheme(source) != "salt":
        content = sources.resolve(
            name, source, source_hash, source_hash_name, saltenv, skip_verify, verify_ssl, cache, signed, use_etag
        )
    return sources.rendered(source, saltenv, template, context, defaults, "", "", content) if template else content
