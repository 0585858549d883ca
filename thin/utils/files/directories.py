"""The steps of ``file.directory``: remove an obstacle, create, compare the content, change."""

import os
import stat

from thin.utils.files import owner, safepath, walk

REMOVED = {"removed": "Removed due to clean"}


def make_way(name, ret, force, backupname, allow_symlink, test):
    """Remove a file or link at ``name``, or rename it to ``backupname``. Records this in ``ret``. Returns the error
    text if it is not allowed, else "".
    """
    link = os.path.islink(name)
    if not (os.path.isfile(name) or (link and (force or not allow_symlink))):
        return ""
    changes = ret["changes"]
    if backupname is not None:
        if os.path.lexists(backupname):
            if not force:
                return "File exists where the backup target %s should go" % backupname
            if test:
                changes["forced"] = "Existing file at backup path %s would be removed" % backupname
            else:
                walk.remove(backupname)
        if test:
            changes["backup"] = "%s would be renamed to %s" % (name, backupname)
            changes[name] = {"directory": "new"}
            ret["comment"] = "%s would be backed up and replaced with a new directory" % name
            ret["result"] = None
        else:
            safepath.rename(name, backupname)
        return ""
    if not force:
        return "Specified location %s exists and is a %s" % (name, "file" if os.path.isfile(name) else "symlink")
    kind = "File" if os.path.isfile(name) else "Symlink"
    if test:
        changes["forced"] = "%s would be forcibly replaced" % kind
    else:
        safepath.unlink(name)
        changes["forced"] = "%s was forcibly replaced" % kind
    return ""


def make(name, ret, user, group, mode, makedirs, test):
    """Create the directory ``name``. Fills and returns ``ret``."""
    from thin.utils.files import atomic
    from thin.utils.files.states import failed

    ret["changes"][name] = {"directory": "new"}  # as in Salt also if it fails
    if test:
        ret["result"] = None
        ret["comment"] = "The following files will be changed:\n%s: directory - new\n" % name
        return ret
    if not os.path.isdir(os.path.dirname(name)) and not makedirs:
        return failed(ret, "No directory to create %s in" % name)
    try:
        atomic.makedirs(name, user, group, mode)
        atomic.mkdir(name, user, group, mode)
    except OSError as exc:
        return failed(ret, "Failed to create directory %s: %s" % (exc.filename or name, exc.strerror))
    ret["comment"] = ""
    return ret


def drifts(name, tree, aspects, user, group, dir_mode, file_mode, follow_symlinks, children_only):
    """``{path: what differs}``: content before its directory, ``name`` at the end, as in Salt."""
    drifts = {}
    inner_user = user if "user" in aspects else None
    inner_group = group if "group" in aspects else None
    inner_dir, inner_file = (dir_mode, file_mode) if "mode" in aspects else (None, None)
    if aspects:
        for root, dirs, files in tree:
            if "ignore_files" not in aspects:
                for entry in files:
                    _note(drifts, os.path.join(root, entry), inner_user, inner_group, inner_file, follow_symlinks)
            if "ignore_dirs" not in aspects:
                for entry in dirs:
                    _note(drifts, os.path.join(root, entry), inner_user, inner_group, inner_dir, follow_symlinks)
    if not children_only:
        _note(drifts, name, user, group, dir_mode, follow_symlinks)
    return drifts


def _note(drifts, path, user, group, mode, follow_symlinks):
    st = owner.look(path, follow_symlinks)
    if st is None:
        return  # removed meanwhile
    change = owner.drift(st, user, group, None if stat.S_ISLNK(st.st_mode) else mode)
    if change:
        drifts[path] = change


def predicted(name, ret, drifts, removed):
    """The return of a dry run. Raises ``safepath.Refused`` if a change would be refused."""
    if drifts or removed:
        safepath.check(os.path.join(name, "any"))
    ret["changes"].update(drifts)
    ret["changes"].update((path, REMOVED) for path in removed)
    lines = [
        "%s: %s - %s\n" % (path, key, value)
        for path, change in ret["changes"].items()
        if isinstance(change, dict)
        for key, value in change.items()
    ]
    if lines:
        ret["result"] = None
        ret["comment"] = "The following files will be changed:\n" + "".join(lines)
    else:
        ret["comment"] = "The directory %s is in the correct state" % name
    return ret


def converge(name, ret, drifts, removed, silent, children_only, follow_symlinks):
    """Change what differs, remove the paths ``removed``, and fill the return."""
    words = []
    ret["changes"].update(drifts)
    ret["changes"].update((path, REMOVED) for path in removed)
    with safepath.Near() as near:
        for path in [name] + [path for path in drifts if path != name]:
            if path in drifts:
                try:
                    done, failed = owner.enforce(path, drifts[path], follow_symlinks, near=near)
                except OSError as exc:  # the others are changed, even if a file was exchanged meanwhile
                    done, failed = {}, [exc.strerror]
                words += ["%s: %s" % (path, word) if path != name else word for word in failed]
                ret["changes"].update(done)
            if path == name and silent:
                ret["changes"] = {"recursion": "Changes silenced"}
    comment = "Directory %s%s updated" % (name, "/*" if children_only else "")
    gone = []
    for path in removed:
        try:
            if walk.remove(path):
                gone.append(path)
        except OSError as exc:
            words.append("Could not remove '%s': %s" % (path, exc.strerror))
    if gone:
        ret["changes"]["removed"] = gone
        comment = "Files cleaned from directory %s" % name
    ret["comment"] = comment
    if words:
        ret["result"] = False
        ret["comment"] = "; ".join([comment] + words)
    return ret
