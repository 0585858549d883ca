"""Archives: what is in them, making them, taking them apart. Salt: modules/archive.py

Archives are read without any Python library that a minimal one lacks. No member is put, and no link followed, outside
of the place that an archive is extracted to: one that has such members is refused as a whole.
"""

import os
import stat

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils import tarmembers, words, zips

__func_alias__ = {"list_": "list", "zip_": "zip"}

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


def list_(
    name, archive_format=None, options=None, strip_components=None, clean=False, verbose=False, saltenv="base",
    source_hash=None, use_etag=False
):
    """The paths in an archive; with ``verbose`` ``{"dirs", "files", "links", "top_level_dirs", "top_level_files",
    "top_level_links"}``. Directories end with a slash.

    ``options``: the command that decompresses a tar archive. ``clean``: take the fetched copy away.
    Raises CommandExecutionError.
    """
    cached = _cached(name, saltenv, source_hash)
    try:
        if strip_components and (not str(strip_components).isdigit() or not int(strip_components)):
            raise CommandExecutionError("'strip_components' must be a positive integer")
        archive_format = archive_format or guess_format(name)
        if archive_format is None:
            raise CommandExecutionError("Unable to guess archive format, please pass an 'archive_format' argument.")
        found = _members(name, cached, archive_format, options)
    except OSError as exc:
        raise CommandExecutionError("Failed to list contents of %s: %s" % (name, exc))
    except CommandExecutionError as exc:
        raise CommandExecutionError(exc.error, info=dict(exc.info or {}, **{"archive location": cached}))
    if clean:
        _remove(cached)
    return listed(found, int(strip_components or 0), verbose)


def listed(found, strip, verbose):
    """What ``list`` returns of members."""
    kinds = {"dir": [], "link": [], "file": []}
    for member in found:
        path = member.name.rstrip("/") + ("/" if member.kind == "dir" else "")
        if strip:
            path = "".join(path.split("/", strip)[strip:])
        if path:
            kinds["file" if member.kind == "hardlink" else member.kind].append(path)
    if not verbose:
        return sorted(path for paths in kinds.values() for path in paths)
    ret = {kind + "s": sorted(paths) for kind, paths in kinds.items()}
    top = [path for path in ret["dirs"] if path.count("/") == 1]
    every = ret["dirs"] + ret["files"] + ret["links"]
    common = {path.partition("/")[:2] for path in every}
    if len(common) == 1 and all("/" in path for path in every):  # a directory that has no entry of its own
        shared = every[0].split("/")[0] + "/"
        top += [] if shared in top else [shared]
    ret["top_level_dirs"] = top
    for kind in ("files", "links"):
        ret["top_level_" + kind] = [path for path in ret[kind] if "/" not in path]
    return ret


def _cached(name, saltenv, source_hash=None):
    cached = __salt__["cp.cache_file"](name, saltenv, source_hash=source_hash)
    if not cached:
        raise CommandExecutionError("Failed to cache %s" % name)
    return cached


def _members(name, cached, archive_format, options=None):
    """The members of a file that is here."""
    if archive_format == "tar":
        with _plain(name, cached, options) as plain:
            try:
                return tarmembers.members(plain)
            except (tarmembers.NotTar, ValueError):
                raise CommandExecutionError(_UNLISTED % name)
    if archive_format == "zip":
        try:
            with open(cached, "rb") as stream:
                return _with_directories(zips.members(stream))
        except zips.ZipError:
            raise CommandExecutionError("%s is not a ZIP file" % name)
    if archive_format == "rar":
        return _rar_members(cached)
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


def _rar_members(path):
    import re

    if not process.which("rar"):
        raise CommandExecutionError("rar command not available, is it installed?")
    output = __salt__["cmd.run"](["rar", "lt", path], python_shell=False)
    found = re.findall(r"Name:\s*([^\n]+)\s*Type:\s*([^\n]+)", output)
    if not found:
        raise CommandExecutionError("Failed to list %s, is it a rar file?" % path, info={"error": output})
    return [tarmembers.Member(name, "dir" if kind == "Directory" else "file", "") for name, kind in found]


class _plain(object):
    """The path of the tar archive without its compression, where gzip does not suffice: a temporary file then.

    Raises CommandExecutionError when the command for it is missing or fails.
    """

    def __init__(self, name, path, command=None):
        self.name, self.path, self.temporary = name, path, None
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
        done = __salt__["cmd.run_all"](
            "%s > %s" % (line, words.quote(self.temporary)), python_shell=True, ignore_retcode=True
        )
        if done["retcode"] != 0:
            self.__exit__()
            raise CommandExecutionError("Failed to decompress %s" % self.name, info={"error": done["stderr"]})
        return self.temporary

    def __exit__(self, *exc):
        if self.temporary:
            _remove(self.temporary)


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def _refuse_escaping(found, name):
    """Raise CommandExecutionError when a member of the archive would come to be outside of its place."""
    bad = tarmembers.escaping(found)
    if bad is not None:
        raise CommandExecutionError(
            "Archive %s is refused: its member %s would be put outside of the directory it is extracted to, or through "
            "a link of the archive" % (name, bad)
        )


