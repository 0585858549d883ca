"""Writing and editing files, and their backups. Salt: salt.modules.file."""

import os

from thin.exceptions import SaltInvocationError
from thin.utils.files import owner, safepath
from thin.utils.files.arguments import cachedir, expand, lines_given

__virtualname__ = "file"
__usual__ = True
__reads__ = ("list_backups", "list_backups_dir", "list_backup")
__reads_unless__ = {"sed_contains": {"flags": ("g", "i", "I", "gi", "gI")}}  # w writes a file, e runs a command
__changes__ = (
    "write",
    "append",
    "prepend",
    "touch",
    "seek_write",
    "truncate",
    "replace",
    "line",
    "blockreplace",
    "comment",
    "uncomment",
    "comment_line",
    "sed",
    "patch",
    "restore_backup",
    "delete_backup",
    "remove_backup",
)


# -- writing -----------------------------------------------------------------------------------------------------------


def write(path, *args, **kwargs):
    """Replace the content of a file by lines."""
    from thin.utils.files import atomic, edit

    path, lines = expand(path), lines_given(args, kwargs)
    new = not os.path.exists(path)
    atomic.write(safepath.real(path), edit.add_lines(b"", lines), mode=_new_mode() if new else None, keep_inode=True)
    return 'Wrote %d lines to "%s"' % (len(lines), path)


def _new_mode():
    return owner.mode_bits(owner.default_mode())


def append(path, *args, **kwargs):
    """Add lines at the end of a file."""
    from thin.utils.files import edit

    path, lines = expand(path), lines_given(args, kwargs)
    edit.extend(path, edit.addition(path, lines))
    return 'Wrote %d lines to "%s"' % (len(lines), path)


def prepend(path, *args, **kwargs):
    """Add lines at the beginning of a file, which is created if it does not exist."""
    from thin.utils.files import atomic, edit

    path, lines = expand(path), lines_given(args, kwargs)
    if os.path.exists(path):
        edit.commit(path, edit.prefaced(path, lines), keep_inode=True)
    else:
        atomic.write(path, edit.preface(b"", lines), mode=_new_mode())
    return 'Prepended %d lines to "%s"' % (len(lines), path)


def touch(name, atime=None, mtime=None):
    """Create a file or set its times (seconds since 1970; by default now)."""
    from thin.utils.files import times

    return times.touch(expand(name), atime, mtime)


def seek_write(path, data, offset):
    """Write bytes at an offset of a file; returns their number."""
    with open(expand(path), "r+b", buffering=0, opener=safepath.opener) as target:
        target.seek(int(offset))
        written = target.write(data if isinstance(data, bytes) else str(data).encode("utf-8"))
        os.fsync(target.fileno())
    return written


def truncate(path, length):
    """Cut a file to this number of bytes, or lengthen it with zeros."""
    with open(expand(path), "rb+", opener=safepath.opener) as target:
        target.truncate(int(length))


# -- editing -----------------------------------------------------------------------------------------------------------


def replace(
    path,
    pattern,
    repl,
    count=0,
    flags=8,
    bufsize=1,
    append_if_not_found=False,
    prepend_if_not_found=False,
    not_found_content=None,
    backup=".bak",
    dry_run=False,
    search_only=False,
    show_changes=True,
    ignore_if_missing=False,
    preserve_inode=True,
    backslash_literal=False,
    encoding=None,
):
    """Replace every match of a regular expression: the diff, or whether anything changed if no diff is wanted."""
    from thin.utils.files import edit

    if search_only:
        if append_if_not_found or prepend_if_not_found:
            raise SaltInvocationError("search_only cannot be used with append/prepend_if_not_found")
        return edit.search_file(path, pattern, flags, ignore_if_missing, encoding)
    return edit.replace_in_file(
        path,
        pattern,
        repl,
        count,
        flags,
        append_if_not_found,
        prepend_if_not_found,
        not_found_content,
        backup,
        dry_run,
        show_changes,
        ignore_if_missing,
        preserve_inode,
        backslash_literal,
        encoding,
    )


def line(
    path,
    content=None,
    match=None,
    mode=None,
    location=None,
    before=None,
    after=None,
    show_changes=True,
    backup=False,
    quiet=False,
    indent=True,
):
    """Ensure, insert, replace or delete one line: the diff, True, or False if nothing changed."""
    from thin.utils.files import lines

    return lines.edit_file(
        path, content, match, mode, location, before, after, show_changes, backup, quiet, indent, __opts__["test"]
    )


def blockreplace(
    path,
    marker_start="#-- start managed zone --",
    marker_end="#-- end managed zone --",
    content="",
    append_if_not_found=False,
    prepend_if_not_found=False,
    backup=".bak",
    dry_run=False,
    show_changes=True,
    append_newline=False,
    insert_before_match=None,
    insert_after_match=None,
):
    """Replace the text between two marker lines: the diff, or with ``show_changes: false`` whether the file changed."""
    from thin.utils.files import blocks

    return blocks.replace_in_file(
        path,
        marker_start,
        marker_end,
        content,
        append_if_not_found,
        prepend_if_not_found,
        backup,
        dry_run,
        show_changes,
        append_newline,
        insert_before_match,
        insert_after_match,
    )


def comment(path, regex, char="#", backup=".bak"):
    """Comment out matching lines: the diff, False if there are none."""
    return comment_line(path, regex, char, True, backup)


