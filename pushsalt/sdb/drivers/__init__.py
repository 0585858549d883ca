"""The drivers: one file each, with the name in ``driver:`` of a profile. ``pushsalt.sdb`` describes their interface."""
