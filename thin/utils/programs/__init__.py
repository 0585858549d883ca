"""Calls of programs and servers, and code that the calling modules share."""
