"""Reactions to events of the journal: reactor SLS that call functions. Salt: ``salt/utils/reactor.py``."""
