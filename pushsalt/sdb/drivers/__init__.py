"""The drivers: one file each, named as ``driver:`` of a profile has it. ``pushsalt.sdb`` says what is in one."""
