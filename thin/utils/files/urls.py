"""Prepares URLs of sources for display."""


def redact(url):
    """The URL without the password of its user."""
    head, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    if separator and "@" in authority:
        return "%s://%s@%s%s%s" % (head, "<redacted>", authority.rpartition("@")[2], slash, path)
    return url
