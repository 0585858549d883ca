"""``salt://`` URLs. Salt: ``salt/utils/url.py``."""

import re


def parse(url):
    """(path, saltenv or None) of a URL."""
    if not url.startswith("salt://"):
        return url, None
    path, _, saltenv = url[len("salt://") :].partition("?saltenv=")
    return path, saltenv or None


def create(path, saltenv=None):
    return add_env("salt://" + path.lstrip("/"), saltenv)


def is_escaped(url):
    return url.startswith(("|", "salt://|"))


def escape(url):
    return url


def unescape(url):
    scheme, path = ("salt://", url[len("salt://") :]) if url.startswith("salt://") else ("", url)
    return scheme + path.lstrip("|")


def add_env(url, saltenv):
    return "%s?saltenv=%s" % (split_env(url)[0], saltenv) if saltenv and url.startswith("salt://") else url


def split_env(url):
    if not url.startswith("salt://"):
        return url, None
    path, saltenv = parse(url)
    return create(path), saltenv


def validate(url, protos):
    """Whether the scheme of a URL is one of ``protos``."""
    return (url.partition("://")[0] if "://" in url else "") in protos


def strip_proto(url):
    return re.sub(r"^[^:/]+://", "", url)


def add_http_basic_auth(url, user=None, password=None, https_only=False):
    """The URL with user and password. Raises ValueError if ``https_only`` and it is not https."""
    if user is None and password is None:
        return url
    scheme, _, rest = url.partition("://")
    if https_only and scheme != "https":
        raise ValueError("Basic Auth only supported for HTTPS")
    return "%s://%s%s@%s" % (scheme, user or "", ":%s" % password if password else "", rest.rpartition("@")[2])


def redact_http_basic_auth(output):
    """The text with user and password of all URLs in it replaced."""
    return re.sub(r"(https?://)[^/\s@]+@", r"\1<redacted>@", output)
