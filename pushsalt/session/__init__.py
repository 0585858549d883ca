"""A session with a target over a connection: handshake, messages, questions, files; what comes in is checked here."""
