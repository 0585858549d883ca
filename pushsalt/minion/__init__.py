"""Imitates Salt's minion for one target: options, grains, pillar, functions, and the compiler of its states."""
