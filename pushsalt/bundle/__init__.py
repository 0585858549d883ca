"""Code that is sent to targets: the archives (pack), the first stage (shim), and the record of both (runtime)."""
