"""The hosts file. Salt: ``salt/modules/hosts.py``. The option ``hosts.file`` names another file than /etc/hosts."""

import os

from thin.utils.files import textfile
from thin.utils.formats import hostsfile

__usual__ = True
__reads__ = ("list_hosts", "get_ip", "get_alias", "has_pair")
__changes__ = ("set_host", "add_host", "rm_host", "set_comment")


def list_hosts():
    """
    Return ``{address: {aliases, comment}}``, and comments as ``{comment-N: [line]}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' hosts.list_hosts
    """
    return dict(hostsfile.parse(_lines()))


def get_ip(host):
    """
    Return the first address of a name, or an empty text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' hosts.get_ip web1
    """
    hosts = hostsfile.parse(_lines())
    return next((ip for ip, data in hosts.items() if isinstance(data, dict) and host in data["aliases"]), "")


def get_alias(ip):
    """
    Return the names of an address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' hosts.get_alias 192.0.2.4
    """
    entry = hostsfile.parse(_lines()).get(ip)
    return entry["aliases"] if isinstance(entry, dict) else []


def has_pair(ip, alias):
    """
    Whether an address has a name, or all of a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' hosts.has_pair 192.0.2.4 web1
    """
    return set(alias if isinstance(alias, list) else [alias]) <= set(get_alias(ip))


def set_host(ip, alias, comment=None):
    """
    Set the names of an address (one text, with spaces); an empty text removes the address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' hosts.set_host 192.0.2.4 'web1 www'
    """
    return _write(hostsfile.replace(_lines(), ip, alias.split(), comment))


def add_host(ip, alias):
    """
    Add a name to an address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' hosts.add_host 192.0.2.4 web1
    """
    return has_pair(ip, alias) or _write(hostsfile.add(_lines(), ip, alias))


def rm_host(ip, alias):
    """
    Remove a name from an address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' hosts.rm_host 192.0.2.4 web1
    """
    return not has_pair(ip, alias) or _write(hostsfile.remove(_lines(), ip, alias))


def set_comment(ip, comment):
    """
    Set the comment of an address; returns whether the address exists

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' hosts.set_comment 192.0.2.4 'the web server'
    """
    entry = hostsfile.parse(_lines()).get(ip)
    if not isinstance(entry, dict):
        return False
    return entry.get("comment") == comment or _write(hostsfile.comment(_lines(), ip, comment))


def _path():
    return __opts__.get("hosts.file") or "/etc/hosts"


def _lines():
    return textfile.lines(_path())


def _write(lines):
    if os.path.exists(_path()) and not os.path.isfile(_path()):
        return False
    textfile.write(_path(), "".join(lines))
    return True
