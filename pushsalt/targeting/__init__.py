"""Target expressions: which ids they select, answered from the inventory and the caches alone.

``select`` is for the command line, ``matches`` for one target at a time (top files, ``match.*``). Both take Salt's
``tgt_type``: glob, pcre, list, compound and whatever else is in ``matchers/``. ``parse`` and ``Fleet`` are what both
are made of.
"""

from pushsalt.targeting.compound import (
    DELIMITER,
    Expression,
    Matcher,
    Subject,
    Term,
    matches,
    parse,
    sources,
    tgt_types,
)
from pushsalt.targeting.fleet import CONTROLLER, Caches, Fleet, InventoryCaches, nothing, select

__all__ = [
    "CONTROLLER",
    "DELIMITER",
    "Caches",
    "Expression",
    "Fleet",
    "InventoryCaches",
    "Matcher",
    "Subject",
    "Term",
    "matches",
    "nothing",
    "parse",
    "select",
    "sources",
    "tgt_types",
]
