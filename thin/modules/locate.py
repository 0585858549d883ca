"""Files by name, from locate's database. Salt: modules/locate.py"""

__reads__ = ("version", "stats", "locate")
__changes__ = ("updatedb",)

_TOGGLES = {
    "basename": "b",
    "count": "c",
    "existing": "e",
    "follow": "L",
    "ignore": "i",
    "nofollow": "P",
    "wholename": "w",
}


def version():
    """
    Return the version of locate, as lines

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' locate.version
    """
    return _lines(["locate", "-V"])


def stats():
    """
    Return statistics of the database: ``{database: path, words: number}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' locate.stats
    """
    stats = {}
    for line in _lines(["locate", "-S"]):
        words = line.split()
        if line.startswith("Database"):
            stats["database"] = words[1].replace(":", "")
        elif words:
            stats[" ".join(words[1:])] = words[0]
    return stats


def updatedb():
    """
    Update the database; returns the output of updatedb as lines

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' locate.updatedb
    """
    return _lines(["updatedb"])


def locate(pattern, database="", limit=0, **kwargs):
    """
    Return the paths that fit a pattern

    pattern
        The pattern
    database
        Another database
    limit
        The maximum number of paths
    basename
        Match only the last part of a path
    count
        Return the number of paths instead
    existing
        Only paths that exist
    follow
        Follow links for this check
    ignore
        Ignore case
    nofollow
        Do not follow links for this check
    wholename
        Match the whole path
    regex
        The pattern is a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' locate.locate passwd basename=True limit=3
    """
    letters = "".join(_TOGGLES[key] for key in kwargs if key in _TOGGLES and kwargs[key])
    command = ["locate"] + (["-" + letters] if letters else []) + (["-d", database] if database else [])
    command += (["-l", str(limit)] if limit > 0 else []) + (["--regex"] if kwargs.get("regex") else [])
    return _lines(command + ["--", str(pattern)])


def _lines(command):
    return __salt__["cmd.run"](command, python_shell=False).splitlines()
