"""Lists the members of an archive file: tar with any compression, zip, and rar by the program ``rar``."""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils import words
from thin.utils.archives import archivemembers, tarmembers, zips

TAR_ENDINGS = (
    ".tar",
    ".tar.gz",
    ".tgz",
    ".tar.bz2",
    ".tbz2",
    ".tbz",
    ".tar.xz",
    ".txz",
    ".tar.lzma",
    ".tlz",
    ".tar.zst",
    ".tzst",
)
#: The first bytes of a compressed file -> (the command that decompresses it to stdout, the Python module that can do
#: the same and that a minimal Python lacks, tar's short and long option for the compression).
PACKERS = (
    (b"BZh", ["bzip2", "-dc"], "bz2", ("j", "bzip2")),
    (b"\xfd7zXZ\0", ["xz", "-dc"], "lzma", ("J", "xz")),
    (b"\x28\xb5\x2f\xfd", ["zstd", "-dcq"], None, ("", "zstd")),
    (b"\x5d\0\0", ["xz", "--format=lzma", "-dc"], "lzma", ("", "lzma")),
    (b"LZIP", ["lzip", "-dc"], None, ("", "lzip")),
)
_PIECE = 1 << 16
_UNLISTED = (
    "Unable to list contents of %s. If this is an XZ-compressed tar archive, install XZ Utils to enable listing its "
    "contents. If it is compressed using something other than XZ, it may be necessary to specify CLI options to "
    "decompress the archive. See the documentation for details."
)


def guess_format(name):
    """``tar``, ``zip``, ``rar`` or None, from the ending of a file name."""
    name = name.lower()
    if name.endswith(TAR_ENDINGS):
        return "tar"
    return name[-3:] if name.endswith((".zip", ".rar")) else None


def several(given):
    """A list of strings from a list, a single value, a comma-separated string or None."""
    if given is None:
        return []
    if isinstance(given, str):
        return [one.strip() for one in given.split(",")]
    return [str(one) for one in given] if isinstance(given, (list, tuple)) else [str(given)]


def sources(given):
    """The paths of a list or comma-separated string, with wildcards expanded."""
    import glob

    sources = []
    for path in several(given):
        sources += sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    return sources


def members(name, path, archive_format, run_all, options=None):
    """The members of the file ``path``; errors call it ``name``. ``run_all`` is the function ``cmd.run_all``.

    ``options``: the command that decompresses a tar archive. Raises CommandExecutionError, OSError.
    """
    if archive_format == "tar":
        packed = Packed(name, path, options)
        with readable(name):
            if packed.command is None:
                return tarmembers.members(path)
            return [member for member, _ in tarmembers.passing(packed.pieces()) if member]
    if archive_format == "zip":
        try:
            with open(path, "rb") as stream:
                return _with_directories(zips.members(stream))
        except zips.ZipError:
            raise CommandExecutionError("%s is not a ZIP file" % name)
    if archive_format == "rar":
        return _rar_members(path, run_all)
    raise CommandExecutionError("Unsupported archive format '%s'" % archive_format)


def _with_directories(names):
    """The members of a zip file, and the directories that have no entry of their own, as in archives from Windows."""
    named = {member.name.rstrip("/") for member in names if member.kind == "dir"}
    out = list(names)
    for member in names:
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
    rar_members = []
    for block in re.split(r"\n\s*(?=Name:)", output):
        fields = dict(re.findall(r"^\s*(\w+):\s*([^\n]+?)\s*$", block, re.MULTILINE))
        if "Name" in fields and "Type" in fields:
            rar_members.append(_rar_member(fields))
    if not rar_members:
        raise CommandExecutionError("Failed to list %s, is it a rar file?" % path, info={"error": output})
    return rar_members


def _rar_member(fields):
    kind = "dir" if fields["Type"] == "Directory" else "file"
    if "link" in fields["Type"].lower() and "hard" not in fields["Type"].lower():
        kind = "link"
    return tarmembers.Member(fields["Name"], kind, fields.get("Target", ""), _mode(fields.get("Attributes", "")))


