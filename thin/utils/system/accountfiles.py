"""Changes /etc/passwd, /etc/group and /etc/shadow directly, for systems whose tools cannot (busybox).

Each change holds the lock of the C library's ``lckpwdf``, and a file is replaced atomically.
"""

from thin.utils.files import safepath, textfile

LOCK = "/etc/.pwd.lock"
PASSWD, SHADOW, GROUP, GSHADOW = "/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow"


def edit(path, name, fields):
    """Set fields, ``{number from 0: text}``, of the entry with this name. Returns whether there is one. Raises
    CommandExecutionError if the file cannot be written."""
    return _rewrite(path, lambda row: row[0] == name and [fields.get(at, text) for at, text in enumerate(row)])


def replace_member(path, old, new):
    """Replace a user's old name by the new one in the member lists of groups."""
    last = 3

    def renamed(row):
        members = row[last].split(",") if len(row) > last else []
        if old not in members:
            return None
        return row[:last] + [",".join(new if one == old else one for one in members)]

    return _rewrite(path, renamed)


def _rewrite(path, change):
    """Replace each entry for which ``change(fields)`` returns new fields. Returns whether there was one."""
    import fcntl
    import os

    with safepath.at(LOCK) as place:
        lock = place.open(os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        lines, result = [], False
        for line in textfile.lines(path):
            fields = change(line.rstrip("\n").split(":"))
            result = result or bool(fields)
            lines.append(":".join(fields) + "\n" if fields else line)
        if result:
            textfile.write(path, "".join(lines))
        return result
    finally:
        os.close(lock)
