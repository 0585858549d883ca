"""Render processes, which have no credentials, no connections and no inventory (docs/adr/0005).

``pool`` is the command's side: it starts the processes, sends them work and passes on their questions. ``starter`` is
the first process, which forks the others; ``child`` is the loop of one of these; ``project`` replaces the command's
project for a ``Minion`` there. ``codec`` has the messages between the two sides.
"""
