"""One target as Salt's minion would see itself: options, grains, pillar, functions, and the compiler of its states."""