def check_members(name, archive_format, options=None):
    """Raise CommandExecutionError when a member of an archive that is here would come to be outside of its place."""
    if archive_format != "rar":
        _refuse_escaping(_members(name, name, archive_format, options), name)


# Taking apart


def extract_tar(path, dest, name=None):
    """Extract a whole tar archive into a directory that is there: the members' names, in the archive's order.

    Owners, modes and times are those in the archive. Raises CommandExecutionError.
    """
    with _plain(name or path, path) as plain:
        try:
            found = tarmembers.members(plain)
        except (tarmembers.NotTar, ValueError):
            raise CommandExecutionError(
                "Failed to read from tar archive. If archive is compressed using something other than gzip or bzip2, "
                "the 'options' argument may be required to pass the correct options to the tar command in order to "
                "extract the archive."
            )
        _refuse_escaping(found, name or path)
        done = __salt__["cmd.run_all"](["tar", "-x", "-p", "-f", plain, "-C", dest], python_shell=False)
    if done["retcode"] != 0:
        raise CommandExecutionError("Failed to extract %s: %s" % (name or path, done["stderr"] or done["stdout"]))
    return [member.name for member in found]


def unzip(
    zip_file, dest, excludes=None, options=None, template=None, runas=None, trim_output=False, password=None,
    extract_perms=True
):
    """Extract a zip archive: the names of its members. ``runas``: as this user. Raises CommandExecutionError."""
    zip_file, dest = _rendered((zip_file, dest), template)
    excluded = set(_several(excludes))
    with _as_user(runas):
        try:
            with open(zip_file, "rb") as stream:
                found = [member for member in zips.members(stream) if member.name not in excluded]
                _refuse_escaping(found, zip_file)
                secret = str(password).encode("utf-8") if password else None
                for member in found:
                    _extract(stream, member, os.path.join(dest, member.name), secret, extract_perms)
        except (zips.ZipError, OSError) as exc:
            raise CommandExecutionError("Exception encountered unpacking zipfile: %s" % exc)
    return _trimmed([member.name for member in found], trim_output)


def _extract(stream, member, path, password, extract_perms):
    umask = os.umask(0)
    os.umask(umask)
    if member.kind == "dir":
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        if member.kind == "link":
            os.symlink(b"".join(zips.pieces(stream, member, password)), os.fsencode(path))
            return
        pieces = zips.pieces(stream, member, password)
        first = next(pieces, b"")  # a wrong password leaves no file
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "wb") as target:
            target.write(first)
            for piece in pieces:
                target.write(piece)
    if extract_perms:
        plain = 0o777 if member.kind == "dir" else 0o666
        os.chmod(path, stat.S_IMODE(member.mode) if member.mode else plain & ~umask)


def cmd_unzip(
    zip_file, dest, excludes=None, options=None, template=None, runas=None, trim_output=False, password=None
):
    """Extract a zip archive by the command ``unzip``: its output's lines. Raises CommandExecutionError."""
    _command("unzip")
    command = ["unzip"] + (["-P", str(password)] if password else []) + (words.split(options) if options else [])
    command += [str(zip_file), "-d", str(dest)]
    if excludes is not None:
        command += ["-x"] + _several(excludes)
    done = __salt__["cmd.run_all"](
        command, template=template, runas=runas, python_shell=False, redirect_stderr=True,
        output_loglevel="quiet" if password else "debug", ignore_retcode=True,
    )
    if done["retcode"] != 0:
        raise CommandExecutionError(done["stdout"])
    return _trimmed(done["stdout"].splitlines(), trim_output)


def is_encrypted(name, clean=False, saltenv="base", source_hash=None, use_etag=False):
    """Whether a zip archive needs a password. Raises CommandExecutionError where it is no zip archive."""
    cached = _cached(name, saltenv, source_hash)
    try:
        with open(cached, "rb") as stream:
            found = any(member.encrypted for member in zips.members(stream))
    except zips.ZipError:
        raise CommandExecutionError("%s is not a ZIP file" % name, info={"archive location": cached})
    if clean:
        _remove(cached)
    return found


def tar(options, tarfile, sources=None, dest=None, cwd=None, template=None, runas=None):
    """Run ``tar``: its output's lines. ``sources``: paths, comma-separated or a list, with wildcards."""
    if not options:
        raise SaltInvocationError("Tar options can not be empty")
    command = ["tar"] + options.split() + [str(tarfile)] + (["-C", str(dest)] if dest else [])
    return _lines(command + _sources(sources), cwd=cwd, template=template, runas=runas)


