"""Rendering: a source text and what one target is, in; data or text, out.

``pipeline`` has the entry points. Nothing is imported here, so that small users (``pushsalt.yamlio``) stay cheap.
"""
