"""git's settings, and the creation of repositories: a part of ``git``. Salt: states/git.py"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.formats.gitwords import joined, reason

__virtualname__ = "git"


def __virtual__():
    return "git" if "git.version" in __salt__ else (False, "git module could not be loaded")


def present(
    name,
    force=False,
    bare=True,
    template=None,
    separate_git_dir=None,
    shared=None,
    user=None,
    password=None,
    output_encoding=None,
):
    """There is a repository in the directory; ``force`` removes other content."""
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    kind = "bare " if bare else ""
    if os.path.isdir(name):
        inside = os.path.isfile(os.path.join(name, "HEAD")) if bare else os.path.isdir(os.path.join(name, ".git"))
        if inside or (not bare and __salt__["git.is_worktree"](name, user=user)):
            return ret
        if force and __opts__["test"]:
            words = (
                "Target directory %s exists. Since force=True, the contents of %s would be deleted, and a %srepository "
                "would be initialized in its place."
            )
            changes = {"new": name, "forced init": True}
            return dict(ret, result=None, comment=words % (name, name, kind), changes=changes)
        if force:
            from thin.utils.files import walk

            walk.remove(name)
            ret["changes"]["forced init"] = True
        elif os.listdir(name):
            words = (
                "Target '%s' exists, is non-empty, and is not a git repository. Set the 'force' option to True to "
                "remove this directory's contents and proceed with initializing a repository"
            )
            return dict(ret, result=False, comment=words % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="New %srepository would be created" % kind, changes={"new": name})
    try:
        __salt__["git.init"](
            cwd=name,
            bare=bare,
            template=template,
            separate_git_dir=separate_git_dir,
            shared=shared,
            user=user,
            output_encoding=output_encoding,
        )
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment=reason(exc))
    actions = ["Initialized %srepository in %s" % (kind, name)]
    actions += ["Template directory set to %s" % template] if template else []
    actions += ["Gitdir set to %s" % separate_git_dir] if separate_git_dir else []
    ret["changes"]["new"] = name
    return dict(ret, comment=joined(actions))


def config_set(name, value=None, multivar=None, repo=None, user=None, password=None, output_encoding=None, **kwargs):
    """A setting has this value, or these (``multivar``), in the repository or for the user (``global``)."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if value is not None and multivar is not None:
        return dict(ret, result=False, comment="Only one of 'value' and 'multivar' is permitted")
    how, problem = _place(repo, user, output_encoding, kwargs)
    if problem:
        return dict(ret, result=False, comment=problem)
    key = str(name)
    if multivar is not None:
        wanted = [str(one) for one in (multivar if isinstance(multivar, list) else str(multivar).split(","))]
    else:
        wanted = [str(value)]
    shown = "'%s'" % wanted[0] if multivar is None else wanted
    where = "Global key " if how["global"] else ""
    before = __salt__["git.config_get"](key=key, ignore_retcode=True, all=True, **how)
    if before == wanted:
        return dict(ret, comment="%s'%s' is already set to %s" % (where, key, shown))
    verb = "added as" if before is None else "set to"
    if __opts__["test"]:
        words = "%s'%s' would be %s %s" % (where, key, verb, shown)
        return dict(ret, result=None, comment=words, changes={"old": before, "new": wanted})
    values = {"multivar": wanted} if multivar is not None else {"value": wanted[0]}
    words = "Failed to set %s'%s' to %s" % (where[:1].lower() + where[1:], key, shown)
    try:
        after = __salt__["git.config_set"](key=key, **dict(how, **values))
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="%s: %s" % (words, reason(exc)))
    if before != after:
        ret["changes"][key] = {"old": before, "new": after}
    if after != wanted:
        return dict(ret, result=False, comment=words)
    return dict(ret, comment="%s'%s' was %s %s" % (where, key, verb, shown))


def config_unset(name, value_regex=None, repo=None, user=None, password=None, output_encoding=None, **kwargs):
    """No key that matches ``name`` is set, or none of its values that match; ``all``: also if there are several."""
    ret = {"name": name, "changes": {}, "result": True, "comment": "No matching keys are set"}
    every = kwargs.pop("all", False)
    how, problem = _place(repo, user, output_encoding, kwargs)
    if problem:
        return dict(ret, result=False, comment=problem)
    regex = None if value_regex is None else str(value_regex)
    key = "^" + str(name).lstrip("^").rstrip("$") + "$"

    def matches(values):
        return __salt__["git.config_get_regexp"](key=key, value_regex=values, ignore_retcode=True, **how)

    matching = matches(regex)
    if not matching:
        return ret
    several = ["%s (%s)" % (one, ", ".join(values)) for one, values in matching.items() if len(values) > 1]
    if several and not every:
        if regex is not None:
            words = (
                "Multiple values are matched by value_regex for the following keys (set 'all' to True to force "
                "removal): "
            )
        else:
            words = "Multivar(s) matched by the key expression (set 'all' to True to force removal): "
        return dict(ret, result=False, comment=words + "; ".join(several))
    if __opts__["test"]:
        return dict(ret, result=None, changes=matching, comment="%d key(s) would have value(s) unset" % len(matching))
    before, wrong = matches(None), []
    for one in matching:
        try:
            __salt__["git.config_unset"](key=one, value_regex=regex, all=every, **how)
        except CommandExecutionError as exc:
            wrong.append("%s (%s)" % (one, reason(exc)))
    if wrong:
        words = "Error(s) occurred unsetting values for the following keys: %s"
        return dict(ret, result=False, comment=words % ", ".join(wrong))
    after = matches(None)
    for one, values in before.items():
        gone = [value for value in values if value not in after.get(one, ())]
        if gone:
            ret["changes"][one] = gone
    return dict(ret, comment="Value(s) successfully unset")


def _place(repo, user, output_encoding, kwargs):
    """(arguments that select the configuration file, error)."""
    everywhere = kwargs.pop("global", False)
    unknown = sorted(key for key in kwargs if not key.startswith("__"))
    problem = None
    if unknown:
        problem = "The following keyword arguments are not valid: %s" % ", ".join(unknown)
    elif not everywhere and not repo:
        problem = "Non-global config options require the 'repo' argument to be set"
    return {"cwd": repo, "user": user, "output_encoding": output_encoding, "global": everywhere}, problem
