"""Salt: ``salt.ext.six.moves.urllib.error``."""

from urllib.error import *  # noqa: F403
