"""The broker of a kept session: the paths of its sockets, the request format, and the client side of a command line.

``pushsalt session`` and ``session:`` start it (``pushsalt.cli.broker``). These modules import little, since the
client of a command line needs nothing else.
"""
