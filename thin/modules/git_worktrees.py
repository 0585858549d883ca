"""git: work trees, and the result of a merge. Salt: modules/git.py"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.programs import gitrun

__virtualname__ = "git"
__reads__ = ("list_worktrees", "merge_tree", "config_get_regex")
__changes__ = ("worktree_add", "worktree_prune", "worktree_rm")

log = getLogger(__name__)


def __virtual__():
    if process.which("git"):
        return __virtualname__
    return False, "The git execution module cannot be loaded: git is not installed"


def list_worktrees(cwd, stale=False, user=None, password=None, output_encoding=None, **kwargs):
    """
    Return the work trees of a repository: ``{path: {stale, HEAD, detached, branch, tags}}``

    cwd
        The repository
    stale
        Only those whose folder no longer exists
    all
        Both kinds
    user
        The user that git runs as
    password
        For Windows
    output_encoding
        The type that the value is converted to

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' git.list_worktrees /srv/app/checkout all=True
    """
    everything = kwargs.pop("all", False)
    _refuse_unknown(kwargs)
    if everything and stale:
        raise CommandExecutionError("'all' and 'stale' cannot both be set to True")
    worktrees = {}
    out = _git(["worktree", "list", "--porcelain"], cwd, user, output_encoding=output_encoding)["stdout"]
    for block in out.strip().split("\n\n"):
        properties = {line.partition(" ")[0]: line.partition(" ")[2] for line in block.splitlines()}
        path, head = properties.get("worktree"), properties.get("HEAD")
        if not path or not head:  # a bare repository has no commit checked out
            continue
        gone = not os.path.isdir(path)
        if gone != bool(stale) and not everything:
            continue
        branch = properties.get("branch", "").replace("refs/heads/", "", 1)
        entry = worktrees[path] = {
            "stale": gone,
            "HEAD": head,
            "detached": "detached" in properties,
            "branch": branch or None,
        }
        if entry["detached"]:
            words = ["tag", "--points-at", head]
            tags = _git(words, cwd, user, output_encoding=output_encoding)["stdout"].splitlines()
            entry.update({"tags": tags} if tags else {})
    return worktrees


def worktree_add(
    cwd,
    worktree_path,
    ref=None,
    reset_branch=None,
    force=None,
    detach=False,
    opts="",
    git_opts="",
    user=None,
    password=None,
    ignore_retcode=False,
    output_encoding=None,
    **kwargs,
):
    """
    Create a work tree; returns git's output

    cwd
        The repository
    worktree_path
        The path of the new work tree
    ref
        What is checked out; the current commit if not given
    branch
        The name of the new branch; that of the work tree if not given
    reset_branch
        Reset the branch if it exists
    force
        Even if the branch is checked out elsewhere
    detach
        Without a branch
    opts, git_opts
        Further options of ``git worktree add``, and of git
    user
        The user that git runs as
    password
        For Windows
    ignore_retcode
        Do not log a failure
    output_encoding
        The encoding of git's output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' git.worktree_add /srv/app/checkout /srv/app/review ref=v2.1 branch=review
    """
    branch = kwargs.pop("branch", None)
    _refuse_unknown(kwargs)
    if branch and detach:
        raise SaltInvocationError("Only one of 'branch' and 'detach' is allowed")
    words = ["worktree", "add"]
    if detach:
        if force:
            log.warning("git.worktree_add: force has no effect with detach")
        words.append("--detach")
    else:
        words += ["-B" if reset_branch else "-b", str(branch or os.path.basename(worktree_path))]
        words += ["--force"] if force else []
    words += gitrun.options(opts) + [worktree_path] + ([str(ref)] if ref else [])
    done = _git(gitrun.options(git_opts) + words, cwd, user, ignore_retcode, output_encoding, redirect_stderr=True)
    return done["stdout"]


def worktree_prune(
    cwd,
    dry_run=False,
    verbose=True,
    expire=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    ignore_retcode=False,
    output_encoding=None,
):
    """
    Remove the data of work trees whose folders no longer exist; returns git's output

    cwd
        The repository
    dry_run
        Only return the result; change nothing
    verbose
        Report which
    expire
        Only those that are older
    opts, git_opts
        Further options of ``git worktree prune``, and of git
    user
        The user that git runs as
    password
        For Windows
    ignore_retcode
        Do not log a failure
    output_encoding
        The encoding of git's output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' git.worktree_prune /srv/app/checkout expire=3.weeks.ago
    """
    words = ["worktree", "prune"] + (["--dry-run"] if dry_run else []) + (["--verbose"] if verbose else [])
    words += (["--expire", str(expire)] if expire else []) + gitrun.options(opts)
    done = _git(gitrun.options(git_opts) + words, cwd, user, ignore_retcode, output_encoding, redirect_stderr=True)
    return done["stdout"]


def worktree_rm(cwd, user=None, output_encoding=None):
    """
    Remove the files of a work tree; True. git forgets it with ``git.worktree_prune``

    cwd
        The work tree
    user
        The user whose home directory ``~`` is
    output_encoding
        The encoding of git's output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' git.worktree_rm /srv/app/review
    """
    if not os.path.exists(cwd):
        raise CommandExecutionError("%s does not exist" % cwd)
    if not __salt__["git.is_worktree"](cwd, user=user, output_encoding=output_encoding):
        raise CommandExecutionError("%s is not a git worktree" % cwd)
    return __salt__["file.remove"](cwd)


def merge_tree(cwd, ref1, ref2, base=None, user=None, password=None, ignore_retcode=False, output_encoding=None):
    """
    Return the differences that a merge would make, as git shows them

    cwd
        The repository
    ref1, ref2
        What would be merged
    base
        Their common ancestor; by default git determines it
    user
        The user that git runs as
    password
        For Windows
    ignore_retcode
        Do not log a failure
    output_encoding
        The encoding of git's output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' git.merge_tree /srv/app/checkout main origin/release
    """
    if base is None:
        try:
            base = __salt__["git.merge_base"](cwd, refs=[ref1, ref2], user=user, output_encoding=output_encoding)
        except (SaltInvocationError, CommandExecutionError):
            raise CommandExecutionError("Unable to determine merge base for %s and %s" % (ref1, ref2))
    return _git(["merge-tree", base, ref1, ref2], cwd, user, ignore_retcode, output_encoding)["stdout"]


def config_get_regex(
    key, value_regex=None, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs
):
    """
    An alias of git.config_get_regexp

    key, value_regex, cwd, user, password, ignore_retcode, output_encoding, kwargs
        As there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' git.config_get_regex user.name /srv/app/checkout
    """
    return __salt__["git.config_get_regexp"](
        key, value_regex, cwd, user, password, ignore_retcode, output_encoding, **kwargs
    )


def _refuse_unknown(kwargs):
    unknown = sorted(key for key in kwargs if not key.startswith("__"))
    if unknown:
        raise SaltInvocationError("The following keyword arguments are not valid: %s" % ", ".join(unknown))


def _git(words, cwd, user, ignore_retcode=False, output_encoding=None, redirect_stderr=False):
    path = os.path.expanduser("~" + user + cwd[1:] if user and cwd.startswith("~") else str(cwd))
    if not os.path.isabs(path):
        raise SaltInvocationError("'%s' is not an absolute path" % cwd)
    done = __salt__["cmd.run_all"](
        ["git"] + words,
        cwd=path,
        runas=user,
        env=gitrun.ENVIRONMENT,
        python_shell=False,
        ignore_retcode=ignore_retcode,
        redirect_stderr=redirect_stderr,
        output_encoding=output_encoding,
    )
    if done["retcode"] != 0:
        output = gitrun.redact(done["stdout" if redirect_stderr else "stderr"])
        raise CommandExecutionError("Command 'git %s' failed: %s" % (gitrun.redact(" ".join(words)), output))
    return done
