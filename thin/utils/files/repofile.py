"""Reads and writes the ``.repo`` files of yum, dnf and zypper, and their configuration: sections of ``key=value``.

``parse`` returns ``(header, {id: {key: value, "comments": [lines]}})``. Keys are in lower case; the lines of a
multi-line value are joined by newlines; comments of a section have no ``#``; the header is what precedes the first
section.
"""

import os

from thin.exceptions import CommandExecutionError


def parse(text, path="", strict=True):
    """See the module's docstring. ``strict``: raises CommandExecutionError for a duplicate section, or a duplicate key
    in one."""
    header, parsed = "", {}
    section, key = None, None
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith(("#", ";")):
            if section is None:
                header += bare + "\n"
            elif bare.startswith("#"):
                section.setdefault("comments", []).append(bare[1:].lstrip())
        elif bare.startswith("[") and bare.endswith("]"):
            name = bare[1:-1]
            if strict and name in parsed:
                raise _twice("section", name, path, number)
            section, key = parsed.setdefault(name, {}), None
        elif section is None or not bare:
            continue
        elif line[0] in " \t" and key is not None:
            section[key] = "%s\n%s" % (section[key], bare) if section[key] else bare
        else:
            at = min((place for place in (bare.find("="), bare.find(":")) if place > 0), default=0)
            if not at:
                continue
            key = bare[:at].strip().lower()
            if strict and key in section:
                raise _twice("option", key, path, number)
            section[key] = bare[at + 1 :].strip()
    return header, parsed


def _twice(kind, name, path, number):
    return CommandExecutionError(
        "%s:%d: %s %r is there twice (strict_config: False takes the last one)" % (path, number, kind, name)
    )


def shown(header, repos):
    """The text of a file with these sections."""
    text = header
    for name, values in repos.items():
        text += "[%s]\n" % name
        for key, value in values.items():
            if key == "comments":
                continue
            if isinstance(value, bool):
                value = "1" if value else "0"
            text += "%s=%s\n" % (key, "\n ".join(str(value).split("\n")))
        text += comments(values.get("comments", [])) + "\n"
    return text


def comments(given):
    """A comment, or a list of comments, as lines with ``#``."""
    return "".join("# %s\n" % str(one).lstrip("#").lstrip() for one in (given if isinstance(given, list) else [given]))


def read(path, strict=True):
    """``parse`` of a file. Raises CommandExecutionError if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return parse(stream.read(), path, strict)
    except OSError as exc:
        raise CommandExecutionError("%s cannot be read: %s" % (path, exc.strerror))


def write(path, header, repos):
    from thin.utils.files import atomic

    data = shown(header, repos).encode("utf-8", "surrogateescape")
    atomic.write(path, data, mode=None if os.path.exists(path) else 0o644)


def repositories(folders, strict=True):
    """``{id: its values and "file"}`` of all .repo files in the folders, sorted by file name within each folder."""
    repos = {}
    for folder in folders:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if name.endswith(".repo"):
                path = os.path.join(folder, name)
                for repo, values in read(path, strict)[1].items():
                    repos[repo] = dict(values, file=path)
    return repos
