"""File server backends: one a file, with ``backend(opts) -> Backend``."""
