"""/etc/fstab as lines: what is mounted where. What is changed is an entry's line; all others stay as written."""

FIELDS = ("device", "name", "fstype", "opts", "dump", "pass_num")

#: file systems of which many entries share a device: theirs are told apart by the mount point
NAMED = frozenset(
    "none tmpfs sysfs proc fusectl debugfs securityfs devtmpfs cgroup nfs nfs4 glusterfs btrfs ceph".split()
)


def fields(line):
    """``{field: text}`` of a line, all of FIELDS; None for comments and what is no entry."""
    words = line.split()
    if line.lstrip().startswith("#") or not 4 <= len(words) <= 6:
        return None
    return dict(zip(FIELDS, words + ["0"] * (6 - len(words))))


def line(entry):
    """An entry's line, with its end."""
    return "{device}\t\t{name}\t{fstype}\t{opts}\t{dump} {pass_num}\n".format(**entry)


def parse(lines):
    """``{mount point: {"device", "fstype", "opts": [...], "dump", "pass"}}``; one met again has "_" at its end."""
    found = {}
    for each in lines:
        entry = fields(each)
        if entry is None:
            continue
        name = entry.pop("name")
        while name in found:
            name += "_"
        entry["opts"] = entry["opts"].split(",")
        entry["pass"] = entry.pop("pass_num")
        found[name] = entry
    return found


def matches(each, wanted):
    """Whether a line is an entry with these fields; the order of options does not count."""
    entry = fields(each)
    return entry is not None and all(_value(entry, key) == _value(wanted, key) for key in wanted)


def put(lines, entry, keys, keep=False):
    """``("new", "change" or "present", lines)`` with this entry in the place of those that are alike in ``keys``.

    ``keep`` leaves an entry as it is that is there and differs.
    """
    wanted = {key: entry[key] for key in keys}
    said, kept = None, []
    for each in lines:
        if matches(each, wanted):
            if keep or matches(each, entry):
                said = said or "present"
            else:
                said, each = "change", line(entry)
        kept.append(each)
    if said is None:
        if kept and not kept[-1].endswith("\n"):
            kept[-1] += "\n"
        return "new", kept + [line(entry)]
    return said, kept


def _value(entry, key):
    return sorted(entry[key].split(",")) if key == "opts" else entry[key]
