"""Returns for people: a text that is too long is cut, with a note at its end.

Callers that need data (templates, other modules) get the whole value, or an error.
"""

#: Bytes of a text (in UTF-8) that are returned; two of these fit into a message (thin.wire.UP_LIMIT).
TEXT_LIMIT = 16 * 1024 * 1024
CUT = "\n[cut here: %d of %d bytes]"


def texts(value):
    """The value with its long texts cut."""
    if isinstance(value, dict):
        return {key: texts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [texts(item) for item in value]
    if not isinstance(value, (str, bytes)) or len(value) * 4 <= TEXT_LIMIT:
        return value
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    if len(data) <= TEXT_LIMIT:
        return value
    kept, words = data[:TEXT_LIMIT], CUT % (TEXT_LIMIT, len(data))
    return kept.decode("utf-8", "ignore") + words if isinstance(value, str) else kept + words.encode()
