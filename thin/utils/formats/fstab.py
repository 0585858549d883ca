"""Parses and edits /etc/fstab as a list of lines. Only the lines of changed entries are rewritten."""

FIELDS = ("device", "name", "fstype", "opts", "dump", "pass_num")

#: File systems of which several entries may have the same device: they are identified by the mount point.
NAMED = frozenset(
    "none tmpfs sysfs proc fusectl debugfs securityfs devtmpfs cgroup nfs nfs4 glusterfs btrfs ceph".split()
)


def fields(line):
    """``{field: text}`` of an entry, with all of FIELDS; None for a comment or another line that is no entry."""
    words = line.split()
    if line.lstrip().startswith("#") or not 4 <= len(words) <= 6:
        return None
    return dict(zip(FIELDS, words + ["0"] * (6 - len(words))))


def line(entry):
    """The line of an entry, with its newline."""
    return "{device}\t\t{name}\t{fstype}\t{opts}\t{dump} {pass_num}\n".format(**entry)


def parse(lines):
    """``{mount point: {"device", "fstype", "opts": [...], "dump", "pass"}}``. A mount point that occurs again gets "_"
    appended."""
    parsed = {}
    for each in lines:
        entry = fields(each)
        if entry is None:
            continue
        name = entry.pop("name")
        while name in parsed:
            name += "_"
        entry["opts"] = entry["opts"].split(",")
        entry["pass"] = entry.pop("pass_num")
        parsed[name] = entry
    return parsed


def matches(each, wanted):
    """Whether a line is an entry with these fields. The order of mount options does not matter."""
    entry = fields(each)
    return entry is not None and all(_value(entry, key) == _value(wanted, key) for key in wanted)


def put(lines, entry, keys, keep=False):
    """Replace the entries that are equal in the fields ``keys``, or append the entry.

    Returns ``("new", "change" or "present", lines)``. ``keep``: an entry that differs is not changed.
    """
    wanted = {key: entry[key] for key in keys}
    action, kept = None, []
    for each in lines:
        if matches(each, wanted):
            if keep or matches(each, entry):
                action = action or "present"
            else:
                action, each = "change", line(entry)
        kept.append(each)
    if action is None:
        if kept and not kept[-1].endswith("\n"):
            kept[-1] += "\n"
        return "new", kept + [line(entry)]
    return action, kept


def _value(entry, key):
    return sorted(entry[key].split(",")) if key == "opts" else entry[key]
