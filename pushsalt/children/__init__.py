"""Rendering in processes of its own: they have no credential, no connection and no inventory (docs/adr/0005).

``pool`` is the command's side: it starts the processes, hands out work and answers what they ask (``service``).
``starter`` is the first process, which forks the others; ``child`` is the loop of one of these, ``ground`` what a
``Minion`` stands on there in place of the project. ``codec`` has the messages between the two sides.
"""
