"""Target expressions: which ids they select, answered from the inventory and the caches alone.

``select`` is for the command line, ``matches`` for one target at a time (top files, ``match.*``). Both take Salt's
``tgt_type``: glob, pcre, list, compound and whatever else is in ``matchers/``.
"""

from pushsalt.targeting.compound import Caches, Matcher, Subject, matches, select, tgt_types

__all__ = ["Caches", "Matcher", "Subject", "matches", "select", "tgt_types"]
