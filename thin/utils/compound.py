"""Compound target expressions, parsed and not eval'd: words joined by ``and``, ``or``, ``not`` and parentheses."""

MAX_DEPTH = 50
_OPERATORS = ("and", "or", "not", "(", ")")


def evaluate(expression, meets):
    """Whether the expression (text, or a list of words) holds where ``meets(word)`` says whether one word does.

    Every word is asked for, as in Salt. Raises ValueError, with the reason, for one that cannot be understood.
    """
    words = _words(expression.split() if isinstance(expression, str) else [str(word) for word in expression])
    found, rest = _any([word if word in _OPERATORS else bool(meets(word)) for word in words], 0)
    if rest:
        raise ValueError("it does not go on with %r" % (rest[0],))
    return found


def _words(raw):
    """Words with the parentheses that are glued to them cut off; those inside of a regular expression stay."""
    words = []
    for word in raw:
        while word.startswith("(") and len(word) > 1:
            words.append("(")
            word = word[1:]
        closing = 0
        while len(word) > 1 and word.endswith(")") and word.count(")") > word.count("("):
            word, closing = word[:-1], closing + 1
        words.append(word)
        words.extend([")"] * closing)
    return words


def _any(rest, depth):
    found, rest = _all(rest, depth)
    while rest[:1] == ["or"]:
        other, rest = _all(rest[1:], depth)
        found = found or other
    return found, rest


def _all(rest, depth):
    found, rest = _one(rest, depth)
    while rest[:1] == ["and"]:
        other, rest = _one(rest[1:], depth)
        found = found and other
    return found, rest


def _one(rest, depth):
    negated = False
    while rest[:1] == ["not"]:
        negated, rest = not negated, rest[1:]
    if not rest:
        raise ValueError("it ends too early")
    if rest[0] == "(":
        if depth == MAX_DEPTH:
            raise ValueError("it has more than %d levels of parentheses" % MAX_DEPTH)
        found, rest = _any(rest[1:], depth + 1)
        if rest[:1] != [")"]:
            raise ValueError("it has a '(' without ')'")
    elif rest[0] in _OPERATORS:
        raise ValueError("it has %r where a target is expected" % (rest[0],))
    else:
        found = rest[0]
    return found != negated, rest[1:]