def gzip(sourcefile, template=None, runas=None, options=None):
    """Run ``gzip`` on a file: its output's lines."""
    return _lines(["gzip"] + ([options] if options else []) + [str(sourcefile)], template=template, runas=runas)


def gunzip(gzipfile, template=None, runas=None, options=None):
    """Run ``gunzip`` on a file: its output's lines."""
    return _lines(["gunzip"] + ([options] if options else []) + [str(gzipfile)], template=template, runas=runas)


def cmd_zip(zip_file, sources, template=None, cwd=None, runas=None):
    """Make a zip archive by the command ``zip``: its output's lines."""
    return _lines(["zip", "-r", str(zip_file)] + _sources(sources), cwd=cwd, template=template, runas=runas)


def rar(rarfile, sources, template=None, cwd=None, runas=None):
    """Make a rar archive by the command ``rar``: its output's lines."""
    return _lines(["rar", "a", "-idp", str(rarfile)] + _sources(sources), cwd=cwd, template=template, runas=runas)


def unrar(rarfile, dest, excludes=None, template=None, runas=None, trim_output=False):
    """Extract a rar archive by ``unrar`` or ``rar``: its output's lines."""
    tool = process.which("unrar") or process.which("rar")
    if not tool:
        raise CommandExecutionError("archive.unrar function not available, rar/unrar might not be installed on minion")
    command = [tool, "x", "-idp", str(rarfile)]
    for exclude in _several(excludes):
        command += ["-x", exclude]
    return _trimmed(_lines(command + [str(dest)], template=template, runas=runas), trim_output)


def zip_(zip_file, sources, template=None, cwd=None, runas=None, zip64=False):
    """Make a zip archive of files and directories: the names in it. Relative paths need ``cwd``."""
    zip_file, sources = _rendered((zip_file, sources), template)
    sources = _sources(sources)
    if cwd is not None and not os.path.isabs(str(cwd)):
        raise SaltInvocationError("cwd must be absolute")
    if cwd is None and not all(os.path.isabs(source) for source in sources):
        raise SaltInvocationError("Relative paths require the 'cwd' parameter")
    entries = []
    for source in sources:
        top = os.path.join(cwd, source) if cwd else source
        inside = cwd and (top == cwd or top.startswith(cwd.rstrip("/") + "/"))
        base = cwd if inside else "/"
        if os.path.isfile(top):
            entries.append((os.path.relpath(top, base), top))
            continue
        for folder, _, files in os.walk(top):
            name = os.path.relpath(folder, base)
            entries.append((name + "/", folder))
            entries += [(os.path.join(name, file), os.path.join(folder, file)) for file in files]
    with _as_user(runas):
        try:
            with open(zip_file, "wb") as stream:
                zips.write(stream, entries)
        except (zips.ZipError, OSError) as exc:
            raise CommandExecutionError("Exception encountered creating zipfile: %s" % exc)
    return [name for name, _ in entries]


# Inside


class _as_user(object):
    """Files are made as this user meanwhile. Raises SaltInvocationError for one that does not exist."""

    def __init__(self, name):
        self.ids = None
        if name:
            info = __salt__["user.info"](name)
            if not info:
                raise SaltInvocationError("User '%s' does not exist" % name)
            if (info["uid"], info["gid"]) != (os.geteuid(), os.getegid()):
                self.ids = info["uid"], info["gid"]

    def __enter__(self):
        if self.ids:
            self.was = os.geteuid(), os.getegid()
            os.setegid(self.ids[1])
            os.seteuid(self.ids[0])

    def __exit__(self, *exc):
        if self.ids:
            os.seteuid(self.was[0])
            os.setegid(self.was[1])


def _command(name):
    if not process.which(name):
        raise CommandExecutionError("%s is not installed" % name)


def _lines(command, **options):
    _command(command[0])
    return __salt__["cmd.run"](command, python_shell=False, **options).splitlines()


def _several(given):
    if given is None:
        return []
    if isinstance(given, str):
        return [one.strip() for one in given.split(",")]
    return [str(one) for one in given] if isinstance(given, (list, tuple)) else [str(given)]


def _sources(given):
    import glob

    found = []
    for path in _several(given):
        found += sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    return found


def _rendered(texts, template):
    if not template:
        return texts
    found = []
    for text in texts:
        done = __salt__["file.apply_template_on_contents"](str(text), template, None, None, "base")
        if isinstance(done, dict):
            raise CommandExecutionError("Failed to render file path with error: %s" % done["comment"])
        found.append(done.rstrip("\n"))
    return found


def _trimmed(names, limit):
    if limit is False or limit is None:
        return names
    count = 100 if limit is True else limit
    return names[:count] + ["List trimmed after %s files." % count] if len(names) > count else names
