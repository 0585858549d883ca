"""File attributes (lsattr, chattr) and SELinux contexts, used only if a state sets them."""

import os
import subprocess

from thin.utils.files import safepath

SELINUX = "security.selinux"
PARTS = ("seuser", "serole", "setype", "serange")
WORDS = {"seuser": "User", "serole": "Role", "setype": "Type", "serange": "Range"}
SHORT = {"seuser": "user", "serole": "role", "setype": "type", "serange": "range"}


def run(*argv, **options):
    """(exit status, output) of a program; 127 if it does not exist. ``cwd``: its working directory."""
    try:
        process = subprocess.Popen(
            argv,
            cwd=options.get("cwd"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="surrogateescape",
        )
    except OSError as exc:
        return 127, str(exc)
    output = process.communicate()[0]
    return process.returncode, output


def lsattr(path):
    """``{path: [letters]}`` in Salt's format; None if lsattr is missing or the file system has no attributes."""
    status, output = run("lsattr", "-d", path)
    if status:
        return None
    attributes = {}
    for line in output.splitlines():
        flags, _, name = line.partition(" ")
        if name:
            attributes[name.strip()] = [letter for letter in flags if letter in "aAcCdDeijPsStTu"]
    return attributes


def chattr(operator, letters, *paths):
    """Apply ``operator`` ("+" or "-") and ``letters`` to the paths. Whether all succeeded. Raises ``safepath.Refused``.

    chattr runs in the opened folder and does not follow links, so that it changes the file that was meant."""
    done = []
    for path in paths:
        with safepath.at(path, follow=True) as place:
            name = path if place.folder is None else "./" + place.name
            done.append(run("chattr", operator + letters, "--", name, cwd=place.folder)[0])
    return not any(done)


def missing_attributes(path, wanted):
    """(letters to add, letters to remove, present letters), or None if they cannot be read. "e" is never removed: the
    file system sets it."""
    current = lsattr(path)
    if current is None:
        return None
    old, new = set(current.get(path, ())), set(wanted)
    if "e" in old:
        new.add("e")
    return "".join(sorted(new - old)), "".join(sorted(old - new)), "".join(sorted(old))


def context(path):
    """[user, role, type, range] of the file's SELinux context, or None if there is none."""
    try:
        raw = os.getxattr(path, SELINUX, follow_symlinks=False)
    except (AttributeError, OSError):
        return None
    parts = raw.rstrip(b"\0").decode("utf-8", "replace").split(":", 3)
    return parts if len(parts) == 4 else None


def predict(path, attrs, selinux):
    """The changes that ``enforce`` would make, in the shape of Salt's dry run."""
    changes = {}
    if attrs:
        gap = missing_attributes(path, attrs)
        if gap and (gap[0] or gap[1]):
            changes["attrs"] = attrs
    current = context(path) or [None] * 4
    for part, now in zip(PARTS, current):
        if selinux.get(part) and selinux[part] != now:
            changes["selinux"] = {SHORT[part]: selinux[part]}
    return changes


def enforce(path, attrs, selinux):
    """Set attributes and context. Returns (changes, [text about what could not be set])."""
    changes, words = {}, []
    if attrs is not None and not os.path.isdir(path) and not os.path.islink(path):
        gap = missing_attributes(path, attrs)
        if gap and (gap[0] or gap[1]):
            for operator, letters in (("+", gap[0]), ("-", gap[1])):
                if letters:
                    chattr(operator, letters, path)
            left = missing_attributes(path, attrs)
            new = attrs if not (left[0] or left[1]) else left[2]
            if new != attrs:
                words.append("Failed to change attributes to %s" % attrs)
            if new != gap[2]:
                changes["attrs"] = {"old": gap[2], "new": new}
    wanted = {part: selinux[part] for part in PARTS if selinux.get(part)}
    if wanted:
        more, errors = _enforce_context(path, wanted)
        changes.update(more)
        words += errors
    return changes, words


def _enforce_context(path, wanted):
    current = context(path)
    if current is None:
        return {}, ["Failed to get selinux attributes"]
    now = dict(zip(PARTS, current))
    gap = [part for part in PARTS if part in wanted and wanted[part] != now[part]]
    if not gap:
        return {}, []
    label = ":".join(wanted.get(part, now[part]) for part in PARTS)
    try:
        with safepath.at(path) as place:
            place.set_attribute(SELINUX, label.encode() + b"\0")
    except safepath.Refused as exc:
        return {}, [str(exc)]
    except OSError:
        return {}, ["Failed to set selinux attributes"]
    words = " ".join
    change = {
        "Old": words("%s: %s" % (WORDS[part], now[part]) for part in gap),
        "New": words("%s: %s" % (WORDS[part], wanted[part]) for part in gap),
    }
    return {"selinux": change}, []
