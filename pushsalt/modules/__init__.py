"""Reads signatures, effects and other declarations from the source of modules and states, without running them."""