def uncomment(path, regex, char="#", backup=".bak"):
    """Uncomment matching lines: the diff, False if there are none."""
    return comment_line(path, regex, char, False, backup)


def comment_line(path, regex, char="#", cmnt=True, backup=".bak"):
    """Comment out or uncomment matching lines: the diff, False if there are none."""
    from thin.utils.files import blocks

    return blocks.comment_line(path, regex, char, cmnt, backup)


def sed(path, before, after, limit="", backup=".bak", options="-r -e", flags="g", escape_all=False, negate_match=False):
    """What ``cmd.run_all`` returns for sed(1); ``replace`` can do more."""
    from thin.utils import words

    path = expand(path)
    if not os.path.exists(path):
        return False
    safepath.check(path, follow=False)
    before, after, limit = (_sed_escaped(text, escape_all) for text in (before, after, limit))
    command = ["sed", "-i%s" % (backup or "")] + words.split(options)
    place = "/%s/ " % limit if limit else ""
    command.append("%s%ss/%s/%s/%s" % (place, "!" if negate_match else "", before, after, flags))
    return __salt__["cmd.run_all"](command + [path], python_shell=False)


def sed_contains(path, text, limit="", flags="g"):
    """True if sed(1) finds the expression."""
    path = expand(path)
    if not os.path.exists(path):
        return False
    place = "/%s/ " % _sed_escaped(limit, False) if limit else ""
    script = "%ss/%s/$/p%s" % (place, _sed_escaped(text, False), flags)
    return bool(__salt__["cmd.run"](["sed", "-n", "-r", "-e", script, path], python_shell=False))


def _sed_escaped(text, everything):
    text = str(text).replace("'", "'\"'\"'").replace("/", "\\/")
    return "".join("\\" + letter if letter in "^.[$()|*+?{" else letter for letter in text) if everything else text


def patch(originalfile, patchfile, options="", dry_run=False):
    """What ``cmd.run_all`` returns for patch(1), on a file or on the files of a directory."""
    from thin.utils import words

    path, given = expand(originalfile), words.split(options or "")
    safepath.check(os.path.join(path, "any") if os.path.isdir(path) else path)
    command = ["patch"] + given
    if dry_run:
        command.append("-C" if __grains__.get("kernel") in ("FreeBSD", "OpenBSD") else "--dry-run")
    if "-N" not in given and "--forward" not in given:
        command.append("--forward")
    if not any(option.startswith(("-r", "--reject-file")) for option in given):
        command.append("--reject-file=-")
    command += ["-i", patchfile]
    if os.path.isdir(path):
        command += ["-d", path]
        if not any(option.startswith(("-p", "--strip=")) for option in given):
            command.append("--strip=0")
    else:
        command.append(path)
    return __salt__["cmd.run_all"](command, python_shell=False)


# -- backups -----------------------------------------------------------------------------------------------------------


def list_backups(path, limit=None):
    """{number: {"Backup Time", "Size", "Location"}} of the copies that ``backup: minion`` made, the newest is 0."""
    from thin.utils.files import backup

    return backup.listed(expand(path), cachedir(__opts__), int(limit) if limit is not None else None)


def list_backups_dir(path, limit=None):
    """{name: list_backups} of the files of a directory that have backups."""
    from thin.utils.files import backup

    folder = os.path.join(backup.root(cachedir(__opts__)), expand(path).strip("/"))
    names = {backup.SUFFIX.sub("", name) for name in (os.listdir(folder) if os.path.isdir(folder) else ())}
    backups = {name: list_backups(os.path.join(expand(path), name), limit) for name in sorted(names)}
    return {name: copies for name, copies in backups.items() if copies}


def restore_backup(path, backup_id):
    """Restore a backup; the present file is backed up first. {"result", "comment"}."""
    from thin.utils.files import atomic, backup

    path = expand(path)
    location, ret = _backup(path, backup_id)
    if location:
        try:
            if os.path.exists(path):
                backup.keep(path, "minion", cachedir(__opts__))
            mode = None if os.path.exists(path) else _new_mode()
            atomic.write(path, atomic.pieces(location), mode=mode, keep_inode=True)
            ret = {"result": True, "comment": "Successfully restored %s to %s" % (location, path)}
        except OSError as exc:
            ret["comment"] = "Unable to restore %s to %s: %s" % (location, path, exc)
    return ret


def delete_backup(path, backup_id):
    """Delete a backup. {"result", "comment"}."""
    location, ret = _backup(expand(path), backup_id)
    if location:
        try:
            safepath.unlink(location)
            ret = {"result": True, "comment": "Successfully removed %s" % location}
        except OSError as exc:
            ret["comment"] = "Unable to remove %s: %s" % (location, exc)
    return ret


remove_backup = delete_backup
list_backup = list_backups


def _backup(path, backup_id):
    """(path of the backup with this number or None, {"result", "comment"} if there is none)."""
    if not str(backup_id).isdigit() or str(int(backup_id)) != str(backup_id):
        return None, {"result": False, "comment": "Invalid backup_id '%s'" % backup_id}
    copies = list_backups(path)
    words = {"result": False, "comment": "backup_id '%s' does not exist for %s" % (backup_id, path)}
    return copies.get(int(backup_id), {}).get("Location"), words
