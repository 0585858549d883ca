"""Fetches sources by http, https and ftp, with the standard library, or with curl or wget if that is incomplete."""

import os

from thin import detail
from thin.exceptions import CommandExecutionError
from thin.utils.files import atomic, osutil, safepath
from thin.utils.files.urls import redact

TIMEOUT = 60


def _open(url, verify_ssl=True, method=None, etag=None):
    try:
        import urllib.request
    except ImportError:
        from thin.utils.files import webtool

        return webtool.open_url(url, verify_ssl, method == "HEAD", TIMEOUT)
    handlers = []
    if not verify_ssl and url.lower().startswith("https:"):
        import ssl

        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        handlers.append(urllib.request.HTTPSHandler(context=context))
    url, login = _split_login(url)
    # The schemes are those of sources.REMOTE; file: is never passed here.
    request = urllib.request.Request(url, method=method, headers={"User-Agent": "pushsalt"})  # noqa: S310
    if etag:
        request.add_header("If-None-Match", etag)
    if login:
        import base64

        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode("utf-8")).decode("ascii"))
    return urllib.request.build_opener(*handlers).open(request, timeout=TIMEOUT)


def _split_login(url):
    from urllib.parse import unquote, urlsplit, urlunsplit

    parts = urlsplit(url)
    if "@" not in parts.netloc or parts.scheme not in ("http", "https"):
        return url, None
    login, _, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment)), unquote(login)


def exists(url):
    """Whether the server answers a HEAD request successfully (for ftp: whether the file can be opened)."""
    try:
        with _open(url, method="HEAD" if url.lower().startswith("http") else None) as answer:
            answer.read(1)
    except (OSError, ValueError):  # URLError and HTTPError are OSErrors
        return False
    return True


def cache_path(url, cachedir, saltenv="base"):
    """Salt's path for a copy of such a source: ``<cachedir>/extrn_files/<saltenv>/<host>/<path>``."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    name = os.path.normpath("/" + parts.path + ("-" + parts.query.replace("/", "-") if parts.query else ""))
    host = parts.netloc.rpartition("@")[2].replace("/", "_").replace(":", "")
    return os.path.join(cachedir, "extrn_files", saltenv.replace("/", "_"), host, name.lstrip("/"))


def fetch(url, verify_ssl=True, target=None, use_etag=False):
    """Download to ``target`` (by default a private temporary file) and return the path.

    ``use_etag``: do not download again if the server says that ``target`` is current; the ETag is stored in
    ``<target>.etag``. In a run for a plan, the copy is always a temporary file, because states read the cache and a
    plan must not change it. Raises CommandExecutionError with the URL, without its password, and the reason.
    """
    etag = _read_etag(target) if use_etag and target and os.path.exists(target) else None
    try:
        with _open(url, verify_ssl, etag=etag) as answer:
            body = iter(lambda: answer.read(1 << 18), b"")
            if target and not detail.on():
                atomic.makedirs(target, mode="0700")
                atomic.write(target, body, mode=0o600)
                if use_etag:
                    _keep_etag(target, answer)
                return target
            descriptor, path = osutil.mkstemp()
            if target:
                detail.temporary(path)
            try:
                with os.fdopen(descriptor, "wb") as copy:
                    for piece in body:
                        copy.write(piece)
            except BaseException:
                safepath.unlink(path)
                raise
            return path
    except (OSError, ValueError) as exc:
        if etag and getattr(exc, "code", None) == 304:
            return target
        reason = getattr(exc, "code", None) or getattr(exc, "reason", None) or exc
        raise CommandExecutionError("Error: %s reading %s" % (reason, redact(url)))


def _read_etag(target):
    try:
        with open(target + ".etag", encoding="latin-1") as kept:
            return kept.read().strip() or None
    except OSError:
        return None


def _keep_etag(target, answer):
    headers = getattr(answer, "headers", None)  # there are none with curl and wget
    etag = headers.get("ETag") if headers is not None else None
    if etag:
        atomic.write(target + ".etag", [etag.encode("latin-1", "replace")], mode=0o600)
    elif os.path.exists(target + ".etag"):
        safepath.unlink(target + ".etag")
