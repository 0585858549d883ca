"""Parsers of the output of programs under LC_ALL=C. Pure: text in, values out."""
