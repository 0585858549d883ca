"""Throw-away targets on this machine: what ``pushsalt demo`` shows and what the tests run against."""
