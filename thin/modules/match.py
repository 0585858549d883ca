"""Whether this target matches a target expression. Salt: ``salt/modules/match.py``.

Expressions are evaluated on the target, with its grains, pillar and options. Only nodegroups, and addresses, which a
minimal Python cannot compare, are evaluated by the controller. (For templates the controller evaluates all.)
"""

from collections.abc import Mapping

from thin.log import getLogger
from thin.utils import data as values

__func_alias__ = {"list_": "list"}
log = getLogger(__name__)

__controller__ = ("glob", "list", "pcre", "grain", "grain_pcre", "pillar", "pillar_pcre", "pillar_exact")
__reads__ = (
    "glob",
    "list",
    "pcre",
    "grain",
    "grain_pcre",
    "pillar",
    "pillar_pcre",
    "pillar_exact",
    "compound",
    "ipcidr",
    "nodegroup",
    "data",
    "filter_by",
    "search_by",
    "ifelse",
)


def glob(tgt, minion_id=None):
    """
    Whether the target's id matches a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.glob 'web*'
    """
    import fnmatch

    return isinstance(tgt, str) and fnmatch.fnmatch(_id(minion_id), tgt)


def list_(tgt, minion_id=None):
    """
    Whether the target's id is in a list, or a text with commas

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.list 'web1,web2'
    """
    return _id(minion_id) in (tgt if isinstance(tgt, (list, tuple)) else str(tgt).split(","))


def pcre(tgt, minion_id=None):
    """
    Whether the target's id matches a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.pcre 'web[0-9]+'
    """
    import re

    try:
        return re.match(tgt, _id(minion_id)) is not None
    except (re.error, TypeError) as exc:
        log.error("match.pcre: %r is no regular expression: %s", tgt, exc)
        return False


def grain(tgt, delimiter=values.DELIMITER):
    """
    Whether a grain matches a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.grain 'os:Debian'
    """
    return values.subdict_match(__grains__, tgt, delimiter)


def grain_pcre(tgt, delimiter=values.DELIMITER):
    """
    Whether a grain matches a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.grain_pcre 'os:(Debian|Ubuntu)'
    """
    return values.subdict_match(__grains__, tgt, delimiter, regex_match=True)


def pillar(tgt, delimiter=values.DELIMITER):
    """
    Whether a value of the pillar matches a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.pillar 'role:web*'
    """
    return values.subdict_match(__pillar__, tgt, delimiter)


def pillar_pcre(tgt, delimiter=values.DELIMITER):
    """
    Whether a value of the pillar matches a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.pillar_pcre 'role:web|db'
    """
    return values.subdict_match(__pillar__, tgt, delimiter, regex_match=True)


def pillar_exact(tgt, delimiter=values.DELIMITER):
    """
    Whether a value of the pillar equals this

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.pillar_exact 'role:web'
    """
    return values.subdict_match(__pillar__, tgt, delimiter, exact_match=True)


def compound(tgt, minion_id=None):
    """
    Whether a compound expression matches the target

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.compound 'web* and G@os:Debian'
    """
    from thin.utils import compound as compounds

    if not isinstance(tgt, (str, list, tuple)):
        log.error("match.compound: an expression is text or a list of words, not %r", tgt)
        return False
    try:
        return compounds.evaluate(tgt, lambda word: _word(word, minion_id))
    except ValueError as exc:
        log.error("match.compound: %r cannot be understood: %s", tgt, exc)
        return False


def ipcidr(tgt):
    """
    Whether the target has this address, or an address in this network

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.ipcidr 10.20.0.0/16
    """
    from thin import link

    return bool(link.ask("match.ipcidr", [tgt]))


def nodegroup(tgt, nodegroups=None, minion_id=None):
    """
    Whether the target is in a nodegroup (one of the argument or of the configuration) or in a group of the inventory

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.nodegroup web
    """
    from thin import link

    if nodegroups is not None:
        return compound(nodegroups.get(tgt), minion_id)
    return bool(link.ask("match.nodegroup", [tgt], {} if minion_id is None else {"minion_id": minion_id}))


