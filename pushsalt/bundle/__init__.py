"""Code that is sent to targets: the archives (pack), the first stage (shim), and the cached records of both
(runtime).
"""
