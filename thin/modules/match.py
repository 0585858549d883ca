"""Whether this target matches a target expression. Salt: ``salt/modules/match.py``.

The controller has the matchers and all that they look at, so it is asked; the glob, the list and the regular
expression over ids, and those over grains and pillar, are answered here too.
"""

from thin import link
from thin.utils import data as values

__func_alias__ = {"list_": "list"}
__controller__ = ("glob", "list", "pcre", "grain", "grain_pcre", "pillar", "pillar_pcre", "pillar_exact")


def glob(tgt, minion_id=None):
    """
    Whether the target's id fits a glob

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
    names = tgt if isinstance(tgt, (list, tuple)) else [name.strip() for name in str(tgt).split(",")]
    return _id(minion_id) in names


def pcre(tgt, minion_id=None):
    """
    Whether the target's id fits a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.pcre 'web[0-9]+'
    """
    import re

    return re.match(tgt, _id(minion_id)) is not None


def grain(tgt, delimiter=values.DELIMITER):
    """
    Whether a grain fits a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.grain 'os:Debian'
    """
    return values.subdict_match(__grains__, tgt, delimiter)


def grain_pcre(tgt, delimiter=values.DELIMITER):
    """
    Whether a grain fits a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.grain_pcre 'os:(Debian|Ubuntu)'
    """
    return values.subdict_match(__grains__, tgt, delimiter, regex_match=True)


def pillar(tgt, delimiter=values.DELIMITER):
    """
    Whether a value of the pillar fits a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.pillar 'role:web*'
    """
    return values.subdict_match(__pillar__, tgt, delimiter)


def pillar_pcre(tgt, delimiter=values.DELIMITER):
    """
    Whether a value of the pillar fits a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.pillar_pcre 'role:web|db'
    """
    return values.subdict_match(__pillar__, tgt, delimiter, regex_match=True)


def pillar_exact(tgt, delimiter=values.DELIMITER):
    """
    Whether a value of the pillar is exactly this

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
    return _ask("compound", tgt, minion_id)


def ipcidr(tgt):
    """
    Whether the target has an address, or one in a network

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.ipcidr 192.168.44.0/24
    """
    return _ask("ipcidr", tgt)


def nodegroup(tgt, nodegroups=None, minion_id=None):
    """
    Whether the target is in a nodegroup

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.nodegroup web
    """
    return _ask("nodegroup", tgt, minion_id)


def data(tgt):
    """
    Return False: there is no data store on a target

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.data 'spam:eggs'
    """
    return False


def filter_by(lookup, tgt_type="compound", minion_id=None, merge=None, merge_lists=False, default="default"):
    """
    Return the value of the first key that matches the target, of ``default`` if none does

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.filter_by '{web*: [a], db*: [b]}'
    """
    return link.ask("match.filter_by", [lookup, tgt_type, minion_id, merge, merge_lists, default])


def search_by(lookup, tgt_type="compound", minion_id=None):
    """
    Return the keys whose lists of expressions have one that matches the target; None for none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.search_by '{web: [G@os:Debian], db: [node2]}'
    """
    return link.ask("match.search_by", [lookup, tgt_type, minion_id])


def ifelse(*args, **kwargs):
    """
    Return the value behind the first expression that matches the target; the last argument when none does

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' match.ifelse 'foo*' 'Foo!' 'bar*' 'Bar!' neither
    """
    return link.ask("match.ifelse", args, kwargs)


def _id(minion_id):
    return str(__opts__["id"] if minion_id is None else minion_id)


def _ask(matcher, tgt, minion_id=None):
    return bool(link.ask("match.%s" % matcher, [tgt], {} if minion_id is None else {"minion_id": minion_id}))