def data(tgt):
    """
    Return False: there is no data store on a target

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.data 'app:stage:production'
    """
    return False


def filter_by(lookup, tgt_type="compound", minion_id=None, merge=None, merge_lists=False, default="default"):
    """
    Return the value of the first key that matches the target, or of ``default``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.filter_by '{web*: [a], db*: [b]}'
    """
    import copy

    from thin.exceptions import SaltException
    from thin.utils import dictupdate

    for key, value in lookup.items():
        if not _matches(tgt_type, key, minion_id):
            continue
        if not merge:
            return value
        if not isinstance(merge, Mapping):
            raise SaltException("filter_by merge argument must be a dictionary.")
        if value is None:
            return merge
        return dictupdate.update(copy.deepcopy(value), copy.deepcopy(merge), merge_lists=merge_lists)
    return lookup.get(default)


def search_by(lookup, tgt_type="compound", minion_id=None):
    """
    Return the keys with a list that contains an expression that matches the target; None if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.search_by '{web: ["web*"], db: [G@roles:database]}'
    """
    return [
        key
        for key, expressions in lookup.items()
        for expression in expressions
        if _matches(tgt_type, expression, minion_id)
    ] or None


def ifelse(*args, **kwargs):
    """
    Return the value after the first expression that matches the target; by default the last argument

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.ifelse 'web*' nginx 'db*' postgresql nothing
    """
    from thin.exceptions import SaltException

    if len(args) % 2 == 0:
        raise SaltException("The ifelse function must have an odd number of arguments!")
    tgt_type, minion_id = kwargs.get("tgt_type", "compound"), kwargs.get("minion_id")
    for key, value in zip(args[:-1:2], args[1::2]):
        if key if isinstance(key, bool) else _matches(tgt_type, key, minion_id):
            return filter_by({"*": value}, "glob", minion_id, kwargs.get("merge"), kwargs.get("merge_lists", False))
    return args[-1]


#: tgt_type -> (letter in compound expressions, function, whether it compares the id, whether it takes a delimiter)
_TYPES = {
    "glob": ("", glob, True, False),
    "list": ("L", list_, True, False),
    "pcre": ("E", pcre, True, False),
    "compound": ("", compound, True, False),
    "ipcidr": ("S", ipcidr, False, False),
    "grain": ("G", grain, False, True),
    "grain_pcre": ("P", grain_pcre, False, True),
    "pillar": ("I", pillar, False, True),
    "pillar_pcre": ("J", pillar_pcre, False, True),
    "pillar_exact": ("", pillar_exact, False, True),
    "data": ("", data, False, False),
    "resource": ("T", lambda tgt, minion_id=None: _manages(tgt), True, False),
    "managing_minion": ("M", lambda tgt, minion_id=None: _id(minion_id) == tgt, True, False),
    "nodegroup": ("N", lambda tgt, minion_id=None: nodegroup(tgt, None, minion_id), True, False),
}


def _manages(tgt):
    """Whether the target manages a resource of this type, or the resource ``type:id``."""
    kind, colon, name = tgt.partition(":")
    managed = (__opts__.get("resources") or {}).get(kind) or ()
    return name in managed if colon else bool(managed)


def _matches(tgt_type, tgt, minion_id, delimiter=None):
    _, function, by_id, delimited = _TYPES[tgt_type]
    if by_id:
        return function(tgt, minion_id or None)
    return function(tgt, delimiter) if delimited and delimiter else function(tgt)


def _word(word, minion_id):
    """Whether one term of a compound expression matches: ``G@os:Debian``, ``G|@os|Debian``, or a glob."""
    from thin.utils import compound as compounds

    match = compounds.prefix(word)
    if not match:
        return glob(word, minion_id)
    letter, delimiter, tgt = match
    for tgt_type, (type_letter, _, _, _) in _TYPES.items():
        if type_letter == letter:
            return _matches(tgt_type, tgt, minion_id, delimiter)
    raise ValueError("there is no %s@" % letter)


def _id(minion_id):
    return str(__opts__["id"] if minion_id is None else minion_id)
