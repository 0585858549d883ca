"""Comments of the git states, and comparison of revisions. Salt: states/git.py"""

import re


class Done(Exception):
    """The state ends. ``args`` are its result and comment."""


def joined(comments):
    """Join several comments to one text."""
    return ". ".join(comments) + ("." if len(comments) > 1 else "")


def short(digest):
    return digest[:7] if digest is not None else None


def equal(one, other, kind):
    """Whether two revisions are equal; one of kind ``sha1`` may be abbreviated."""
    if one is None or other is None:
        return one is other
    return one.startswith(other) if kind == "sha1" else one == other


def reason(exc):
    """The message of an error without Salt's "Command '...' failed: "."""
    return re.sub(r"^Command ['\"].+['\"] failed: ", "", str(exc))


def is_digest(rev):
    return len(rev) <= 40 and all(char in "0123456789abcdefABCDEF" for char in rev)


def failed(words, comments=()):
    """A Done for a failed state; ``comments`` are the changes made before."""
    if comments:
        words += "\n\nChanges already made: " + joined(comments)
    return Done(False, words)
