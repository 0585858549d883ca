"""Salt: ``salt/exceptions.py``."""

from thin.exceptions import *  # noqa: F403
