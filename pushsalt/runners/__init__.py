"""Runner functions, one file per Salt module; the first argument is a ``Run`` (pushsalt/orchestrate/runnercalls.py)."""
