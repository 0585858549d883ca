"""Jobs and variables of crontabs. Salt: states/cron.py

A job is found by its ``identifier``, by default its command. A job of the crontab without an identifier is taken over
if its command is the same. With ``identifier: null`` only the command is compared.
"""

import os

from thin import detail
from thin.utils.formats import crontab


def __virtual__():
    return True if "cron.list_tab" in __salt__ else (False, "cron module could not be loaded")


def present(
    name,
    user="root",
    minute="*",
    hour="*",
    daymonth="*",
    month="*",
    dayweek="*",
    comment=None,
    commented=False,
    identifier=False,
    special=None,
):
    """The user's crontab has the command ``name`` at these times, or at ``special`` (@daily).

    Times may be ``random``: chosen once, and kept. ``commented`` disables the job.
    """
    name = name.strip()
    identifier = name if identifier is False else identifier
    times = (minute, hour, daymonth, month, dayweek)
    if __opts__["test"]:
        desired = crontab.wanted(times, special, name, comment, commented is True, identifier)
        return _foreseen(name, _status(user, desired, "crons" if special is None else "special"), "Cron")
    about = {"commented": commented, "comment": comment, "identifier": identifier}
    if special is None:
        done = __salt__["cron.set_job"](user, *times, cmd=name, **about)
    else:
        done = __salt__["cron.set_special"](user=user, special=special, cmd=name, **about)
    return _done(name, user, done, "Cron", "failed to commit with error \n%s")


def absent(name, user="root", identifier=False, special=None, **kwargs):
    """The user's crontab does not have this job; with ``special``, not the one at that time."""
    name = name.strip()
    identifier = name if identifier is False else identifier
    if __opts__["test"]:
        kind = "crons" if special is None else "special"
        present = any(
            crontab.matched(job, name, identifier) and special in (None, job.get("spec"))
            for job in __salt__["cron.list_tab"](user)[kind]
        )
        return _gone(name, present, "Cron")
    if special is None:
        done = __salt__["cron.rm_job"](user, name, identifier=identifier)
    else:
        done = __salt__["cron.rm_special"](user, name, special=special, identifier=identifier)
    return _done(name, user, done, "Cron", "failed to commit with error %s")


def env_present(name, value=None, user="root"):
    """The user's crontab has this variable."""
    if __opts__["test"]:
        values = [env["value"] for env in __salt__["cron.list_tab"](user)["env"] if env["name"] == name]
        desired = '""' if value in (None, "") else str(value)
        return _foreseen(name, "absent" if not values else "present" if values[0] == desired else "update", "Cron env")
    done = __salt__["cron.set_env"](user, name, value=value)
    return _done(name, user, done, "Cron env", "failed to commit with error \n%s")


def env_absent(name, user="root"):
    """The user's crontab does not have this variable."""
    name = name.strip()
    if __opts__["test"]:
        return _gone(name, any(env["name"] == name for env in __salt__["cron.list_tab"](user)["env"]), "Cron env")
    return _done(name, user, __salt__["cron.rm_env"](user, name), "Cron env", "failed to commit with error %s")


def file(
    name,
    source_hash="",
    source_hash_name=None,
    user="root",
    template=None,
    context=None,
    replace=True,
    defaults=None,
    backup="",
    **kwargs,
):
    """The user's crontab equals the file ``name`` (salt://); without ``replace`` only if the user has none."""
    from thin.utils.files import osutil, textfile

    ret = {"changes": {}, "comment": "", "name": name, "result": True}
    try:
        group = __salt__["user.info"](user)["groups"][0]
    except (KeyError, IndexError):
        return dict(ret, comment="Could not identify group for user %s" % user, result=False)
    now = __salt__["cron.raw_cron"](user)
    now = now if now.endswith("\n") else now + "\n"
    if not replace and now.strip():
        return dict(ret, comment="User %s already has a crontab. No changes made" % user)
    folder = osutil.mkdtemp(mode=0o711)  # in the user's home, where nobody else can replace it
    path = os.path.join(folder, "crontab")
    same = {
        "name": path,
        "user": user,
        "group": group,
        "mode": "0600",
        "attrs": [],
        "saltenv": __env__,
        "source_hash_name": source_hash_name,
        "template": template,
        "context": context,
        "defaults": defaults,
    }
    try:
        textfile.write(path, now, mode=0o600)
        if __opts__["test"]:
            same.update(kwargs, source=name, source_hash=source_hash)
            ret = dict(ret, **dict(zip(("result", "comment"), __salt__["file.check_managed"](**same))))
            if ret["result"] is None and not detail.differs():
                detail.same()  # it speaks of owner and mode of our copy, as Salt's does
            return ret
        source, source_hash = __salt__["file.source_list"](name, source_hash, __env__)
        return _manage(ret, path, source, source_hash, user, same, backup, kwargs)
    finally:
        osutil.rmtree(folder, ignore_errors=True)


def _manage(ret, path, source, source_hash, user, same, backup, more):
    try:
        managed, digest, comment = __salt__["file.get_managed"](
            source=source, source_hash=source_hash, skip_verify=False, **dict(same, **more)
        )
        if comment:
            return dict(ret, comment=comment, result=False)
        ret = __salt__["file.manage_file"](
            sfn=managed,
            ret=ret,
            source=source,
            source_sum=digest,
            backup=backup,
            **{key: same[key] for key in ("name", "user", "group", "mode", "attrs", "saltenv")},
        )
    except Exception as exc:  # any error of sources and templates
        return dict(ret, result=False, changes={}, comment="Unable to manage file: %s" % exc)
    if "diff" in ret["changes"]:
        done = __salt__["cron.write_cron_file_verbose"](user, path)
        if done["retcode"] == 0:
            return dict(ret, comment="Crontab for user %s was updated" % user, result=True)
        words = "Unable to update user %s crontab %s. Error: %s" % (user, path, done["stderr"])
        return dict(ret, comment=words, result=False, changes={})
    if ret["result"]:
        ret = dict(ret, comment="Crontab for user %s is in the correct state" % user, changes={})
    return ret


def _status(user, desired, kind):
    for job in __salt__["cron.list_tab"](user)[kind]:
        if crontab.matched(job, desired["cmd"], desired["identifier"]):
            return "update" if crontab.drift(job, desired) else "present"
    return "absent"


def _foreseen(name, status, what):
    words = {"absent": "is set to be added", "present": "already present", "update": "is set to be updated"}
    comment = "%s %s %s" % (what, name, words[status])
    return {"name": name, "changes": {}, "comment": comment, "result": True if status == "present" else None}


def _gone(name, present, what):
    comment = "%s %s is %s" % (what, name, "set to be removed" if present else "absent")
    return {"name": name, "changes": {}, "comment": comment, "result": None if present else True}


def _done(name, user, done, what, failed):
    words = {
        "present": "already present",
        "absent": "already absent",
        "new": "added to %s's crontab" % user,
        "updated": "updated",
        "removed": "removed from %s's crontab" % user,
    }
    ret = {"name": name, "changes": {}, "comment": "", "result": done in words}
    if done in words:
        ret["comment"] = "%s %s %s" % (what, name, words[done])
        ret["changes"] = {user: name} if done in ("new", "updated", "removed") else {}
    else:
        ret["comment"] = "%s %s for user %s %s" % (what, name, user, failed % done)
    return ret
