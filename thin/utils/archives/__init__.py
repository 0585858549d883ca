"""Lists, checks, extracts and writes archives."""
