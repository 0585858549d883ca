"""What the states of git say, and how they compare revisions. Salt: states/git.py"""

import re


class Done(Exception):
    """A state ends here: ``args`` are its result and comment."""


def joined(comments):
    """Several sentences as one text."""
    return ". ".join(comments) + ("." if len(comments) > 1 else "")


def short(digest):
    return digest[:7] if digest is not None else None


def equal(one, other, kind):
    """Whether two revisions are the same; one of kind ``sha1`` may be shortened."""
    if one is None or other is None:
        return one is other
    return one.startswith(other) if kind == "sha1" else one == other


def reason(exc):
    """git's words without the command that failed."""
    return re.sub(r"^Command ['\"].+['\"] failed: ", "", str(exc))


def is_digest(rev):
    return len(rev) <= 40 and all(char in "0123456789abcdefABCDEF" for char in rev)


def failed(words, comments=()):
    """The end of a state that failed, with what it did before."""
    if comments:
        words += "\n\nChanges already made: " + joined(comments)
    return Done(False, words)
