"""Target expressions: select ids by the inventory and the caches, without connecting.

``select`` is for the command line, ``matches`` for one target (top files, ``match.*``). Both take Salt's ``tgt_type``:
glob, pcre, list, compound and the types in ``matchers/``. Both use ``parse`` and ``Fleet``.
"""

from pushsalt.targeting.compound import (
    DELIMITER,
    Expression,
    MatcherFails,
    NamedGroups,
    Subject,
    Term,
    matches,
    parse,
    sources,
    tgt_types,
)
from pushsalt.targeting.fleet import (
    CONTROLLER,
    Caches,
    Fleet,
    InventoryCaches,
    ManagedResources,
    NoManagedResources,
    manager_of,
)
from pushsalt.targeting.names import Name, key_of, names
from pushsalt.targeting.selecting import select
from pushsalt.targeting.vocabulary import OURS, Matcher, Vocabulary

__all__ = [
    "CONTROLLER",
    "DELIMITER",
    "OURS",
    "Caches",
    "Expression",
    "Fleet",
    "InventoryCaches",
    "ManagedResources",
    "Matcher",
    "MatcherFails",
    "Name",
    "NamedGroups",
    "NoManagedResources",
    "Subject",
    "Term",
    "Vocabulary",
    "key_of",
    "manager_of",
    "matches",
    "names",
    "parse",
    "select",
    "sources",
    "tgt_types",
]
