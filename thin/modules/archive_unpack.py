"""Extraction of archives: a part of ``archive``. Salt: modules/archive.py

No member is written outside of the directory, and no link of another user is followed. An archive with dangerous
members is refused as a whole, unless an argument allows them (see ``archive.check_members``). Files are extracted into
a private folder and moved from there (thin/utils/archives/unpacking.py). With ``runas`` the program has only the rights
of that user; members are checked in this case, too.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils import words
from thin.utils.archives import archivefiles, archivemembers, taroptions, tarpass, unpacking, unzipping, zips
from thin.utils.files import ownfolders, safepath
from thin.utils.system.asuser import AsUser

__virtualname__ = "archive"
__changes__ = ("extract_tar", "tar", "unzip", "cmd_unzip", "unrar")


def extract_tar(path, dest, name=None, options=None, list_options=None, strip=0, **allowed):
    """Extract a whole tar archive into an existing directory; returns what ``cmd.run_all`` returns.

    ``options``: the options of a command line of tar, as text; ``list_options``: the command that decompresses the
    archive for listing. Without ``options``, owners, modes and times are those in the archive, ``members`` are the
    names of its members, and a failure is an error. ``strip``: how many leading parts of each name the options remove.
    ``allowed``: the arguments of ``check_members``. Raises CommandExecutionError.
    """
    shown = name or path
    try:
        one = tarpass.fitting(shown, path, options, list_options, allowed, __salt__["cmd.run_all"])
        if one is not None:
            with one:
                one.read(dest, lambda member: True)
                if one.done is not None:
                    return one.finish(strip)
        done, members = _extract_after_a_look(shown, path, dest, options, list_options, strip, allowed)
    except OSError as exc:
        raise CommandExecutionError("Failed to extract %s: %s" % (shown, exc))
    if options is None:
        tarpass.succeeded(shown, done)
    return dict(done, members=[member.name for member in members])


def _extract_after_a_look(shown, path, dest, options, list_options, strip, allowed):
    """(what ``cmd.run_all`` returns for tar, members) of an archive that is checked before tar reads it."""
    members = archivefiles.members(shown, path, "tar", __salt__["cmd.run_all"], list_options)
    _refuse(shown, members, allowed)
    packed, outside = archivefiles.Packed(shown, path, list_options), allowed.get("allow_outside")
    given = taroptions.Options(tarpass.without_verbose(options))
    more = {}
    if options is not None:
        command = tarpass.tar_command(given, path, outside)
    elif packed.command is None:
        command = tarpass.all_of_tar(path, outside)
    else:
        command, more = tarpass.all_of_tar("-", outside), {"stdin": packed.pieces()}
    explicit = archivemembers.folders(members, strip)
    done = _taken_apart(
        shown, dest, lambda into: command, allowed, looking=given.looking, explicit=explicit, inside=True, **more
    )
    return done, members


def tar(
    options,
    tarfile,
    sources=None,
    dest=None,
    cwd=None,
    template=None,
    runas=None,
    allow_devices=False,
    allow_setid=False,
    allow_outside=False,
):
    """Run ``tar``; returns the lines of its output. ``sources``: paths, comma-separated or a list, with wildcards.

    For extraction, ``allow_...`` allow dangerous members: see ``archive.check_members``.
    """
    if not options:
        raise SaltInvocationError("Tar options can not be empty")
    given = taroptions.Options(options.split())
    if not given.extracts:
        command = ["tar"] + options.split() + [str(tarfile)] + (["-C", str(dest)] if dest else [])
        return _lines(command + archivefiles.sources(sources), cwd=cwd, template=template, runas=runas)
    _command("tar")
    start = cwd or os.path.expanduser("~")
    path, dest = (os.path.join(start, one) for one in _rendered((str(tarfile), str(dest or ".")), template))
    allowed = {"allow_devices": allow_devices, "allow_setid": allow_setid, "allow_outside": allow_outside}
    result = []
    try:
        result = archivefiles.members(path, path, "tar", __salt__["cmd.run_all"])
    except (CommandExecutionError, OSError):
        pass  # tar reports an archive that it cannot read; one that only tar can read is checked after extraction
    _refuse(path, result, allowed)
    command = ["tar"] + (options.split() if allow_outside else given.words) + [path]

    def line(into):
        return command + (["-C", into] if into else []) + archivefiles.sources(sources)

    done = _taken_apart(
        path,
        dest,
        line,
        allowed,
        runas,
        given.looking,
        archivemembers.folders(result),
        inside=True,
        start=start,
        redirect_stderr=True,
    )
    return done["stdout"].splitlines()


def unzip(
    zip_file,
    dest,
    excludes=None,
    options=None,
    template=None,
    runas=None,
    trim_output=False,
    password=None,
    extract_perms=True,
    allow_devices=False,
    allow_setid=False,
    allow_outside=False,
):
    """Extract a zip archive; returns the names of its members. ``runas``: as this user. Raises CommandExecutionError.

    ``allow_...`` allow dangerous members: see ``archive.check_members``.
    """
    zip_file, dest = _rendered((zip_file, dest), template)
    excluded = set(archivefiles.several(excludes))
    allowed = {"allow_devices": allow_devices, "allow_setid": allow_setid, "allow_outside": allow_outside}
    with AsUser(runas, __salt__["user.info"]):
        try:
            with open(zip_file, "rb") as stream:
                result = [member for member in zips.members(stream) if member.name not in excluded]
                _refuse(zip_file, result, allowed)
                secret = str(password).encode("utf-8") if password else None
                safepath.makedirs(dest)
                if allow_outside:
                    unzipping.all_of(stream, result, secret, extract_perms, unzipping.Anywhere(dest))
                else:
                    with unpacking.Stage(dest) as stage:
                        try:
                            unzipping.all_of(stream, result, secret, extract_perms, unzipping.Inside(stage.tree))
                        finally:
                            _refuse_staged(stage, zip_file, allowed)
                            stage.place(archivemembers.folders(result) if extract_perms else (), owners=False)
        except CommandExecutionError:
            raise
        except (zips.ZipError, OSError) as exc:
            raise CommandExecutionError("Exception encountered unpacking zipfile: %s" % exc)
    return _trimmed([member.name for member in result], trim_output)


def cmd_unzip(
    zip_file,
    dest,
    excludes=None,
    options=None,
    template=None,
    runas=None,
    trim_output=False,
    password=None,
    allow_devices=False,
    allow_setid=False,
    allow_outside=False,
):
    """Extract a zip archive by the command ``unzip``; returns the lines of its output. Raises CommandExecutionError.

    ``allow_...`` allow dangerous members: see ``archive.check_members``.
    """
    _command("unzip")
    zip_file, dest = (_absolute(path) for path in _rendered((str(zip_file), str(dest)), template))
    allowed = {"allow_devices": allow_devices, "allow_setid": allow_setid, "allow_outside": allow_outside}
    try:
        result = archivefiles.members(zip_file, zip_file, "zip", __salt__["cmd.run_all"])
    except (CommandExecutionError, OSError):
        result = []  # unzip reports the error itself
    _refuse(zip_file, result, allowed)

    def line(into):
        command = ["unzip"] + (["-P", str(password)] if password else []) + (words.split(options) if options else [])
        command += (["-:"] if allow_outside else []) + [zip_file, "-d", into]
        return command + (["-x"] + archivefiles.several(excludes) if excludes is not None else [])

    done = _taken_apart(
        zip_file,
        dest,
        line,
        allowed,
        runas,
        redirect_stderr=True,
        ignore_retcode=True,
        output_loglevel="quiet" if password else "debug",
    )
    if done["retcode"] != 0:
        raise CommandExecutionError(done["stdout"])
    return _trimmed(done["stdout"].splitlines(), trim_output)


def unrar(
    rarfile,
    dest,
    excludes=None,
    template=None,
    runas=None,
    trim_output=False,
    allow_devices=False,
    allow_setid=False,
    allow_outside=False,
):
    """Extract a rar archive by ``unrar`` or ``rar``; returns the lines of its output.

    ``allow_...`` allow dangerous members: see ``archive.check_members``.
    """
    tool = process.which("unrar") or process.which("rar")
    if not tool:
        raise CommandExecutionError("archive.unrar function not available, rar/unrar might not be installed on minion")
    rarfile, dest = (_absolute(path) for path in _rendered((str(rarfile), str(dest)), template))
    allowed = {"allow_devices": allow_devices, "allow_setid": allow_setid, "allow_outside": allow_outside}
    try:
        result = archivefiles.members(rarfile, rarfile, "rar", __salt__["cmd.run_all"])
    except (CommandExecutionError, OSError):
        result = []  # the program reports the error itself
    _refuse(rarfile, result, allowed)

    def line(into):
        command = [tool, "x", "-idp", rarfile]
        for exclude in archivefiles.several(excludes):
            command += ["-x", exclude]
        return command + [into]

    done = _taken_apart(rarfile, dest, line, allowed, runas, redirect_stderr=True)
    return _trimmed(done["stdout"].splitlines(), trim_output)


# Private functions


def _taken_apart(name, dest, line, allowed, runas=None, looking=(), explicit=(), inside=False, start=None, **options):
    """Run a program that extracts into a private folder, or directly into ``dest`` if an argument requires this.

    Returns what ``cmd.run_all`` returns.

    ``line(into)``: its command; ``inside``: it extracts into its working directory, otherwise into the argument
    ``into``. ``looking``: options that need the final directory. Raises CommandExecutionError.
    """
    try:
        if not inside and not runas:
            safepath.makedirs(dest)
        if runas or looking or allowed.get("allow_outside"):
            if not runas:
                _only_ours(dest, looking)
                options["cwd"] = dest
            elif inside:
                options["cwd"] = start
            return __salt__["cmd.run_all"](line(dest), runas=runas, python_shell=False, **options)
        with unpacking.Stage(dest) as stage:
            into = stage.name + ("/" if dest.endswith("/") else "")
            folder = stage.inside if inside else stage.folder
            done = __salt__["cmd.run_all"](line(None if inside else into), cwd=folder, python_shell=False, **options)
            for key in ("stdout", "stderr"):
                done[key] = done[key].replace(into, dest)
            _refuse_staged(stage, name, allowed)
            stage.place(explicit)  # after a failure, the files extracted so far are kept, as the program would do
        return done
    except CommandExecutionError:
        raise
    except OSError as exc:
        raise CommandExecutionError("Failed to extract %s: %s" % (name, exc))


def _only_ours(dest, looking):
    """Raise CommandExecutionError if another user could redirect a program that works in ``dest`` itself."""
    path = ownfolders.changeable(dest)
    if path:
        raise CommandExecutionError(
            "%s makes tar work in the directory %s itself, and %s can be changed by other users: they could lead it "
            "elsewhere. Do without, or make the directory and all in it root's alone"
            % (" ".join(looking) or "'allow_outside'", dest, path)
        )


def _refuse(name, members, allowed):
    refused = archivemembers.refusal(name, members, **allowed)
    if refused:
        raise archivemembers.Harmful(refused)


def _refuse_staged(stage, name, allowed):
    refused = stage.check(name, **allowed)
    if refused:
        raise archivemembers.Harmful(refused)


def _absolute(path):
    return os.path.join(os.path.expanduser("~"), path)


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


def _trimmed(names, limit):
    if limit is False or limit is None:
        return names
    count = 100 if limit is True else limit
    return names[:count] + ["List trimmed after %s files." % count] if len(names) > count else names
