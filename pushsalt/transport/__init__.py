"""Ways to a target. See Connection and Stream."""
