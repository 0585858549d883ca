"""Values of sdb:// URIs. For templates and command lines the controller reads them, because it has the drivers.

A target has no drivers and no profiles of the configuration: these functions return a URI unchanged there, and fail if
pillar or minion_opts have its profile. Code on targets receives secrets by pillar. Salt: modules/sdb.py
"""

from thin.exceptions import SaltInvocationError

__func_alias__ = {"set_": "set"}
__reads__ = ("get", "get_or_set_hash")
__changes__ = ("set", "delete")

_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)"


def get(uri, strict=False):
    """
    Return the value of a URI; text that is not an ``sdb://`` URI of a profile is returned unchanged

    On a command line the value is masked, unless ``unmask=True`` is given.

    uri
        ``sdb://profile/key``, or any text
    strict
        Fail for text that is no URI of a profile

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sdb.get sdb://vault/app/password
    """
    driver = _driver(uri)
    if driver or strict:
        raise SaltInvocationError("%r: the driver %r is on the controller: secrets come by pillar" % (uri, driver))
    return uri


def set_(uri, value):
    """
    Set the value of a URI; False if the text is not a URI of a profile

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
    Delete the value of a URI; False if the text is not a URI of a profile

    uri
        ``sdb://profile/key``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sdb.delete sdb://vault/app/mode
    """
    return _no("sdb.delete", uri)


def get_or_set_hash(uri, length=8, chars=_CHARS):
    """
    Return the value of a URI; if there is none, set and return a random text

    uri
        ``sdb://profile/key``
    length
        The length of a new value
    chars
        The characters of a new value

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sdb.get_or_set_hash sdb://vault/app/password 32
    """
    return _no("sdb.get_or_set_hash", uri)


def _driver(uri):
    profile, mark, _ = uri[6:].partition("/") if isinstance(uri, str) and uri.startswith("sdb://") else ("", "", "")
    settings = (__opts__.get(profile) or __pillar__.get(profile)) if mark else None
    return settings.get("driver") if isinstance(settings, dict) else None


def _no(name, uri):
    driver = _driver(uri)
    if driver:
        raise SaltInvocationError("%s: the driver %r is on the controller: secrets come by pillar" % (name, driver))
    return False
