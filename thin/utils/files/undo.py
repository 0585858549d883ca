"""Restores what ``thin.utils.files.keeping`` recorded of a job: first makes a plan, then runs it."""

import os

from thin.boot import sha256
from thin.utils.canonical import canonical
from thin.utils.files import atomic, diff, keeping, owner, safepath

#: The maximum number of files whose diff is shown, and the maximum length of a diff.
_SHOWN = 500
_LONGEST = 64 * 1024


def plan(cachedir, jid):
    """What an undo of the job would do: ``salts``, ``files``, and ``key``, a digest of the plan.

    ``files``: in the order of execution. Each has ``path``, ``states``, ``action``:

    ======= ====================================================================
    remove  remove it: the job created it
    write   restore the former content (``diff``), owner and mode of a file
    dress   restore the former owner and mode of a file or folder
    make    create a folder or link again that the job removed or changed
    none    nothing: it is as it was before the job
    lost    it cannot be restored: ``why``
    ======= ====================================================================

    and ``drift`` if it is not as the job left it. None if there are no records of the job.
    """
    held = keeping.notes(cachedir, jid)
    if held is None:
        return None
    files = []
    for path, entry in held["paths"].items():
        if entry.get("before") is not None and _bare(entry["before"]) != _bare(entry.get("after")):
            files.append(_file(path, entry, len(files) < _SHOWN))
    removed = sorted((each for each in files if each["action"] == "remove"), key=_depth, reverse=True)
    files = removed + sorted((each for each in files if each["action"] != "remove"), key=_depth)
    key = sha256(canonical(files).encode("utf-8", "surrogatepass")).hexdigest()
    return {"salts": held["salts"], "files": files, "key": key}


def _depth(entry):
    return entry["path"].count("/"), entry["path"]


def _bare(entries):
    """A record without the path of the copy."""
    return entries and {key: entries[key] for key in entries if key != "copy"}


def _file(path, entry, shown):
    before, after = entry["before"], entry.get("after")
    done = {"path": path, "states": entry["states"], "action": "none"}
    try:
        now = keeping.look(path, digest=True)
    except OSError as exc:
        return dict(done, action="lost", why=str(exc))
    wanted = _bare(before)
    if _alike(wanted, now):
        return done
    done["action"] = _action(before, now)
    if done["action"] == "lost":
        done["why"] = before.get("lost") or "it was no file, link or folder"
    elif before.get("copy") and not os.path.isfile(before["copy"]):
        return dict(done, action="lost", why="its copy %s no longer exists" % before["copy"])
    if after is None or not _alike(after, now):
        done["drift"] = True
    if done["action"] == "write":
        done["diff"] = _diff(path, before, now, entry["hidden"], shown)
    if now["kind"] == before["kind"] and done["action"] != "lost":
        done.update(_owner(now, before))
    return done


def _alike(one, other):
    """Whether two results of ``keeping.look`` are equal in the keys that both have. A link's mode is not compared."""
    keys = ("kind", "uid", "gid", "to") if one["kind"] == "link" else ("kind", "uid", "gid", "mode", "sha")
    return all(one.get(key) == other.get(key) for key in keys if key in one and (key in other or key == "sha"))


def _action(before, now):
    kind = before["kind"]
    if kind == "none":
        return "remove"
    if before.get("lost") and now["kind"] != "dir":
        return "lost"
    if kind == "file" and "sha" not in before:  # only its owner and mode were changed
        return "dress" if now["kind"] == "file" else "lost"
    if kind == "file":
        return "dress" if now.get("sha") == before["sha"] else "write"
    if kind == "dir":
        return "dress" if now["kind"] == "dir" else "make"
    return "make" if kind == "link" else "lost"


def _owner(now, before):
    """``mode``, ``user`` and ``group`` as [now, before], if they differ."""
    pairs = (("mode", "mode", "%04o".__mod__), ("user", "uid", owner.uid_to_user), ("group", "gid", owner.gid_to_group))
    return {word: [show(now[key]), show(before[key])] for word, key, show in pairs if now[key] != before[key]}


def _diff(path, before, now, hidden, shown):
    if hidden:
        return "<show_changes=False>"
    text = diff.of_files(path if now["kind"] == "file" else None, before["copy"]) if shown else ""
    return text if text and len(text) <= _LONGEST else "%s is restored" % path


def run(cachedir, jid, accept_drift=False, keys=None):
    """Run the plan. Returns it with a ``result`` in each of ``files``: True, False (then with ``why``), None (nothing
    to do).

    ``keys``: the keys of plans that the user saw. If the present plan is another one, nothing is done and ``stale`` is
    True.
    """
    steps = plan(cachedir, jid)
    if steps is None or (keys is not None and steps["key"] not in keys):
        return steps and dict(steps, stale=True)
    held = keeping.notes(cachedir, jid)["paths"]
    for entry in steps["files"]:
        if entry["action"] == "none":
            entry["result"] = None
        elif entry["action"] == "lost":
            entry["result"] = False
        elif entry.get("drift") and not accept_drift:
            entry.update(result=False, why="it has been changed since the job")
        else:
            try:
                why = _done(entry, held[entry["path"]]["before"])
            except OSError as exc:
                why = str(exc)
            entry["result"] = not why
            if why:
                entry["why"] = why
    return steps


def _done(entry, before):
    """Restore one path. Returns "", or the reason why it cannot be restored. Raises OSError."""
    path, action = entry["path"], entry["action"]
    with safepath.at(path) as place:
        now = keeping.look(path)
        if action == "remove":
            return _removed(place, now)
        if now["kind"] not in ("none", before["kind"]) or (now["kind"] == "link" and action == "make"):
            why = _removed(place, now)
            if why:
                return why
        if action == "write":
            atomic.write_at(place, atomic.pieces(before["copy"]), before["uid"], before["gid"], before["mode"])
        elif action == "make" and before["kind"] == "link":
            place.symlink(before["to"])
        elif action == "make":
            place.mkdir(0o700)
        with place.pin() as pinned:
            status = pinned.stat()
            if (status.st_uid, status.st_gid) != (before["uid"], before["gid"]):
                pinned.chown(before["uid"], before["gid"])
            if before["kind"] != "link":
                pinned.chmod(before["mode"])
    return ""


def _removed(place, now):
    """Remove a file, a link or an empty folder. Returns "", or the reason why it cannot be removed."""
    import errno

    if now["kind"] != "dir":
        place.unlink()
        return ""
    try:
        place.rmdir()
    except OSError as exc:
        if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return "the folder is not empty"
    return ""
