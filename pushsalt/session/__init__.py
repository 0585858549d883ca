"""A session with a target over a connection: handshake, messages, questions, files, checks of the target's data."""
