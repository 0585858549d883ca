"""
Sets of addresses, networks and ports for firewalls, with the command ipset. Salt: ``salt/modules/ipset.py``.

Functions that change something return True or "Success"; after a failure, a text that begins with ``Error`` or the
message of ipset. ``family`` is ipv4 or ipv6, and only used when a set is created.
"""

from thin import process
from thin.utils.formats import ipsets

__reads__ = ("version", "list_sets", "check_set", "check", "test")
__changes__ = ("new_set", "delete_set", "rename_set", "add", "delete", "flush")


def __virtual__():
    if process.which("ipset"):
        return True
    return False, "The ipset execution modules cannot be loaded: ipset binary not in path."


def version():
    """
    Return the version of ipset, as ``v7.17,``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.version
    """
    return _ipset("--version")["stdout"].split()[1]


def new_set(name=None, set_type=None, family="ipv4", comment=False, **kwargs):
    """
    Create a set

    set_type
        As ``hash:ip``, ``hash:net,port`` or ``list:set``.
    comment
        Whether entries can have comments.
    kwargs
        The options of ipset for that type: range, hashsize, maxelem, netmask, timeout, counters, skbinfo, size,
        markmask.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.new_set blocked hash:ip timeout=60
    """
    if family not in ipsets.FAMILIES:
        return "Error: Family is invalid"
    if not name:
        return "Error: Set Name needs to be specified"
    if not set_type:
        return "Error: Set Type needs to be specified"
    if set_type not in ipsets.CREATE:
        return "Error: Set Type is invalid"
    if set_type.startswith("bitmap:") and "range" not in kwargs:
        return "Error: range is a required argument"
    words = ["create", name, set_type]
    for option in ipsets.CREATE[set_type]:
        if option in kwargs:
            words += [option] if option in ipsets.WITHOUT_VALUE else [option, kwargs[option]]
    if "family" in ipsets.CREATE[set_type]:
        words += ["family", ipsets.FAMILIES[family]]
    return _done(words + (["comment"] if comment and "comment" not in words else [])) or True


def delete_set(name=None, family="ipv4"):
    """
    Remove a set

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.delete_set blocked
    """
    return _done(["destroy", name]) or True if name else "Error: Set needs to be specified"


def rename_set(name=None, new_set=None, family="ipv4"):
    """
    Rename a set

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.rename_set blocked new_set=banned
    """
    if not name:
        return "Error: Set needs to be specified"
    if not new_set:
        return "Error: New name for set needs to be specified"
    if not _about(name):
        return "Error: Set does not exist"
    if _about(new_set):
        return "Error: New Set already exists"
    return _done(["rename", name, new_set]) or True


def list_sets(family="ipv4"):
    """
    Return ``[{"Name", "Type", "Revision", "Header", ...}]`` of all sets

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.list_sets
    """
    return [_fields(block) for block in _ipset("list", "-t")["stdout"].split("\n\n") if block.strip()]


def check_set(name=None, family="ipv4"):
    """
    Whether there is a set of this name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.check_set blocked
    """
    return bool(_about(name)) if name else "Error: Set needs to be specified"


def add(name=None, entry=None, family="ipv4", **kwargs):
    """
    Add an entry to a set; one that is there gets the options given

    entry
        The entry; its options may follow it, or be given as arguments.
    kwargs
        timeout, comment, packets, bytes, skbmark, skbprio, skbqueue, nomatch: those that the set was created with.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.add blocked 203.0.113.9 comment='port scan'
    """
    if not name:
        return "Error: Set needs to be specified"
    if not entry:
        return "Error: Entry needs to be specified"
    about = _about(name)
    if not about:
        return "Error: Set %s does not exist" % name
    words = ["add", "-exist", name] + _entry_words(entry)
    for options, support in (
        (("timeout",), "timeout"),
        (("packets", "bytes"), "counters"),
        (("comment",), "comment"),
        (("skbmark", "skbprio", "skbqueue"), "skbinfo"),
    ):
        if any(option in kwargs for option in options) and support not in about["Header"]:
            return "Error: Set %s not created with %s support" % (name, support)
    if "comment" in kwargs and "comment" not in words:
        words += ["comment", kwargs["comment"]]
    for option in ipsets.entry_options(about["Type"]):
        if option in kwargs and option not in words:
            words += [option] if option == "nomatch" else [option, kwargs[option]]
    if entry in _members(name):
        return "Warn: Entry %s already exists in set %s" % (entry, name)
    output = _done(words)
    return "Error: %s" % output if output else "Success"


def delete(name=None, entry=None, family="ipv4", **kwargs):
    """
    Remove an entry from a set

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.delete blocked 203.0.113.9
    """
    if not name:
        return "Error: Set needs to be specified"
    if not entry:
        return "Error: Entry needs to be specified"
    if not _about(name):
        return "Error: Set %s does not exist" % name
    output = _done(["del", name, entry])
    return "Error: %s" % output if output else "Success"


def check(name=None, entry=None, family="ipv4"):
    """
    Whether an entry (an address, a range, a network, or a list of these) is in a set, with its options

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.check blocked '203.0.113.9 comment "port scan"'
    """
    if not name:
        return "Error: Set needs to be specified"
    if not entry:
        return "Error: Entry needs to be specified"
    about = _about(name)
    if not about:
        return "Error: Set %s does not exist" % name
    return ipsets.contains(about["Type"], _members(name), entry if isinstance(entry, list) else [entry])


def test(name=None, entry=None, family="ipv4", **kwargs):
    """
    Whether a set contains an address, also as part of one of its networks

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.test blocked 203.0.113.9
    """
    if not name:
        return "Error: Set needs to be specified"
    if not entry:
        return "Error: Entry needs to be specified"
    if not _about(name):
        return "Error: Set %s does not exist" % name
    return _ipset("test", name, entry)["retcode"] == 0


def flush(name=None, family="ipv4"):
    """
    Remove all entries, of one set or of all; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ipset.flush blocked
    """
    return not _done(["flush"] + ([name] if name else []))


def _ipset(*words):
    return __salt__["cmd.run_all"](
        [process.which("ipset")] + [str(word) for word in words],
        python_shell=False,
        env={"LC_ALL": "C"},
        ignore_retcode=True,
    )


def _done(words):
    """
    "" on success, otherwise the error of ipset."""
    done = _ipset(*words)
    return "" if done["retcode"] == 0 else "\n".join(filter(None, (done["stdout"], done["stderr"])))


def _fields(block):
    pairs = [line.split(":", 1) for line in block.splitlines() if ":" in line]
    return {key: value[1:] for key, value in pairs}


def _about(name):
    """The description of a set by ipset, without its members; {} if there is none."""
    done = _ipset("list", "-t", name)
    return _fields(done["stdout"]) if done["retcode"] == 0 else {}


def _members(name):
    done = _ipset("list", name)
    return done["stdout"].partition("Members:\n")[2].splitlines() if done["retcode"] == 0 else []


def _entry_words(entry):
    """The words of an entry. A quoted comment is one word."""
    from thin.utils import words

    try:
        return words.split(entry)
    except ValueError:
        return entry.split()
