"""Salt: ``salt/exceptions.py``."""

from thin.exceptions import *  # noqa: F403
from thin.rareexceptions import *  # noqa: F403

del named  # noqa: F821  (it is not Salt's)


def get_error_message(error):
    """The argument of an exception as text."""
    return error.args[0] if error.args else ""
