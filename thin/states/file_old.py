"""States that take old files, empty directories and spare backups away: a part of ``file``. Salt: salt.states.file."""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files.states import failed, state_return

__virtualname__ = "file"
__usual__ = True


def tidied(
    name,
    age=0,
    matches=None,
    rmdirs=False,
    size=0,
    exclude=None,
    full_path_match=False,
    followlinks=False,
    time_comparison="atime",
    age_size_logical_operator="OR",
    age_size_only=None,
    rmlinks=True,
    **kwargs,
):
    """No files below a directory that are so old (days) or so big and whose names match. changes: {"removed":
    [paths]}."""
    from thin.utils.files import tidying, walk

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not os.path.isabs(name):
        return failed(ret, "Specified file %s is not an absolute path" % name)
    if not os.path.isdir(name):
        return failed(ret, "%s does not exist or is not a directory." % name)
    try:
        found = tidying.old(
            name,
            age,
            matches,
            rmdirs,
            size,
            exclude,
            full_path_match,
            followlinks,
            time_comparison,
            age_size_logical_operator,
            age_size_only,
            rmlinks,
        )
    except CommandExecutionError as exc:
        return failed(ret, str(exc))
    if not found:
        ret["comment"] = "Nothing to remove from directory %s" % name
        return ret
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "%s is set for tidy" % name
        ret["changes"]["removed"] = found
        return ret
    removed = ret["changes"]["removed"] = []
    for path in found:
        try:
            walk.remove(path)
            removed.append(path)
        except OSError as exc:
            return failed(ret, "Could not remove '%s': %s" % (path, exc))
    ret["comment"] = "Removed %d files or directories from directory %s" % (len(removed), name)
    return ret


def pruned(name, recurse=False, ignore_errors=False, older_than=None):
    """No empty directory at ``name``, with ``recurse`` none below it either. changes: {"deleted": path or paths}."""
    name = os.path.expanduser(name)
    ret = state_return(name)
    recurse = recurse or ignore_errors
    if not os.path.isdir(name):
        ret["comment"] = "Directory %s is not present" % name
        return ret
    if __opts__["test"]:
        ret["result"] = None
        ret["changes"]["deleted"] = name
        ret["comment"] = "Directory %s is set for removal" % name
        return ret
    done = __salt__["file.rmdir"](name, recurse=recurse, verbose=True, older_than=older_than)
    result = done.pop("result")
    if result and not recurse:
        ret["comment"] = "Removed directory %s" % name
        ret["changes"]["deleted"] = name
    elif result or (ignore_errors and done["deleted"]):
        if done["deleted"]:
            ret["comment"] = "Recursively removed empty directories under %s" % name
            ret["changes"]["deleted"] = sorted(done["deleted"])
    else:
        ret["changes"] = done
        return failed(ret, "Failed to remove directory %s" % name)
    return ret


def retention_schedule(name, retain, strptime_format=None, timezone=None):
    """Backups in a directory thinned out. changes: {"retained", "deleted", "ignored"}.

    ``retain`` says how many of most_recent, first_of_hour, _day, _week, _month and _year stay, or ``all``.
    """
    from thin.utils.files import tidying, walk

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.retention_schedule")
    if not os.path.isdir(name):
        return failed(ret, "Name provided to file.retention must be a directory")
    try:
        schedule = tidying.schedule(name, retain, strptime_format)
    except CommandExecutionError as exc:
        return failed(ret, str(exc))
    deleted = schedule["deleted"]
    if deleted:
        ret["changes"] = schedule
    if __opts__["test"]:
        ret["comment"] = "%d backups would have been removed from %s.\n" % (len(deleted), name)
        ret["result"] = None if deleted else True
        return ret
    for entry in deleted:
        try:
            walk.remove(os.path.join(name, entry))
        except OSError as exc:
            return failed(ret, "Could not remove '%s': %s" % (os.path.join(name, entry), exc))
    ret["comment"] = "%d backups were removed from %s.\n" % (len(deleted), name)
    return ret
