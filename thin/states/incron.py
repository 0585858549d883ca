"""Commands that run when files change, by incrontab(1). Salt (until 3007): states/incron.py"""


def present(name, path, mask, cmd, user="root"):
    """
    A user's command runs on events of a path

    name
        Without effect
    path, mask, cmd
        The path, its events (one text with commas between them, or a list), the command
    user
        The user whose table it is

    .. code-block:: yaml

        reload on change:
          incron.present:
            - user: root
            - path: /etc/app
            - mask: [IN_MODIFY, IN_CREATE]
            - cmd: 'app reload $@/$#'
    """
    mask = _mask(mask)
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if __opts__["test"]:
        status = _status(user, path, mask, cmd)
        if status == "present":
            return dict(ret, comment="Incron %s already present" % name)
        what = "set to be added" if status == "absent" else "set to be updated"
        return dict(ret, result=None, comment="Incron %s is %s" % (name, what))
    answer = __salt__["incron.set_job"](user=user, path=path, mask=mask, cmd=cmd)
    if answer == "present":
        return dict(ret, comment="Incron %s already present" % name)
    if answer in ("new", "updated"):
        what = "added to %s's incrontab" % user if answer == "new" else "updated"
        return dict(ret, changes={user: name}, comment="Incron %s %s" % (name, what))
    words = "Incron %s for user %s failed to commit with error \n%s"
    return dict(ret, result=False, comment=words % (name, user, answer))


def absent(name, path, mask, cmd, user="root"):
    """
    No such command of a user runs; the arguments are those of ``incron.present``

    .. code-block:: yaml

        reload on change:
          incron.absent:
            - path: /etc/app
            - mask: [IN_MODIFY, IN_CREATE]
            - cmd: 'app reload $@/$#'
    """
    mask = _mask(mask)
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if __opts__["test"]:
        if _status(user, path, mask, cmd) == "absent":
            return dict(ret, comment="Incron %s is absent" % name)
        return dict(ret, result=None, comment="Incron %s is set to be removed" % name)
    answer = __salt__["incron.rm_job"](user=user, path=path, mask=mask, cmd=cmd)
    if answer == "absent":
        return dict(ret, comment="Incron %s already absent" % name)
    if answer == "removed":
        comment = "Incron %s removed from %s's crontab" % (name, user)
        return dict(ret, changes={user: name}, comment=comment)
    words = "Incron %s for user %s failed to commit with error %s"
    return dict(ret, result=False, comment=words % (name, user, answer))


def _mask(mask):
    return ",".join(mask) if isinstance(mask, list) else mask


def _status(user, path, mask, cmd):
    wanted = sorted(str(mask).upper().split(","))
    for job in __salt__["incron.list_tab"](user)["crons"]:
        if (job["path"], job["cmd"]) == (path, cmd):
            return "present" if sorted(job["mask"].split(",")) == wanted else "update"
    return "absent"
