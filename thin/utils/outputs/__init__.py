"""Readers of what programs print under LC_ALL=C. Pure: text in, values out."""
