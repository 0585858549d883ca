"""Parses and edits /etc/hosts as a list of lines. Only changed lines are rewritten."""

from collections import OrderedDict


def parse(lines):
    """``{address: {"aliases": [...], "comment": text}}`` in the order of the file; lines of one address are merged.

    Comment lines are ``{"comment-N": [line]}``, as in Salt; "comment" is only there if a line has one.
    """
    entries, count = OrderedDict(), 0
    for line in lines:
        if line.strip().startswith("#"):
            entries["comment-%d" % count] = [line.strip()]
            count += 1
            continue
        address, aliases, comment = fields(line)
        if address is None:
            continue
        entry = entries.setdefault(address, {"aliases": []})
        entry["aliases"].extend(aliases)
        if comment:
            entry["comment"] = comment
    return entries


def fields(line):
    """``(address, aliases, comment or None)`` of a line; the address is None if the line has none."""
    text, mark, comment = line.partition("#")
    words = text.split()
    return (words[0] if words else None), words[1:], (comment.strip() or None) if mark else None


def line(address, aliases, comment=None):
    """A line, with its newline."""
    return "%s\t\t%s%s\n" % (address, " ".join(aliases), "\t\t# " + comment if comment else "")


def add(lines, address, alias):
    """The lines with this alias added to the first line of the address, or to a new line at the end."""
    for at, (found_address, aliases, comment) in enumerate(map(fields, lines)):
        if found_address == address:
            return lines[:at] + [line(address, aliases + [alias], comment)] + lines[at + 1 :]
    return _ended(lines) + [line(address, [alias])]


def remove(lines, address, alias):
    """The lines without this alias of the address; lines without any alias left are removed."""
    kept = []
    for each in lines:
        found_address, aliases, comment = fields(each)
        if found_address != address or alias not in aliases:
            kept.append(each)
        elif set(aliases) != {alias}:
            kept.append(line(address, [name for name in aliases if name != alias], comment))
    return kept


def replace(lines, address, aliases, comment=None):
    """The lines with only these aliases for the address, in the place of its first line; no aliases: without the
    address."""
    new = [line(address, aliases, comment)] if aliases else []
    kept, result = [], False
    for each in lines:
        if fields(each)[0] != address:
            kept.append(each)
        elif not result:
            kept, result = kept + new, True
    return kept if result or not new else _ended(kept) + new


def comment(lines, address, text):
    """The lines with this comment on each line of the address."""
    return [
        line(address, aliases, text) if found_address == address else each
        for each, (found_address, aliases, _) in zip(lines, map(fields, lines))
    ]


def _ended(lines):
    return lines[:-1] + [lines[-1] + "\n"] if lines and not lines[-1].endswith("\n") else lines
