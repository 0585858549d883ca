"""Commands that run when files change, by incrontab(1). Salt: ``salt/modules/incron.py``."""

import os

from thin import process
from thin.exceptions import CommandNotFoundError
from thin.utils.files import osutil, safepath, textfile

__reads__ = ("raw_system_incron", "raw_incron", "list_tab", "ls")
__changes__ = ("write_incron_file", "write_incron_file_verbose", "set_job", "rm_job", "rm")

_SYSTEM = "/etc/incron.d/salt"
_MASKS = (
    "IN_ACCESS",
    "IN_ATTRIB",
    "IN_CLOSE_WRITE",
    "IN_CLOSE_NOWRITE",
    "IN_CREATE",
    "IN_DELETE",
    "IN_DELETE_SELF",
    "IN_MODIFY",
    "IN_MOVE_SELF",
    "IN_MOVED_FROM",
    "IN_MOVED_TO",
    "IN_OPEN",
    "IN_ALL_EVENTS",
    "IN_MOVE",
    "IN_CLOSE",
    "IN_DONT_FOLLOW",
    "IN_ONESHOT",
    "IN_ONLYDIR",
    "IN_NO_LOOP",
)


def write_incron_file(user, path):
    """
    Install a file as the table of a user; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' incron.write_incron_file app /srv/app/incrontab
    """
    return write_incron_file_verbose(user, path)["retcode"] == 0


def write_incron_file_verbose(user, path):
    """
    Install a file as the table of a user; returns what ``cmd.run_all`` returns

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' incron.write_incron_file_verbose app /srv/app/incrontab
    """
    return __salt__["cmd.run_all"]([_program(), path], runas=user, python_shell=False)


def raw_system_incron():
    """
    Return the text of the managed system table

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' incron.raw_system_incron
    """
    return "".join(textfile.lines(_SYSTEM))


def raw_incron(user):
    """
    Return the text of a user's table

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' incron.raw_incron app
    """
    return __salt__["cmd.run_stdout"](
        [_program(), "-l", user], rstrip=False, runas=user, python_shell=False, ignore_retcode=True
    )


def list_tab(user):
    """
    Return ``{crons: [{path, mask, cmd}], pre: [other lines]}`` of a user, or of ``system``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' incron.list_tab app
    """
    result = {"crons": [], "pre": []}
    for line in (raw_system_incron() if user == "system" else raw_incron(user)).splitlines():
        words = line.split()
        if len(words) > 3:
            result["crons"].append({"path": words[0], "mask": words[1], "cmd": " ".join(words[2:])})
        else:
            result["pre"].append(line)
    return result


def ls(user):
    """
    The same as ``incron.list_tab``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' incron.ls root
    """
    return list_tab(user)


def set_job(user, path, mask, cmd):
    """
    Run a command of a user on events of a path: ``new``, ``updated``, ``present``, or the text of an error

    mask
        Events with commas between them, like ``IN_MODIFY,IN_CREATE``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' incron.set_job app /srv/app/inbox IN_CLOSE_WRITE '/srv/app/bin/import $@/$#'
    """
    mask = str(mask).upper()
    bad = _bad(mask)
    if bad:
        return bad
    table, wanted = list_tab(user), sorted(mask.split(","))
    kept, comments = [], "new"
    for job in table["crons"]:
        if (job["path"], job["cmd"]) == (path, cmd):
            present = job["mask"].split(",")
            if sorted(present) == wanted:
                return "present"
            if set(present) & set(wanted):
                comments = "updated"
                continue
        kept.append(job)
    table["crons"] = kept + [{"cmd": cmd, "path": path, "mask": mask}]
    return _written(user, table) or comments


def rm_job(user, path, mask, cmd):
    """
    Remove a job: ``removed``, ``absent``, or the text of an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' incron.rm_job app /srv/app/inbox IN_CLOSE_WRITE '/srv/app/bin/import $@/$#'
    """
    mask = str(mask).upper()
    bad = _bad(mask)
    if bad:
        return bad
    table, job = list_tab(user), {"path": path, "mask": mask, "cmd": cmd}
    if job not in table["crons"]:
        return "absent"
    table["crons"].remove(job)
    return _written(user, table) or "removed"


def rm(user, path, mask, cmd):
    """
    The same as ``incron.rm_job``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' incron.rm app /srv/app/inbox IN_CLOSE_WRITE '/srv/app/bin/import $@/$#'
    """
    return rm_job(user, path, mask, cmd)


def _program():
    path = process.which("incrontab")
    if not path:
        raise CommandNotFoundError("incrontab: command not found; install the package incron")
    return path


def _bad(mask):
    bad = [word for word in mask.split(",") if word not in _MASKS]
    return "Invalid mask type: %s" % bad[0] if bad else ""


def _written(user, table):
    """Install the table. Returns the error, or ""."""
    text = "".join("%s\n" % line for line in table["pre"])
    text += "".join("%(path)s %(mask)s %(cmd)s\n" % job for job in table["crons"])
    if user == "system":
        textfile.write(_SYSTEM, text)
        return ""
    import pwd

    folder = osutil.mkdtemp(mode=0o711)  # in the user's home, where nobody else can replace it
    path = os.path.join(folder, "table")
    try:
        textfile.write(path, text, mode=0o600)
        if user != "root":
            safepath.chown(path, pwd.getpwnam(user).pw_uid, -1)
        done = write_incron_file_verbose(user, path)
    except KeyError:
        return "user %s does not exist" % user
    finally:
        osutil.rmtree(folder, ignore_errors=True)
    return (done["stderr"] or done["stdout"] or "incrontab failed") if done["retcode"] else ""
