"""Selects targets by expressions, from inventory and caches; keeps managed resources."""
