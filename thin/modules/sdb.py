"""Values of sdb:// URIs on a target: what is no URI of a known profile is its own answer. Salt: modules/sdb.py

There are no drivers here; secrets come by pillar.
"""

from thin.exceptions import SaltInvocationError

__func_alias__ = {"set_": "set"}

_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)"


def get(uri, strict=False):
    """
    Return what is no ``sdb://`` URI of a profile as it is; others are an error

    uri
        ``sdb://profile/key``, or any text
    strict
        Any text is an error, too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sdb.get sdb://vault/app/password
    """
    driver = _driver(uri)
    if driver or strict:
        raise SaltInvocationError("%r: there is no driver %r for sdb here" % (uri, driver))
    return uri


def set_(uri, value):
    """
    Not supported where there is a driver; False for what is no URI of a profile

    uri
        ``sdb://profile/key``
    value
        Its value

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sdb.set sdb://vault/app/mode production
    """
    return _no("sdb.set", uri)


def delete(uri):
    """
    Not supported where there is a driver; False for what is no URI of a profile

    uri
        ``sdb://profile/key``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sdb.delete sdb://vault/app/mode
    """
    return _no("sdb.delete", uri)


def get_or_set_hash(uri, length=8, chars=_CHARS):
    """
    Not supported where there is a driver; False for what is no URI of a profile

    uri
        ``sdb://profile/key``
    length
        How many characters a new value has
    chars
        Of which ones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sdb.get_or_set_hash sdb://vault/app/password 32
    """
    return _no("sdb.get_or_set_hash", uri)


def _driver(uri):
    profile, mark, _ = uri[6:].partition("/") if isinstance(uri, str) and uri.startswith("sdb://") else ("", "", "")
    found = (__opts__.get(profile) or __pillar__.get(profile)) if mark else None
    return found.get("driver") if isinstance(found, dict) else None


def _no(name, uri):
    driver = _driver(uri)
    if driver:
        raise SaltInvocationError("%s: there is no driver %r here: secrets come by pillar" % (name, driver))
    return False
