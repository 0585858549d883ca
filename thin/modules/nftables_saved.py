"""The list of all tables, and the file for saved rules: a part of ``nftables``.

Salt: ``salt/modules/nftables.py``.
"""

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import serial
from thin.utils.formats import nftrules

__virtualname__ = "nftables"
__reads__ = ("get_saved_rules", "list_tables", "get_rules", "get_rules_json")
__changes__ = ("save",)


_NUMERIC = ["--numeric"] * 3


def __virtual__():
    if process.which("nft"):
        return __virtualname__
    return False, "The nftables execution module failed to load: nftables is not installed."


def get_saved_rules(conf_file=None):
    """
    Return the lines of the file with saved rules, without comments

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.get_saved_rules
    """
    with open(conf_file or _conf(), encoding="utf-8", errors="surrogateescape") as source:
        return [line for line in source if line.strip() and not line.strip().startswith("#")]


def list_tables(family="ipv4"):
    """
    Return ``[{"family", "name", "handle"}]`` of the tables

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.list_tables family=inet
    """
    done = _nft("--json", *_NUMERIC, *["list", "tables", nftrules.real_family(family)])
    return [item["table"] for item in _json(done["stdout"]) if "table" in item]


def get_rules(family="ipv4"):
    """
    Return the listing of each table by nft, as texts

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.get_rules
    """
    names = [table["name"] for table in list_tables(family)]
    return [_nft(*_NUMERIC, *["list", "table", nftrules.real_family(family), name])["stdout"] for name in names]


def get_rules_json(family="ipv4"):
    """
    Return the listing of all tables by nft, as data

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.get_rules_json family=inet
    """
    return _json(_nft(*_NUMERIC, *["--json", "list", "ruleset", nftrules.real_family(family)])["stdout"])


def save(filename=None, family="ipv4"):
    """
    Write the rules of all families to a file and return its text

    ``filename`` is ``/etc/nftables`` by default; in a folder the file is ``salt-all-in-one.nft``, which the system's
    own configuration must include.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.save /etc/nftables.d
    """
    import os

    from thin.utils.files import textfile

    filename = filename or _conf()
    text = "#! nft -f\n"
    for each in ("ip", "ip6", "inet", "arp", "bridge", "netdev"):
        rules = get_rules(each)
        text += ("\n" if rules else "") + "\n".join(rules)
    text += "\n"
    if os.path.isdir(filename):
        filename = os.path.join(filename, "salt-all-in-one.nft")
    try:
        textfile.write(filename, text)
    except (IOError, OSError) as exc:
        raise CommandExecutionError("Problem writing to configuration file: %s" % exc)
    return text


def _json(text):
    try:
        return serial.loads(text)["nftables"]
    except (ValueError, KeyError):
        return []


def _conf():
    if __grains__.get("os_family") in ("RedHat", "Arch", "Debian") or __grains__.get("os") == "Gentoo":
        return "/etc/nftables"
    raise CommandExecutionError("Where %s keeps nftables' rules is not known: give a file name" % __grains__.get("os"))


def _nft(*words):
    return nftrules.run(__salt__["cmd.run_all"], *words)
