"""Simple edits of files by Python's regular expressions. Salt: modules/file.py"""

import os
import re

from thin.exceptions import SaltInvocationError
from thin.utils.files import textfile

__virtualname__ = "file"
__changes__ = ("psed",)

_FLAGS = {"I": re.I, "L": re.L, "M": re.M, "S": re.S, "U": re.U, "X": re.X}


def psed(path, before, after, limit="", backup=".bak", flags="gMS", escape_all=False, multi=False):
    """
    Replace matches in a file; file.replace can do more

    path
        The file
    before
        The regular expression to replace
    after
        The replacement
    limit
        A regular expression; only text after its first match is changed
    backup
        The suffix of a copy of the old file; empty for no copy
    flags
        Letters: g for all places, and those of Python's expressions I, L, M, S, U, X
    escape_all
        ``before`` and ``limit`` are no expressions
    multi
        Without effect: the file is always matched as a whole

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' file.psed /etc/app/app.conf 'workers = 2' 'workers = 4'
    """
    path = os.path.expanduser(path)
    unknown = [letter for letter in flags if letter != "g" and letter not in _FLAGS]
    if unknown:
        raise SaltInvocationError("file.psed knows no flags %s" % "".join(unknown))
    text = textfile.read(path)
    if text is None:
        raise SaltInvocationError("File %s not found" % path)
    options = 0
    for letter in flags.replace("g", ""):
        options |= _FLAGS[letter]
    before, limit = [re.escape(str(word)) if escape_all else str(word) for word in (before, limit)]
    match = re.search(limit, text) if limit else None
    start = len(text) if limit and not match else match.end() if match else 0
    changed = text[:start] + re.sub(before, str(after), text[start:], count=0 if "g" in flags else 1, flags=options)
    if backup:
        __salt__["file.copy"](path, path + backup)
    if changed != text:
        textfile.write(path, changed)
