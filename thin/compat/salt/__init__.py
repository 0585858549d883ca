"""The part of Salt that users' modules import; see thin.compat."""

__compat__ = True
