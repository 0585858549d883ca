"""The runtime that pushsalt sends to a target: standard library only, Python 3.6 or newer.

It runs isolated (``python3 -I -S``), from verified bytes in memory, and leaves no process running. The controller
imports its pure parts too (``thin.wire``, ``thin.utils``, and the modules that answer without a target).
"""
