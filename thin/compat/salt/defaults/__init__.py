"""Salt: ``salt/defaults/__init__.py``."""

DEFAULT_TARGET_DELIM = ":"
