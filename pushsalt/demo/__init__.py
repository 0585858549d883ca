"""Temporary targets on this machine, for ``pushsalt demo`` and for tests."""
