"""Pure functions for both sides of the channel: no input, no output, no dunders."""
