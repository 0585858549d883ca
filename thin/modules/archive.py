"""Listing and creating archives. Salt: modules/archive.py

Archives are read without libraries that a minimal Python lacks. archive_unpack.py extracts them.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.archives import archivefiles, archivemembers, zips
from thin.utils.files import safepath
from thin.utils.system.asuser import AsUser

__func_alias__ = {"list_": "list", "zip_": "zip"}
__reads__ = ("guess_format", "list", "check_members", "listed", "is_encrypted")
__changes__ = ("gzip", "gunzip", "cmd_zip", "rar", "zip")


def guess_format(name):
    """``tar``, ``zip``, ``rar`` or None, by the suffix of a file's name."""
    return archivefiles.guess_format(name)


def list_(
    name,
    archive_format=None,
    options=None,
    strip_components=None,
    clean=False,
    verbose=False,
    saltenv="base",
    source_hash=None,
    use_etag=False,
):
    """The paths in an archive; with ``verbose`` ``{"dirs", "files", "links", "top_level_dirs", "top_level_files",
    "top_level_links"}``. Directories end with a slash.

    ``options``: the command that decompresses a tar archive. ``clean``: remove the fetched copy. Raises
    CommandExecutionError.
    """
    cached = _cached(name, saltenv, source_hash)
    members = _members(name, cached, archive_format, options, strip_components)
    if clean:
        _remove(cached)
    return listed(members, int(strip_components or 0), verbose)


def check_members(
    name,
    archive_format=None,
    options=None,
    strip_components=None,
    shown=None,
    allow_devices=False,
    allow_setid=False,
    allow_outside=False,
):
    """The result of ``list`` with ``verbose`` for a local archive; error messages name it ``shown``.

    Raises CommandExecutionError for dangerous members, unless they are allowed: device nodes, FIFOs and sockets
    (``allow_devices``); set-user-ID, set-group-ID and sticky bits (``allow_setid``); members that would be written
    outside of the directory or through a link of the archive, and hard links to anything else (``allow_outside``).
    """
    members = _members(name, name, archive_format, options, strip_components)
    words = archivemembers.refusal(shown or name, members, allow_devices, allow_setid, allow_outside)
    if words:
        raise archivemembers.Harmful(words)
    return listed(members, int(strip_components or 0), True)


def listed(members, strip, verbose):
    """The result of ``list`` for these members."""
    kinds = {"dir": [], "link": [], "file": []}
    for member in members:
        path = archivemembers.placed(member, strip)
        if path:
            kinds["file" if member.kind == "hardlink" else member.kind].append(path)
    if not verbose:
        return sorted(path for paths in kinds.values() for path in paths)
    ret = {kind + "s": sorted(paths) for kind, paths in kinds.items()}
    top = [path for path in ret["dirs"] if path.count("/") == 1]
    every = ret["dirs"] + ret["files"] + ret["links"]
    common = {path.partition("/")[:2] for path in every}
    if len(common) == 1 and all("/" in path for path in every):  # a directory without an entry of its own
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


def _members(name, cached, archive_format, options, strip_components):
    with archivefiles.located(name, cached):
        if strip_components and (not str(strip_components).isdigit() or not int(strip_components)):
            raise CommandExecutionError("'strip_components' must be a positive integer")
        archive_format = archive_format or guess_format(name)
        if archive_format is None:
            raise CommandExecutionError("Unable to guess archive format, please pass an 'archive_format' argument.")
        return archivefiles.members(name, cached, archive_format, __salt__["cmd.run_all"], options)


def _remove(path):
    try:
        safepath.unlink(path)
    except OSError:
        pass


def is_encrypted(name, clean=False, saltenv="base", source_hash=None, use_etag=False):
    """Whether a zip archive needs a password. Raises CommandExecutionError for other files."""
    cached = _cached(name, saltenv, source_hash)
    try:
        with open(cached, "rb") as stream:
            encrypted = any(member.encrypted for member in zips.members(stream))
    except zips.ZipError:
        raise CommandExecutionError("%s is not a ZIP file" % name, info={"archive location": cached})
    if clean:
        _remove(cached)
    return encrypted


def gzip(sourcefile, template=None, runas=None, options=None):
    """Run ``gzip`` on a file; returns the lines of its output."""
    return _lines(["gzip"] + ([options] if options else []) + [str(sourcefile)], template=template, runas=runas)


def gunzip(gzipfile, template=None, runas=None, options=None):
    """Run ``gunzip`` on a file; returns the lines of its output."""
    return _lines(["gunzip"] + ([options] if options else []) + [str(gzipfile)], template=template, runas=runas)


def cmd_zip(zip_file, sources, template=None, cwd=None, runas=None):
    """Make a zip archive by the command ``zip``; returns the lines of its output."""
    return _lines(["zip", "-r", str(zip_file)] + archivefiles.sources(sources), cwd=cwd, template=template, runas=runas)


def rar(rarfile, sources, template=None, cwd=None, runas=None):
    """Make a rar archive by the command ``rar``; returns the lines of its output."""
    command = ["rar", "a", "-idp", str(rarfile)] + archivefiles.sources(sources)
    return _lines(command, cwd=cwd, template=template, runas=runas)


def zip_(zip_file, sources, template=None, cwd=None, runas=None, zip64=False):
    """Make a zip archive of files and directories; returns the names in it. Relative paths need ``cwd``."""
    zip_file, sources = _rendered((zip_file, sources), template)
    sources = archivefiles.sources(sources)
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
    with AsUser(runas, __salt__["user.info"]):
        try:
            with open(zip_file, "wb", opener=safepath.opener) as stream:
                zips.write(stream, entries)
        except (zips.ZipError, OSError) as exc:
            raise CommandExecutionError("Exception encountered creating zipfile: %s" % exc)
    return [name for name, _ in entries]


# Private functions


def _command(name):
    if not process.which(name):
        raise CommandExecutionError("%s is not installed" % name)


def _lines(command, **options):
    _command(command[0])
    return __salt__["cmd.run"](command, python_shell=False, **options).splitlines()


def _rendered(texts, template):
    if not template:
        return texts
    result = []
    for text in texts:
        done = __salt__["file.apply_template_on_contents"](str(text), template, None, None, "base")
        if isinstance(done, dict):
            raise CommandExecutionError("Failed to render file path with error: %s" % done["comment"])
        result.append(done.rstrip("\n"))
    return result
