"""Checks the members of an archive for harmful kinds, and names the arguments that allow them.

A member is a Member of ``tarmembers`` or ``zips``: ``name``, ``kind`` (dir, link, hardlink, file), ``target``, ``mode``
and ``special`` (the kind of a special file, such as "a character device", else "").
"""

import stat

from thin.exceptions import CommandExecutionError

#: Arguments of states and functions that allow such members.
ARGUMENTS = ("allow_devices", "allow_setid", "allow_outside")
#: The number of members that an error names; the others are counted.
SHOWN = 5
#: Kinds of files other than regular files, directories and links, by the type bits of a mode.
SPECIAL = {
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}
_BITS = ((stat.S_ISUID, "set-user-ID"), (stat.S_ISGID, "set-group-ID"), (stat.S_ISVTX, "sticky"))


class Harmful(CommandExecutionError):
    """An archive has members that are not allowed. The text names the members and the arguments that allow them."""


def refusal(name, members, allow_devices=False, allow_setid=False, allow_outside=False):
    """The error text for the archive ``name`` with the members ``members``, or "" if all are allowed."""
    allowed = dict(zip(ARGUMENTS, (allow_devices, allow_setid, allow_outside)))
    return sentence(name, [fault for fault in faults(members) if not allowed[fault[2]]])


def sentence(name, wrong):
    """The error text for the faults ``wrong`` of the archive ``name``; "" if there are none."""
    if not wrong:
        return ""
    lines = ["- %s %s" % (shown(member), why) for member, why, _ in wrong[:SHOWN]]
    if len(wrong) > SHOWN:
        lines.append("- and %d more" % (len(wrong) - SHOWN))
    needed = [argument for argument in ARGUMENTS if any(fault[2] == argument for fault in wrong)]
    return "Archive %s is refused for what it would bring:\n\n%s\n\nTo extract it all the same, set %s to True." % (
        name,
        "\n".join(lines),
        " and ".join("'%s'" % argument for argument in needed),
    )


def shown(name):
    """A member's name for an error text: quoted if it contains characters that a terminal would interpret."""
    return name if name and name.isprintable() else repr(name)


def faults(each):
    """``[(member's name, fault, the argument that allows it)]``, in the order of the archive."""
    look, wrong = Look(), []
    for member in each:
        look.note(member)
    for member in each:
        why = look.leaving(member)
        if why:
            wrong.append((member.name, why, "allow_outside"))
    for member in each:
        wrong += by_itself(member)
    return wrong


def by_itself(member):
    """The faults of a member that do not depend on other members."""
    wrong = []
    if member.special:
        wrong.append((member.name, "is %s" % member.special, "allow_devices"))
    bits = special_bits(member.mode) if member.kind in ("file", "dir") else ""
    if bits:
        wrong.append((member.name, "has the %s (mode %o)" % (bits, stat.S_IMODE(member.mode)), "allow_setid"))
    return wrong


def special_bits(mode):
    """The setuid, setgid and sticky bits of a mode in words, or ""."""
    names = [name for bit, name in _BITS if mode & bit]
    return "%s bit%s" % (" and ".join(names), "s" if len(names) > 1 else "") if names else ""


def parts(name):
    """The components of a path, without empty ones and ``.``."""
    return [part for part in name.split("/") if part not in ("", ".")]


def placed(member, strip=0):
    """The member's path relative to the target directory, without the first ``strip`` components; "" if none is left.
    Paths of directories end with a slash."""
    path = member.name.rstrip("/") + ("/" if member.kind == "dir" else "")
    return "".join(path.split("/", strip)[strip:]) if strip else path


def folders(members, strip=0):
    """The paths of the directories that the archive lists as members."""
    ways = [parts(member.name) for member in members if member.kind == "dir"]
    return {"/".join(way[strip:]) for way in ways if len(way) > strip or not strip}


class Look(object):
    """Checks the members of an archive in order. A link may point anywhere, but no member may be extracted through a
    link.
    """

    def __init__(self):
        self.links = set()  # names of symbolic links, and of hard links to them
        self.before = set()

    def note(self, member):
        """Record the member if it is a symbolic link, or a hard link to one."""
        name = "/".join(parts(member.name))
        if member.kind == "link" or (member.kind == "hardlink" and "/".join(parts(member.target)) in self.links):
            self.links.add(name)

    def leaving(self, member):
        """Why extraction would write or link outside of the target directory, or ""."""
        way = parts(member.name)
        why = self._leaving(member, way)
        self.before.add("/".join(way))
        return why

    def _leaving(self, member, way):
        if member.name.startswith("/"):
            return "has an absolute path"
        if ".." in way:
            return "has '..' in its path"
        for count in range(1, len(way)):
            if "/".join(way[:count]) in self.links:
                return "would be put through the link %s of the archive" % shown("/".join(way[:count]))
        return self._wrong_target(member.target) if member.kind == "hardlink" else ""

    def _wrong_target(self, target):
        """The fault of a hard link whose target is not an earlier member, or ""."""
        way = parts(target)
        inside = not target.startswith("/") and ".." not in way and "/".join(way) in self.before
        if inside and not any("/".join(way[:count]) in self.links for count in range(1, len(way))):
            return ""
        return "is a hard link to %s, which is not a member before it" % shown(target)
