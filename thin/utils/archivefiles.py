"""The members of an archive file: tar of every compression, zip, and rar by its program."""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils import safepath, tarmembers, words, zips

TAR_ENDINGS = (
    ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar.lzma", ".tlz", ".tar.zst", ".tzst"
)
#: first bytes -> the command that gives the plain bytes on stdout
PACKERS = (
    (b"BZh", ["bzip2", "-dc"]), (b"\xfd7zXZ\0", ["xz", "-dc"]), (b"\x28\xb5\x2f\xfd", ["zstd", "-dcq"]),
    (b"\x5d\0\0", ["xz", "--format=lzma", "-dc"]), (b"LZIP", ["lzip", "-dc"]),
)
_UNLISTED = (
    "Unable to list contents of %s. If this is an XZ-compressed tar archive, install XZ Utils to enable listing its "
    "contents. If it is compressed using something other than XZ, it may be necessary to specify CLI options to "
    "decompress the archive. See the documentation for details."
)


def guess_format(name):
    """``tar``, ``zip``, ``rar`` or None, by the end of a file's name."""
    name = name.lower()
    if name.endswith(TAR_ENDINGS):
        return "tar"
    return name[-3:] if name.endswith((".zip", ".rar")) else None


def several(given):
    """The texts of a list, or of a text with commas."""
    if given is None:
        return []
    if isinstance(given, str):
        return [one.strip() for one in given.split(",")]
    return [str(one) for one in given] if isinstance(given, (list, tuple)) else [str(given)]


def sources(given):
    """Paths, with those that wildcards mean."""
    import glob

    found = []
    for path in several(given):
        found += sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    return found


def members(name, path, archive_format, run_all, options=None):
    """The members of the file ``path``, which errors call ``name``; ``run_all``: the function ``cmd.run_all``.

    ``options``: the command that decompresses a tar archive. Raises CommandExecutionError, OSError.
    """
    if archive_format == "tar":
        with Plain(name, path, run_all, options) as plain:
            try:
                return tarmembers.members(plain)
            except (tarmembers.NotTar, ValueError):
                raise CommandExecutionError(_UNLISTED % name)
    if archive_format == "zip":
        try:
            with open(path, "rb") as stream:
                return _with_directories(zips.members(stream))
        except zips.ZipError:
            raise CommandExecutionError("%s is not a ZIP file" % name)
    if archive_format == "rar":
        return _rar_members(path, run_all)
    raise CommandExecutionError("Unsupported archive format '%s'" % archive_format)


def _with_directories(found):
    """The members of a zip file and the directories that it does not name, as those made on Windows do not."""
    named = {member.name.rstrip("/") for member in found if member.kind == "dir"}
    out = list(found)
    for member in found:
        above = member.name.rpartition("/")[0] if member.kind == "file" else ""
        if above and above not in named:
            named.add(above)
            out.append(tarmembers.Member(above, "dir", ""))
    return out


def _rar_members(path, run_all):
    import re

    tool = process.which("rar") or process.which("unrar")
    if not tool:
        raise CommandExecutionError("rar command not available, is it installed?")
    output = run_all([os.path.basename(tool), "lt", path], python_shell=False)["stdout"]
    found = []
    for block in re.split(r"\n\s*(?=Name:)", output):
        said = dict(re.findall(r"^\s*(\w+):\s*([^\n]+?)\s*$", block, re.MULTILINE))
        if "Name" in said and "Type" in said:
            found.append(_rar_member(said))
    if not found:
        raise CommandExecutionError("Failed to list %s, is it a rar file?" % path, info={"error": output})
    return found


def _rar_member(said):
    kind = "dir" if said["Type"] == "Directory" else "file"
    if "link" in said["Type"].lower() and "hard" not in said["Type"].lower():
        kind = "link"
    return tarmembers.Member(said["Name"], kind, said.get("Target", ""), _mode(said.get("Attributes", "")))


def _mode(text):
    """The bits of a mode as ls writes it, 0 for what is none."""
    bits = 0
    if len(text) != 10:
        return 0
    for number, letter in enumerate(text[1:]):
        bits |= 0 if letter in "-ST" else 1 << (8 - number)
        if letter in "sStT":
            bits |= 0o4000 >> number // 3
    return bits


class Plain(object):
    """The path of the tar archive without its compression, where gzip does not suffice: a temporary file then.

    Raises CommandExecutionError when the command for it is missing or fails.
    """

    def __init__(self, name, path, run_all, command=None):
        self.name, self.path, self.run_all, self.temporary = name, path, run_all, None
        if command:
            try:
                self.command = words.split(command) if isinstance(command, str) else list(command)
            except ValueError:
                raise CommandExecutionError("Invalid CLI options")
        else:
            with open(path, "rb") as stream:
                head = stream.read(8)
            self.command = next((packer for magic, packer in PACKERS if head.startswith(magic)), None)

    def __enter__(self):
        if not self.command:
            return self.path
        from thin.utils import osutil

        if not process.which(self.command[0]):
            raise CommandExecutionError(_UNLISTED % self.name)
        descriptor, self.temporary = osutil.mkstemp()
        os.close(descriptor)
        line = " ".join(words.quote(word) for word in self.command + [self.path])
        done = self.run_all(
            "%s > %s" % (line, words.quote(self.temporary)), python_shell=True, ignore_retcode=True
        )
        if done["retcode"] != 0:
            self.__exit__()
            raise CommandExecutionError("Failed to decompress %s" % self.name, info={"error": done["stderr"]})
        return self.temporary

    def __exit__(self, *exc):
        if self.temporary:
            try:
                safepath.unlink(self.temporary)
            except OSError:
                pass
