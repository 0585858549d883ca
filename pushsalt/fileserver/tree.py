"""The entries below a directory of the file server, in the form that is sent to a target (thin.wire: ``tree``)."""

from __future__ import annotations

from pushsalt.fileserver import FileServer

#: relative path, kind (f, d, l), SHA-256 or link target or None, permission bits, size in bytes
Entry = list[str | int | None]


def tree(files: FileServer, path: str, saltenv: str) -> list[Entry] | None:
    """Entries below a directory, parents first, with empty directories; None if the directory does not exist."""
    top = path.strip("/")
    prefix = f"{top}/" if top else ""
    dirs = [name for name in files.list_dirs(saltenv) if name.startswith(prefix)]
    links = {name: target for name, target in files.symlinks(saltenv).items() if name.startswith(prefix)}
    names = [name for name in files.list_files(saltenv, top) if name.startswith(prefix)]
    if not names and not links and top not in files.list_dirs(saltenv):
        return None
    entries: list[Entry] = [[name[len(prefix) :], "d", None, 0o755, 0] for name in dirs if name != top]
    entries += [[name[len(prefix) :], "l", target, 0o777, 0] for name, target in links.items()]
    for name in names:
        file = files.find(name, saltenv)
        if file is not None and name not in links:
            entries.append([name[len(prefix) :], "f", file.digest(), file.mode & 0o7777, file.size])
    return sorted(entries, key=lambda entry: str(entry[0]))
