"""Salt: ``salt.ext.six.moves.urllib.request``."""

from urllib.request import *  # noqa: F403
