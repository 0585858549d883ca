"""What travels to a target: the archive (pack), the first stage (shim), and what is remembered of both (runtime)."""
