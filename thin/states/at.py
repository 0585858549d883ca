"""Jobs that run once at a later time, by at(1). Salt: ``salt/states/at.py``."""

from thin import detail

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt


def __virtual__():
    return True if "at.at" in __salt__ else (False, "at module could not be loaded")


def present(name, timespec, tag=None, user=None, job=None, unique_tag=False):
    """
    A job is added, each time; once, if it has a ``tag`` and ``unique_tag``

    name, job
        The command
    timespec
        When, in at's format
    tag
        A word to find it by
    user
        The user that runs it

    changes: the job, as ``at.atq`` shows it.

    .. code-block:: yaml

        /usr/local/bin/backup:
          at.present:
            - timespec: teatime
            - tag: backup
            - unique_tag: True
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    job = job or name
    if __opts__["test"]:
        if detail.on() and unique_tag and tag and __salt__["at.jobcheck"](tag=tag)["jobs"]:
            detail.same()
        return dict(ret, result=None, comment="job %s added and will run on %s" % (job, timespec))
    if unique_tag:
        if not tag:
            return dict(ret, result=False, comment="no tag provided and unique_tag is set to True")
        if __salt__["at.jobcheck"](tag=tag)["jobs"]:
            return dict(ret, comment="atleast one job with tag %s exists." % tag)
    more = {"tag": tag} if tag else {}
    if user:
        if not __salt__["user.info"](user):
            return dict(ret, result=False, comment="user %s does not exists" % user)
        more["runas"] = user
        ret["comment"] = "job %s added and will run as %s on %s" % (job, user, timespec)
    else:
        ret["comment"] = "job %s added and will run on %s" % (job, timespec)
    done = __salt__["at.at"](timespec, job, **more)
    if done.get("jobs"):
        ret["changes"] = done["jobs"][0]
    if "error" in done:
        ret["result"], ret["comment"] = False, done["error"]
    return ret


def absent(name, jobid=None, **kwargs):
    """
    Jobs are removed: one, those that the function ``at.jobcheck`` finds, or all

    jobid
        Its number
    kwargs
        ``tag``, ``runas``, ``hour``, ``minute``, ``day``, ``month``, ``year``

    .. code-block:: yaml

        no_backup:
          at.absent:
            - tag: backup
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if "limit" in kwargs:
        return dict(ret, result=False, comment="limit parameter not supported %s" % name)
    if __opts__["test"]:
        if detail.on() and not _wanted(jobid, kwargs):
            detail.same()
        return dict(ret, result=None, comment="removed ? job(s)")
    if jobid:
        if not __salt__["at.atq"](jobid)["jobs"]:
            return dict(ret, comment="job with id %s not present" % jobid)
        removed = __salt__["at.atrm"](jobid)["jobs"]["removed"]
        ret["changes"]["removed"] = removed
        ret["result"] = str(jobid) in removed
        words = "job with id %s was removed" if ret["result"] else "failed to remove job with id %s"
        ret["comment"] = words % jobid
        return ret
    removed = __salt__["at.atrm"](*(_wanted(None, kwargs) if kwargs else ["all"]))["jobs"]["removed"]
    if removed:
        ret["changes"]["removed"] = removed
    ret["comment"] = "removed %d job(s)" % len(removed)
    return ret


def _wanted(jobid, kwargs):
    """The numbers of the jobs to remove."""
    jobs = __salt__["at.jobcheck"](**kwargs) if kwargs and not jobid else __salt__["at.atq"](jobid)
    return [str(job["job"]) for job in jobs["jobs"]]


def watch(name, timespec, tag=None, user=None, job=None, unique_tag=False):
    """
    A job is added if a watched state changed; the arguments are those of ``at.present``

    .. code-block:: yaml

        /usr/local/bin/report:
          at.watch:
            - timespec: now + 5 minutes
            - watch: [file: /etc/report.conf]
    """
    return {"name": name, "changes": {}, "result": True, "comment": ""}


def mod_watch(name, **kwargs):
    """A watched state changed: ``watch`` adds its job."""
    if kwargs.pop("sfun", None) != "watch":
        return {"name": name, "changes": {}, "result": False, "comment": ""}
    return present(name, **{key: value for key, value in kwargs.items() if not key.startswith("__")})
