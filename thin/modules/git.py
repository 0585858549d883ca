"""git: repositories, their work trees and settings. Salt: modules/git.py

Functions take Salt's arguments: ``cwd`` (the repository), ``opts`` and ``git_opts`` (words, or a list of them),
``user`` (who git runs as), ``identity`` (private key or list of them, also salt://), ``https_user`` and ``https_pass``.
``password`` is for Windows. They return git's output unless documented otherwise, and raise CommandExecutionError with
git's message. Passwords are never part of a URL (thin/utils/programs/gitrun.py). References and remotes are in
git_remotes.py.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath
from thin.utils.programs import gitrun

__func_alias__ = {"rm_": "rm"}
__reads__ = ("is_worktree", "status", "version", "config_get", "config_get_regexp")
__reads_unless__ = {"diff": {"opts": (), "git_opts": ()}}  # --output, -c core.fsmonitor
__changes__ = (
    "init",
    "clone",
    "submodule",
    "archive",
    "add",
    "rm",
    "commit",
    "checkout",
    "discard_local_changes",
    "reset",
    "stash",
    "merge",
    "rebase",
    "config_set",
    "config_unset",
)

#: Otherwise ``git diff`` refreshes the index, a file of the repository; a function that only reads must not change any.
_INDEX_AS_IT_IS = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "diff.autoRefreshIndex",
    "GIT_CONFIG_VALUE_0": "false",
}


def __virtual__():
    return True if process.which("git") else (False, "The git execution module cannot be loaded: git is not installed")


def _unsafe(path, user):
    """Whether another user could redirect git, running as root, while it creates something at this path."""
    if user or os.geteuid() != 0:
        return False
    from thin.utils.files import ownfolders

    safepath.check(path)
    above = os.path.realpath(os.path.dirname(path))
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    return bool(os.stat(above).st_mode & 0o022) or ownfolders.others_may_change(above) is not None


def _git(words, *args, **options):
    return gitrun.run(__salt__, words, *args, **options)


# Repositories


def init(
    cwd,
    bare=False,
    template=None,
    separate_git_dir=None,
    shared=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    ignore_retcode=False,
    output_encoding=None,
):
    """Create a repository."""
    words = gitrun.command_words(git_opts, "init") + (["--bare"] if bare else [])
    words += ["--template=%s" % template] if template is not None else []
    words += ["--separate-git-dir=%s" % separate_git_dir] if separate_git_dir is not None else []
    if shared is not None:
        number = isinstance(shared, int) and not isinstance(shared, bool)
        words.append("--shared=%s" % ("0%s" % shared if number else str(shared).lower()))
    words += gitrun.options(opts)
    path = gitrun.repository_path(cwd, user)
    if not _unsafe(path, user):
        return _git(words + [path], None, user, ignore_retcode, output_encoding)["stdout"]
    safepath.makedirs(path)
    return _git(words, path, user, ignore_retcode, output_encoding)["stdout"]


def clone(
    cwd,
    url=None,
    name=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    identity=None,
    https_user=None,
    https_pass=None,
    ignore_retcode=False,
    saltenv="base",
    output_encoding=None,
):
    """Clone into ``cwd``, or into ``name`` within it; returns True."""
    if not url:
        raise SaltInvocationError("Missing 'url' argument")
    cwd = gitrun.repository_path(cwd, user)
    words = gitrun.command_words(git_opts, "clone", opts) + ["--", gitrun.checked_url(url, https_user, https_pass)]
    login = {"identity": identity, "saltenv": saltenv, "https_user": https_user, "https_pass": https_pass}
    target = cwd if name is None else os.path.join(cwd, name)
    if _unsafe(target, user) and not any(word.startswith("--separate-git-dir") for word in words):
        _clone_aside(words, target, ignore_retcode, output_encoding, login)
        return True
    words.append(cwd if name is None else name)
    if name is not None:
        safepath.makedirs(cwd)
    _git(words, "/" if name is None else cwd, user, ignore_retcode, output_encoding, **login)
    return True


def _clone_aside(words, target, ignore_retcode, output_encoding, login):
    """Clone into a private folder, and move the result into a folder of another user through open directories."""
    from thin.utils.archives import unpacking
    from thin.utils.files import osutil

    folder = osutil.mkdtemp("/var/tmp" if os.access("/var/tmp", os.W_OK) else None)
    try:
        safepath.makedirs(os.path.dirname(target))
        if os.path.isdir(target) and os.listdir(target):
            raise CommandExecutionError("destination path '%s' already exists and is not an empty directory." % target)
        made = os.path.join(folder, "clone")
        _git(words + [made], "/", None, ignore_retcode, output_encoding, **login)
        unpacking.move(made, target)
    except safepath.Refused:
        raise
    except OSError as exc:
        raise CommandExecutionError("Cannot clone into '%s': %s" % (target, exc))
    finally:
        osutil.rmtree(folder, ignore_errors=True)


def is_worktree(cwd, user=None, password=None, output_encoding=None):
    """Whether a directory belongs to a linked work tree."""
    try:
        top = __salt__["git.rev_parse"](
            cwd, opts=["--show-toplevel"], user=user, ignore_retcode=True, output_encoding=output_encoding
        )
        with open(os.path.join(top, ".git"), encoding="utf-8", errors="surrogateescape") as stream:
            label, _, path = stream.readline(4096).partition(" ")
    except (CommandExecutionError, OSError, UnicodeError):
        return False
    return label == "gitdir:" and os.path.isabs(path.strip())


def status(cwd, user=None, password=None, ignore_retcode=False, output_encoding=None):
    """``{"modified", "new", "deleted", "untracked" or git's letters: [paths]}``."""
    kinds = {"M": "modified", "A": "new", "D": "deleted", "??": "untracked"}
    states = {}
    done = _git(["status", "-z", "--porcelain"], cwd, user, ignore_retcode, output_encoding)
    for line in done["stdout"].split("\0"):
        kind, _, path = line.strip().partition(" ")
        if path:
            states.setdefault(kinds.get(kind, kind), []).append(path.strip())
    return states


def version(versioninfo=False):
    """git's version, as text or as a list of numbers."""
    number = _git(["--version"])["stdout"].split("(")[0].split()[-1]
    return [int(part) if part.isdigit() else part for part in number.split(".")] if versioninfo else number


def submodule(
    cwd,
    command,
    opts="",
    git_opts="",
    user=None,
    password=None,
    identity=None,
    ignore_retcode=False,
    saltenv="base",
    output_encoding=None,
    **kwargs,
):
    """The output of this command of git submodule."""
    if gitrun.taken(kwargs, "init")[0]:
        raise SaltInvocationError(
            "The 'init' argument is no longer supported. Either set 'command' to 'init', or include '--init' in the "
            "'opts' argument and set 'command' to 'update'."
        )
    words = gitrun.command_words(git_opts, "submodule", [command] + gitrun.options(opts))
    return _git(words, cwd, user, ignore_retcode, output_encoding, identity, saltenv=saltenv)["stdout"]


def archive(
    cwd,
    output,
    rev="HEAD",
    prefix=None,
    git_opts="",
    user=None,
    password=None,
    ignore_retcode=False,
    output_encoding=None,
    **kwargs,
):
    """Write an archive of a revision to a file; returns True. ``format`` and ``prefix`` are git's."""
    (form,) = gitrun.taken(kwargs, "format")
    words = gitrun.command_words(git_opts, "archive") + (["--prefix", prefix.rstrip("/") + "/"] if prefix else [])
    words += (["--format", form] if form else []) + ["--output", str(output), rev]
    _git(words, cwd, user, ignore_retcode, output_encoding)
    return True


# Work trees


def add(cwd, filename, opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None):
    """Add files to the index."""
    words = gitrun.command_words(git_opts, "add", ["--verbose"] + gitrun.options(opts)) + ["--", filename]
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


def rm_(cwd, filename, opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None):
    """Remove files from the index and the work tree."""
    words = gitrun.command_words(git_opts, "rm", opts) + ["--", filename]
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


def commit(
    cwd,
    message,
    opts="",
    git_opts="",
    user=None,
    password=None,
    filename=None,
    ignore_retcode=False,
    output_encoding=None,
):
    """Commit the index, or a file."""
    words = gitrun.command_words(git_opts, "commit", ["-m", message] + gitrun.options(opts)) + (
        ["--", filename] if filename else []
    )
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


def checkout(
    cwd,
    rev=None,
    force=False,
    opts="",
    git_opts="",
    user=None,
    password=None,
    ignore_retcode=False,
    output_encoding=None,
):
    """Check out a revision."""
    given = gitrun.options(opts)
    if rev is None and not any(word in ("-b", "-B") for word in given):
        raise SaltInvocationError("'rev' argument is required unless -b or -B in opts")
    words = gitrun.command_words(git_opts, "checkout", (["--force"] if force else []) + given) + (
        [str(rev)] if rev else []
    )
    return _git(words, cwd, user, ignore_retcode, output_encoding, redirect_stderr=True)["stdout"]


def discard_local_changes(cwd, path=".", user=None, password=None, ignore_retcode=False, output_encoding=None):
    """Check out a path again, which discards local changes."""
    words = ["checkout", "--", path]
    return _git(words, cwd, user, ignore_retcode, output_encoding, redirect_stderr=True)["stdout"]


def reset(
    cwd, opts="", git_opts="", user=None, password=None, identity=None, ignore_retcode=False, output_encoding=None
):
    """Reset the branch."""
    return _git(gitrun.command_words(git_opts, "reset", opts), cwd, user, ignore_retcode, output_encoding, identity)[
        "stdout"
    ]


def stash(
    cwd, action="save", opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None
):
    """Stash local changes, or run another ``action`` of git stash."""
    words = gitrun.command_words(git_opts, "stash", [action] + gitrun.options(opts))
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


def diff(
    cwd,
    item1=None,
    item2=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    no_index=False,
    cached=False,
    paths=None,
    output_encoding=None,
):
    """The output of git diff."""
    if no_index and cached:
        raise CommandExecutionError("The 'no_index' and 'cached' options cannot be used together")
    words = (
        gitrun.command_words(git_opts, "diff", opts)
        + (["--cached"] if cached else [])
        + (["--no-index"] if no_index else [])
    )
    words += [str(item) for item in (item1, item2) if item] + (["--"] + gitrun.several(paths) if paths else [])
    how = {"failhard": not no_index, "redirect_stderr": no_index, "settings": _INDEX_AS_IT_IS}
    return _git(words, cwd, user, no_index, output_encoding, **how)["stdout"]


def merge(
    cwd,
    rev=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    identity=None,
    ignore_retcode=False,
    output_encoding=None,
):
    """Merge a revision into the branch."""
    words = gitrun.command_words(git_opts, "merge", opts) + ([str(rev)] if rev else [])
    return _git(words, cwd, user, ignore_retcode, output_encoding, identity)["stdout"]


def rebase(
    cwd, rev="master", opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None
):
    """Rebase the branch on a revision."""
    words = gitrun.command_words(git_opts, "rebase", opts) + str(rev).split()
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


# Settings


def config_get(key, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs):
    """The value of a key, None if it is not set; with ``all`` a list of its values. ``global``: the user's
    configuration.
    """
    every = kwargs.pop("all", False)
    done = _config("--get-all", [key], cwd, user, ignore_retcode, output_encoding, kwargs)
    if done["retcode"] == 1:
        return None
    values = done["stdout"].splitlines()
    return values if every else values[-1] if values else ""


def config_get_regexp(
    key, value_regex=None, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs
):
    """``{key: [values]}`` of the keys that match."""
    kwargs.pop("all", None)
    words = [key] + ([value_regex] if value_regex is not None else [])
    done = _config("--get-regexp", words, cwd, user, ignore_retcode, output_encoding, kwargs)
    result = {}
    for line in done["stdout"].splitlines() if done["retcode"] != 1 else ():
        name, _, value = line.partition(" ")
        if value:
            result.setdefault(name, []).append(value)
    return result


def _config(question, words, cwd, user, ignore_retcode, output_encoding, kwargs):
    (everywhere,) = gitrun.taken(kwargs, "global")
    if cwd is None and not everywhere:
        raise SaltInvocationError("'cwd' argument required unless global=True")
    words = ["config", "--global" if everywhere else "--local", question] + words
    return _git(words, cwd, user, ignore_retcode, output_encoding, failhard=False)


def config_set(
    key,
    value=None,
    multivar=None,
    cwd=None,
    user=None,
    password=None,
    ignore_retcode=False,
    output_encoding=None,
    **kwargs,
):
    """Set a key to a value, or to several (``multivar``); with ``add`` keep existing values. Returns all values."""
    add, everywhere = gitrun.taken(kwargs, "add", "global")
    if cwd is None and not everywhere:
        raise SaltInvocationError("'cwd' argument required unless global=True")
    if value is not None and multivar is not None:
        raise SaltInvocationError("Only one of 'value' and 'multivar' is permitted")
    for one in [str(value)] if value is not None else gitrun.several(multivar):
        words = ["config", "--global" if everywhere else "--local"] + ["--add" if add else "--replace-all", key, one]
        _git(words, cwd, user, ignore_retcode, output_encoding)
        add = add or multivar is not None
    more = {"all": True, "global": everywhere}
    return config_get(key, cwd, user, None, ignore_retcode, output_encoding, **more)


def config_unset(
    key, value_regex=None, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs
):
    """Unset a key, or those of its values that match; returns True."""
    every, everywhere = gitrun.taken(kwargs, "all", "global")
    if cwd is None and not everywhere:
        raise SaltInvocationError("'cwd' argument required unless global=True")
    words = ["config", "--unset-all" if every else "--unset", "--global" if everywhere else "--local", key]
    words += [value_regex] if value_regex is not None else []
    done = _git(words, cwd, user, ignore_retcode, output_encoding, failhard=False)
    if done["retcode"] == 0:
        return True
    if done["retcode"] == 5:
        if config_get(key, cwd, user, ignore_retcode=True, **{"global": everywhere}) is None:
            raise CommandExecutionError("Key '%s' does not exist" % key)
        more = " and value_regex matches multiple values" if value_regex is not None else ""
        raise CommandExecutionError("Multiple values exist for key '%s'%s" % (key, more))
    reasons = {1: "Section or key is invalid", 6: "The value_regex is invalid"}
    words = "Failed to unset key '%s', git config returned exit code %s; %s"
    raise CommandExecutionError(reasons.get(done["retcode"]) or words % (key, done["retcode"], done["stderr"]))
