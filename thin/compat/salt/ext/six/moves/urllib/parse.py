"""Salt: ``salt.ext.six.moves.urllib.parse``."""

from urllib.parse import *  # noqa: F403
