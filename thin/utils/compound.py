"""Parses and evaluates compound target expressions. Salt: ``salt.matchers.compound_match``, ``salt.utils.minions``.

Words, also parentheses, are separated by spaces. ``not`` binds closest, then ``and``, then ``or``; a ``not`` after a
target means ``and not``. Otherwise an expression has the meaning that Python gives it when each target is replaced by
True or False, as Salt evaluates it. Expressions that Python rejects are a ValueError here, and match nothing in Salt.

A tree is ``("word", text)``, ``("not", tree)``, ``("and", [tree, ...])``, ``("or", [tree, ...])``, ``("nothing",)`` for
``( )``, or ``("call", tree)`` for a parenthesis directly after a target, which is an error only if it is evaluated.
"""

MAX_DEPTH = 50
OPERATORS = ("and", "or", "not", "(", ")")
#: In place of the expression of a nodegroup: it is a group of the inventory, and ``N@name`` stays one word.
MEMBERS = object()
_LETTERS = "GPIJLNSERTM"
_DELIMITED = "GPIJ"


def prefix(word):
    """``(letter, delimiter, rest)`` of a word such as ``G@os:Debian`` or ``I;@a;b``; None for a glob."""
    if word[:1] not in _LETTERS or len(word) < 3:
        return None
    if word[0] in _DELIMITED and word[2] == "@" and len(word) > 3 and word[1] != "\n":
        return word[0], word[1], word[3:]
    return (word[0], "", word[2:]) if word[1] == "@" else None


def words_of(expression):
    """The words of an expression, which is a text or a list of words."""
    return expression.split() if isinstance(expression, str) else [str(word) for word in expression]


def parse(words):
    """The tree of an expression's words. Raises ValueError with the reason for an invalid expression."""
    tokens = []
    for word in words:
        if word not in OPERATORS:
            tokens.append(("word", word))
            continue
        before = tokens[-1] if tokens else None
        if before is None and word not in ("(", "not"):
            raise ValueError("begins with %r" % word)
        if before == "(" and word in ("and", "or"):
            raise ValueError("has %r directly after a '('" % word)
        if word == "not" and before is not None and before not in ("and", "or", "("):
            tokens.append("and")
        tokens.append(word)
    if not tokens:
        raise ValueError("is empty")
    tokens.reverse()
    tree = _joined(tokens, "or", 0)
    if tokens:
        raise ValueError("does not go on with %r" % _shown(tokens[-1]))
    return tree


def _joined(rest, word, depth):
    def part():
        return _joined(rest, "and", depth) if word == "or" else _negated(rest, depth)

    parts = [part()]
    while rest and rest[-1] == word:
        rest.pop()
        parts.append(part())
    return parts[0] if len(parts) == 1 else (word, parts)


def _negated(rest, depth):
    if not rest:
        raise ValueError("ends too early")
    word = rest.pop()
    if word == "not":
        return ("not", _negated(rest, depth))
    if word == "(":
        tree = _inner(rest, depth)
    elif isinstance(word, tuple):
        tree = word
    else:
        raise ValueError("has %r where a target is expected" % word)
    while rest and rest[-1] == "(":
        rest.pop()
        _inner(rest, depth)
        tree = ("call", tree)
    return tree


def _inner(rest, depth):
    """Parse the expression between parentheses; the opening one was already removed."""
    if depth == MAX_DEPTH:
        raise ValueError("has more than %d levels of parentheses" % MAX_DEPTH)
    if rest and rest[-1] == ")":
        rest.pop()
        return ("nothing",)
    tree = _joined(rest, "or", depth + 1)
    if not rest or rest.pop() != ")":
        raise ValueError("has a '(' without ')'")
    return tree


def _shown(word):
    return word[1] if isinstance(word, tuple) else word


def evaluate(expression, meets):
    """Whether the expression (text, or a list of words) is true; ``meets(word)`` tells this for one word.

    As in Salt, it is called for every word. Raises ValueError with the reason for an invalid expression.
    """
    words = words_of(expression)
    tree = parse(words)
    return holds(tree, {word: bool(meets(word)) for word in words if word not in OPERATORS})


def holds(tree, truths):
    """Whether a tree is true; ``truths``: ``{word: bool}``. Raises ValueError where Python would raise TypeError."""
    kind = tree[0]
    if kind == "word":
        return truths[tree[1]]
    if kind == "not":
        return not holds(tree[1], truths)
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(holds(part, truths) for part in tree[1])
    if kind == "call":
        holds(tree[1], truths)
        raise ValueError("has a '(' directly after a target")
    return False


def expand(words, nodegroups, missing=None):
    """The words with each ``N@name`` replaced by the words of that nodegroup, recursively.

    A list of words without operators is a list of ids, or of alternatives of a regular expression if one of them looks
    like one. As in Salt, the words of a group without groups in it get no parentheses. A group that does not exist or
    contains itself is removed, and ``missing(name, reason)`` is called. A group that is MEMBERS is not replaced. Salt:
    nodegroup_comp.
    """
    result = []
    for word in words:
        if word not in OPERATORS and prefix(word) and word[0] == "N":
            result.extend(_group(word[2:], nodegroups, [], missing or _silent))
        else:
            result.append(word)
    return result


def _silent(name, reason):
    pass


def _group(name, nodegroups, above, missing):
    if name in above:
        missing(name, "is a part of itself")
        return []
    given = nodegroups.get(name)
    if given is MEMBERS:
        return ["N@" + name]
    if not isinstance(given, (str, list, tuple)):
        missing(name, "does not exist" if name not in nodegroups else "is no expression")
        return []
    words = words_of(given)
    groups = [word for word in words if len(word) >= 3 and word.startswith("N@")]
    if groups or above:
        if len(above) > MAX_DEPTH:
            missing(name, "is too deep")
            return []
        inner = []
        for word in words:
            inner.extend(_group(word[2:], nodegroups, above + [name], missing) if word in groups else [word])
        listed = _as_list(words) if above else None
        return listed or (["("] + inner + [")"] if inner else [])
    return _as_list(words) or words


def _as_list(words):
    """One word for a list of ids or alternatives; None for an expression."""
    if any(word in OPERATORS or "*" in word or (word[1:2] == "@" and "A" <= word[0] <= "Z") for word in words):
        return None
    regex = any(letter in word for word in words for letter in "([{\\?}])")
    return [("E@" if regex else "L@") + ",".join(words)]
