"""Errors of functions that need a Salt master; they name a replacement."""

from thin.exceptions import CommandExecutionError

#: the controller's error for a question that only the steps of an orchestration may ask
ONLY_IN_ORCHESTRATION = "only a step of an orchestration may ask for it"


def refuse(name, instead):
    """Raise CommandExecutionError for the function ``name``; ``instead`` names the replacement."""
    raise CommandExecutionError(
        "%s needs a Salt master and its minions, which pushsalt does not have: %s" % (name, instead)
    )