def _mode(text):
    """The permission bits of a mode in the format of ``ls``; 0 if it is invalid."""
    bits = 0
    if len(text) != 10:
        return 0
    for number, letter in enumerate(text[1:]):
        bits |= 0 if letter in "-ST" else 1 << (8 - number)
        if letter in "sStT":
            bits |= 0o4000 >> number // 3
    return bits


class readable(object):
    """Context manager: an error within it means that ``name`` is not a tar archive. Raises CommandExecutionError."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        pass

    def __exit__(self, kind, exc, trace):
        if isinstance(exc, ValueError):
            raise CommandExecutionError(_UNLISTED % self.name)


class located(object):
    """Context manager: a failure within it is reported as one of listing the archive ``name``, cached at ``cached``."""

    def __init__(self, name, cached):
        self.name, self.cached = name, cached

    def __enter__(self):
        pass

    def __exit__(self, kind, exc, trace):
        if isinstance(exc, OSError):
            raise CommandExecutionError("Failed to list contents of %s: %s" % (self.name, exc))
        if isinstance(exc, CommandExecutionError) and not isinstance(exc, archivemembers.Harmful):
            raise CommandExecutionError(exc.error, info=dict(exc.info or {}, **{"archive location": self.cached}))


class Packed(object):
    """A tar file with a compression other than gzip, or one that ``command`` decompresses.

    ``command`` is the command that decompresses it, or None for a plain or gzip file. ``option`` is tar's short and
    long option for the compression. Raises CommandExecutionError for an unparsable command, OSError.
    """

    def __init__(self, name, path, command=None):
        self.name, self.path, self.command, self.option, self._own = name, path, None, ("", ""), None
        if command:
            try:
                self.command = words.split(command) if isinstance(command, str) else list(command)
            except ValueError:
                raise CommandExecutionError("Invalid CLI options")
            return
        with open(path, "rb") as stream:
            head = stream.read(8)
        for magic, packer, own, option in PACKERS:
            if head.startswith(magic):
                self.command, self._own, self.option = packer, own, option

    def pieces(self):
        """Yield the decompressed bytes. Raises CommandExecutionError if no program can decompress them or it fails."""
        try:
            if process.which(self.command[0]):
                command = [str(word) for word in self.command] + [self.path]
                output = process.output(command, dict(os.environ, LC_ALL="C"))
            else:
                output = self._by_python(self._decompressor())
            for piece in output:
                yield piece
        except (OSError, ValueError, EOFError) as exc:
            error = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
            raise CommandExecutionError("Failed to decompress %s" % self.name, info={"error": error})

    def _decompressor(self):
        """The decompressor class of Python for this compression. Raises CommandExecutionError if there is none."""
        try:
            if self._own == "bz2":
                import bz2

                return bz2.BZ2Decompressor
            if self._own == "lzma":
                import lzma

                return lzma.LZMADecompressor
        except ImportError:
            pass
        raise CommandExecutionError(_UNLISTED % self.name)

    def _by_python(self, make):
        """Yield the bytes as Python decompresses them; ``make`` creates a decompressor for each concatenated stream."""
        inner, data = make(), b""
        with open(self.path, "rb") as stream:
            while True:
                if inner.eof:
                    data, more = inner.unused_data.lstrip(b"\0"), True
                    while not data and more:
                        more = stream.read(_PIECE)
                        data = more.lstrip(b"\0")
                    if not data:
                        return
                    inner = make()
                elif inner.needs_input:
                    data = stream.read(_PIECE)
                    if not data:
                        raise EOFError("it ends too early")
                try:
                    piece = inner.decompress(data, _PIECE)
                except Exception as exc:  # LZMAError derives directly from Exception
                    raise ValueError(str(exc))
                data = b""
                if piece:
                    yield piece
