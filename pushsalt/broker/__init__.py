"""The broker of a kept session: where it is, what a command asks it for, and the client that a command line becomes.

``pushsalt session`` and ``session:`` start it (``pushsalt.cli.broker``). These modules import little, since a command
line that the broker runs needs nothing else.
"""
