"""What a minion asks of its master, where there is none: the error that says so, and what to do instead."""

from thin.exceptions import CommandExecutionError


def refuse(name, instead):
    """Raise CommandExecutionError for the function ``name``; ``instead`` is a clause, of what does it here."""
    raise CommandExecutionError("%s needs a Salt master and its minions, which pushsalt has not: %s" % (name, instead))
