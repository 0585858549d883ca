"""git: repositories, their references, remotes and settings. Salt: modules/git.py

Functions take Salt's arguments: ``cwd`` (the repository), ``opts`` and ``git_opts`` (words, or a list of them),
``user`` (who git runs as), ``identity`` (private key or list of them, also salt://), ``https_user`` and ``https_pass``.
``password`` is for Windows. They return what git prints unless said otherwise, and raise CommandExecutionError with
git's words. Passwords are in no URL (thin/utils/gitrun.py).
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils import gitrun, safepath
from thin.utils.commands import OpenFolder

__func_alias__ = {"rm_": "rm"}
__usual__ = True
__reads__ = (
    "is_worktree",
    "status",
    "version",
    "diff",
    "current_branch",
    "list_branches",
    "list_tags",
    "revision",
    "rev_parse",
    "describe",
    "merge_base",
    "ls_remote",
    "remote_refs",
    "remotes",
    "remote_get",
    "check_url",
    "config_get",
    "config_get_regexp",
)
__changes__ = (
    "branch",
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
    "symbolic_ref",
    "tag",
    "fetch",
    "pull",
    "push",
    "remote_set",
    "config_set",
    "config_unset",
)

#: ``git diff`` refreshes the index otherwise: a file of the repository, and who only looks changes none.
_INDEX_AS_IT_IS = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "diff.autoRefreshIndex",
    "GIT_CONFIG_VALUE_0": "false",
}


def __virtual__():
    return True if process.which("git") else (False, "The git execution module cannot be loaded: git is not installed")


def _git(
    words,
    cwd=None,
    user=None,
    ignore_retcode=False,
    output_encoding=None,
    identity=None,
    failhard=True,
    redirect_stderr=False,
    saltenv="base",
    https_user=None,
    https_pass=None,
    settings=(),
):
    """cmd.run_all's return of git. Several identities are tried one after the other.

    ``settings``: environment variables.
    """
    errors = []
    for key in identity if isinstance(identity, list) else [identity]:
        try:
            with gitrun.Keys(
                key, https_user, https_pass, user, lambda url: __salt__["cp.cache_file"](url, saltenv)
            ) as env:
                with _Opened(_path(cwd, user) if cwd else None, user) as folder:
                    done = __salt__["cmd.run_all"](
                        ["git"] + words,
                        cwd=folder,
                        runas=user,
                        env=dict(env, **dict(settings)),
                        python_shell=False,
                        ignore_retcode=ignore_retcode,
                        redirect_stderr=redirect_stderr,
                        output_encoding=output_encoding,
                    )
        except CommandExecutionError as exc:
            if not key:
                raise
            errors.append(str(exc))
            continue
        if done["retcode"] == 0 or (not key and not failhard):
            return done
        errors.append(gitrun.redact(done["stdout" if redirect_stderr else "stderr"]))
    if identity:
        raise CommandExecutionError("Unable to authenticate using identity file:\n\n" + "\n".join(errors))
    failed = "Command '%s' failed" % gitrun.redact(" ".join(["git"] + words))
    raise CommandExecutionError(failed + (": %s" % errors[0] if errors[0] else ""))


def _path(cwd, user):
    cwd = str(cwd)
    path = os.path.expanduser("~" + user + cwd[1:] if user and (cwd == "~" or cwd.startswith("~/")) else cwd)
    if not os.path.isabs(path):
        raise SaltInvocationError("'%s' is not an absolute path" % cwd)
    return path


class _Opened(object):
    """Where git runs. For root an open folder, which nobody can put a link to another repository in the place of."""

    def __init__(self, path, user):
        self.path = self.place = path
        self.open = path not in (None, "/") and not user and os.geteuid() == 0 and os.path.isdir(path)

    def __enter__(self):
        if self.open:
            try:
                with safepath.at(self.path, follow=True) as place:
                    self.place = OpenFolder(place.enter(), self.path)
            except safepath.Refused:
                raise
            except OSError as exc:  # it was there a moment ago
                raise CommandExecutionError("Cannot enter the repository '%s': %s" % (self.path, exc.strerror))
        return self.place

    def __exit__(self, *exc):
        if self.place is not self.path:
            os.close(self.place)


def _unsafe(path, user):
    """Whether another user could lead root's git elsewhere while it makes something at this path."""
    if user or os.geteuid() != 0:
        return False
    from thin.utils import ownfolders

    safepath.check(path)
    above = os.path.realpath(os.path.dirname(path))
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    return bool(os.stat(above).st_mode & 0o022) or ownfolders.others_may_change(above) is not None


def _words(git_opts, command, opts=""):
    return gitrun.options(git_opts) + [command] + gitrun.options(opts)


def _taken(kwargs, *names):
    """The arguments whose names Python has for itself. Raises SaltInvocationError for others."""
    found = [kwargs.pop(name, None) for name in names]
    left = sorted(key for key in kwargs if not key.startswith("__"))
    if left:
        raise SaltInvocationError("The following keyword arguments are not valid: %s" % ", ".join(left))
    return found


def _several(given):
    return [str(one).strip() for one in (given if isinstance(given, (list, tuple)) else str(given).split(","))]


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
    """Make a repository."""
    words = _words(git_opts, "init") + (["--bare"] if bare else [])
    words += ["--template=%s" % template] if template is not None else []
    words += ["--separate-git-dir=%s" % separate_git_dir] if separate_git_dir is not None else []
    if shared is not None:
        number = isinstance(shared, int) and not isinstance(shared, bool)
        words.append("--shared=%s" % ("0%s" % shared if number else str(shared).lower()))
    words += gitrun.options(opts)
    path = _path(cwd, user)
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
    """Clone into ``cwd``, or into ``name`` within it: True."""
    if not url:
        raise SaltInvocationError("Missing 'url' argument")
    cwd = _path(cwd, user)
    words = _words(git_opts, "clone", opts) + ["--", gitrun.checked_url(url, https_user, https_pass)]
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
    """Clone where nobody can interfere, and move that into a folder of others by open folders."""
    from thin.utils import osutil, unpacking

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
        top = rev_parse(cwd, opts=["--show-toplevel"], user=user, ignore_retcode=True, output_encoding=output_encoding)
        with open(os.path.join(top, ".git"), encoding="utf-8", errors="surrogateescape") as stream:
            label, _, path = stream.readline(4096).partition(" ")
    except (CommandExecutionError, OSError, UnicodeError):
        return False
    return label == "gitdir:" and os.path.isabs(path.strip())


def status(cwd, user=None, password=None, ignore_retcode=False, output_encoding=None):
    """``{"modified", "new", "deleted", "untracked" or git's letters: [paths]}``."""
    kinds = {"M": "modified", "A": "new", "D": "deleted", "??": "untracked"}
    found = {}
    done = _git(["status", "-z", "--porcelain"], cwd, user, ignore_retcode, output_encoding)
    for line in done["stdout"].split("\0"):
        kind, _, path = line.strip().partition(" ")
        if path:
            found.setdefault(kinds.get(kind, kind), []).append(path.strip())
    return found


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
    """What git submodule with this command says."""
    if _taken(kwargs, "init")[0]:
        raise SaltInvocationError(
            "The 'init' argument is no longer supported. Either set 'command' to 'init', or include '--init' in the "
            "'opts' argument and set 'command' to 'update'."
        )
    words = _words(git_opts, "submodule", [command] + gitrun.options(opts))
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
    """Write an archive of a revision to a file: True. ``format`` and ``prefix`` are git's."""
    (form,) = _taken(kwargs, "format")
    words = _words(git_opts, "archive") + (["--prefix", prefix.rstrip("/") + "/"] if prefix else [])
    words += (["--format", form] if form else []) + ["--output", str(output), rev]
    _git(words, cwd, user, ignore_retcode, output_encoding)
    return True


# Work trees


def add(cwd, filename, opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None):
    """Add files to the index."""
    words = _words(git_opts, "add", ["--verbose"] + gitrun.options(opts)) + ["--", filename]
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


def rm_(cwd, filename, opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None):
    """Take files out of the index and away."""
    words = _words(git_opts, "rm", opts) + ["--", filename]
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
    words = _words(git_opts, "commit", ["-m", message] + gitrun.options(opts)) + (["--", filename] if filename else [])
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
    words = _words(git_opts, "checkout", (["--force"] if force else []) + given) + ([str(rev)] if rev else [])
    return _git(words, cwd, user, ignore_retcode, output_encoding, redirect_stderr=True)["stdout"]


def discard_local_changes(cwd, path=".", user=None, password=None, ignore_retcode=False, output_encoding=None):
    """Check out a path again, over local changes."""
    words = ["checkout", "--", path]
    return _git(words, cwd, user, ignore_retcode, output_encoding, redirect_stderr=True)["stdout"]


def reset(
    cwd, opts="", git_opts="", user=None, password=None, identity=None, ignore_retcode=False, output_encoding=None
):
    """Reset the branch."""
    return _git(_words(git_opts, "reset", opts), cwd, user, ignore_retcode, output_encoding, identity)["stdout"]


def stash(
    cwd, action="save", opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None
):
    """Stash local changes, or what else ``action`` says."""
    words = _words(git_opts, "stash", [action] + gitrun.options(opts))
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
    """What git diff says."""
    if no_index and cached:
        raise CommandExecutionError("The 'no_index' and 'cached' options cannot be used together")
    words = _words(git_opts, "diff", opts) + (["--cached"] if cached else []) + (["--no-index"] if no_index else [])
    words += [str(item) for item in (item1, item2) if item] + (["--"] + _several(paths) if paths else [])
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
    words = _words(git_opts, "merge", opts) + ([str(rev)] if rev else [])
    return _git(words, cwd, user, ignore_retcode, output_encoding, identity)["stdout"]


def rebase(
    cwd, rev="master", opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None
):
    """Rebase the branch on a revision."""
    words = _words(git_opts, "rebase", opts) + str(rev).split()
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


# References


def branch(cwd, name=None, opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None):
    """Make, rename or delete a branch: True."""
    words = _words(git_opts, "branch", opts) + ([name] if name is not None else [])
    _git(words, cwd, user, ignore_retcode, output_encoding)
    return True


def current_branch(cwd, user=None, password=None, ignore_retcode=False, output_encoding=None):
    """The name of the branch, HEAD where it is detached."""
    return _git(["rev-parse", "--abbrev-ref", "HEAD"], cwd, user, ignore_retcode, output_encoding)["stdout"]


def list_branches(cwd, remote=False, user=None, password=None, ignore_retcode=False, output_encoding=None):
    """The names of the local, or the remote, branches."""
    return _references(cwd, "refs/remotes/" if remote else "refs/heads/", user, ignore_retcode, output_encoding)


def list_tags(cwd, user=None, password=None, ignore_retcode=False, output_encoding=None):
    """The names of the tags."""
    return _references(cwd, "refs/tags/", user, ignore_retcode, output_encoding)


def _references(cwd, prefix, *how):
    return _git(["for-each-ref", "--format", "%(refname:short)", prefix], cwd, *how)["stdout"].splitlines()


def revision(cwd, rev="HEAD", short=False, user=None, password=None, ignore_retcode=False, output_encoding=None):
    """The SHA-1 of a revision."""
    words = ["rev-parse"] + (["--short"] if short else []) + [str(rev)]
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


def rev_parse(
    cwd, rev=None, opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None
):
    """What git rev-parse says of a revision."""
    words = _words(git_opts, "rev-parse", opts) + ([str(rev)] if rev is not None else [])
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


def describe(cwd, rev="HEAD", user=None, password=None, ignore_retcode=False, output_encoding=None):
    """A name for a revision by the nearest tag."""
    words = ["describe", "--always"] + ([str(rev)] if rev else [])
    return _git(words, cwd, user, ignore_retcode, output_encoding)["stdout"]


def merge_base(
    cwd,
    refs=None,
    octopus=False,
    is_ancestor=False,
    independent=False,
    fork_point=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    ignore_retcode=False,
    output_encoding=None,
    **kwargs,
):
    """The common ancestor of revisions; with ``all`` a list; with ``is_ancestor`` whether the first is one of the
    second."""
    (every,) = _taken(kwargs, "all")
    if every and (independent or is_ancestor or fork_point):
        raise SaltInvocationError(
            "The 'all' argument is not compatible with 'independent', 'is_ancestor', or 'fork_point'"
        )
    if sum(bool(one) for one in (octopus, independent, is_ancestor, fork_point)) > 1:
        raise SaltInvocationError("Only one of 'octopus', 'independent', 'is_ancestor', and 'fork_point' is permitted")
    refs = _several(refs) if refs else []
    if is_ancestor and len(refs) != 2:
        raise SaltInvocationError("Two refs/commits are required if 'is_ancestor' is True")
    if fork_point and len(refs) > 1:
        raise SaltInvocationError("At most one ref/commit can be passed if 'fork_point' is specified")
    words = _words(git_opts, "merge-base", opts) + [
        "--" + word
        for word, on in (
            ("all", every),
            ("octopus", octopus),
            ("is-ancestor", is_ancestor),
            ("independent", independent),
        )
        if on
    ]
    words += (["--fork-point", fork_point] if fork_point else []) + (refs or ([] if fork_point else ["HEAD"]))
    done = _git(words, cwd, user, ignore_retcode, output_encoding, failhard=not is_ancestor)
    if is_ancestor:
        return done["retcode"] == 0
    return done["stdout"].splitlines() if every else done["stdout"].splitlines()[0]


def symbolic_ref(
    cwd, ref, value=None, opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None
):
    """What a symbolic reference points to, "" where it is none; or make it point to ``value``."""
    given = gitrun.options(opts)
    if value is not None and any(word in ("-d", "--delete") for word in given):
        raise SaltInvocationError("Value cannot be set for symbolic ref if -d/--delete is included in opts")
    words = _words(git_opts, "symbolic-ref", given) + [ref] + ([value] if value else [])
    quiet = "-q" in given or "--quiet" in given
    return _git(words, cwd, user, ignore_retcode, output_encoding, failhard=not quiet)["stdout"]


def tag(
    cwd,
    name,
    ref="HEAD",
    message=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    ignore_retcode=False,
    output_encoding=None,
):
    """Make a tag, with ``message`` an annotated one; or delete it, by ``-d`` in the options."""
    given = [word for word in gitrun.options(opts) if word not in ("-a", "--annotate")]
    if any(word == "-m" or word.startswith("--message") for word in given):
        raise SaltInvocationError('Tag messages must be passed in the "message" argument')
    words = _words(git_opts, "tag", (["-a", "-m", message] if message is not None else []) + given) + [str(name)]
    words += [] if "-d" in given or "--delete" in given else [ref]
    return _git(words, cwd, user, ignore_retcode, output_encoding, redirect_stderr=True)["stdout"]


# Remotes


def fetch(
    cwd,
    remote=None,
    force=False,
    refspecs=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    identity=None,
    ignore_retcode=False,
    saltenv="base",
    output_encoding=None,
    https_user=None,
    https_pass=None,
):
    """Fetch: ``{"new tags", "new branches", "updated tags": [names], "updated branches": {name: {"old", "new"}}}``."""
    given = [word for word in gitrun.options(opts) if word not in ("-f", "--force")]
    words = _words(git_opts, "fetch", (["--force"] if force else []) + given) + ([remote] if remote else [])
    done = _git(
        words + (_several(refspecs) if refspecs else []),
        cwd,
        user,
        ignore_retcode,
        output_encoding,
        identity,
        redirect_stderr=True,
        saltenv=saltenv,
        https_user=https_user,
        https_pass=https_pass,
    )
    return gitrun.fetched(done["stdout"])


def pull(
    cwd,
    opts="",
    git_opts="",
    user=None,
    password=None,
    identity=None,
    ignore_retcode=False,
    saltenv="base",
    output_encoding=None,
):
    """Fetch and merge."""
    words = _words(git_opts, "pull", opts)
    return _git(words, cwd, user, ignore_retcode, output_encoding, identity, saltenv=saltenv)["stdout"]


def push(
    cwd,
    remote=None,
    ref=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    identity=None,
    ignore_retcode=False,
    saltenv="base",
    output_encoding=None,
):
    """Push a reference to a remote."""
    words = _words(git_opts, "push", opts) + [str(word) for word in (remote, ref) if word]
    how = {"identity": identity, "saltenv": saltenv, "redirect_stderr": True}
    return _git(words, cwd, user, ignore_retcode, output_encoding, **how)["stdout"]


def ls_remote(
    cwd=None,
    remote="origin",
    ref=None,
    opts="",
    git_opts="",
    user=None,
    password=None,
    identity=None,
    https_user=None,
    https_pass=None,
    ignore_retcode=False,
    output_encoding=None,
    saltenv="base",
):
    """``{reference: SHA-1}`` of a remote, or of a URL."""
    words = _words(git_opts, "ls-remote", opts) + [gitrun.checked_url(remote, https_user, https_pass)]
    done = _git(
        words + ([ref] if ref else []),
        cwd,
        user,
        ignore_retcode,
        output_encoding,
        identity,
        saltenv=saltenv,
        https_user=https_user,
        https_pass=https_pass,
    )
    pairs = [line.partition("\t") for line in done["stdout"].splitlines()]
    return {name: digest for digest, tab, name in pairs if tab}


def remote_refs(
    url,
    heads=False,
    tags=False,
    user=None,
    password=None,
    identity=None,
    https_user=None,
    https_pass=None,
    ignore_retcode=False,
    output_encoding=None,
    saltenv="base",
    **kwargs,
):
    """``{reference: SHA-1}`` of a repository. ``filter``: a pattern."""
    (pattern,) = _taken(kwargs, "filter")
    opts = (["--heads"] if heads else []) + (["--tags"] if tags else [])
    return ls_remote(
        None,
        url,
        pattern,
        opts,
        "",
        user,
        password,
        identity,
        https_user,
        https_pass,
        ignore_retcode,
        output_encoding,
        saltenv,
    )


def remotes(cwd, user=None, password=None, redact_auth=True, ignore_retcode=False, output_encoding=None):
    """``{name: {"fetch": URL, "push": URL}}``."""
    found = {}
    for line in _git(["remote", "--verbose"], cwd, user, ignore_retcode, output_encoding)["stdout"].splitlines():
        name, _, rest = line.partition("\t")
        url, _, action = rest.rpartition(" ")
        if action in ("(fetch)", "(push)"):
            found.setdefault(name, {})[action[1:-1]] = gitrun.redact(url) if redact_auth else url
    return found


def remote_get(
    cwd, remote="origin", user=None, password=None, redact_auth=True, ignore_retcode=False, output_encoding=None
):
    """``{"fetch": URL, "push": URL}`` of a remote. Raises CommandExecutionError where there is none of this name."""
    found = remotes(cwd, user, password, redact_auth, ignore_retcode, output_encoding)
    if remote not in found:
        raise CommandExecutionError("Remote '%s' not present in git checkout located at %s" % (remote, cwd))
    return found[remote]


def remote_set(
    cwd,
    url,
    remote="origin",
    user=None,
    password=None,
    https_user=None,
    https_pass=None,
    push_url=None,
    push_https_user=None,
    push_https_pass=None,
    ignore_retcode=False,
    output_encoding=None,
):
    """Make a remote have these URLs: what remote_get says. Passwords are not kept in it."""
    how = (cwd, user, ignore_retcode, output_encoding)
    if remote in remotes(cwd, user):
        _git(["remote", "rm", remote], *how)
    _git(["remote", "add", remote, gitrun.checked_url(url, https_user, https_pass)], *how)
    if push_url:
        push_url = gitrun.checked_url(push_url, push_https_user, push_https_pass)
        _git(["remote", "set-url", "--push", remote, push_url], *how)
    return remote_get(cwd, remote, user)


def check_url(url, https_user=None, https_pass=None):
    """The URL. Raises SaltInvocationError where it does not go with a user and password."""
    return gitrun.checked_url(url, https_user, https_pass)


# Settings


def config_get(key, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs):
    """The value of a key, None where it is not set; with ``all`` a list of its values. ``global``: the user's."""
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
    found = {}
    for line in done["stdout"].splitlines() if done["retcode"] != 1 else ():
        name, _, value = line.partition(" ")
        if value:
            found.setdefault(name, []).append(value)
    return found


def _config(question, words, cwd, user, ignore_retcode, output_encoding, kwargs):
    (everywhere,) = _taken(kwargs, "global")
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
    """Set a key to a value, or to several (``multivar``); with ``add`` beside those it has. All its values."""
    add, everywhere = _taken(kwargs, "add", "global")
    if cwd is None and not everywhere:
        raise SaltInvocationError("'cwd' argument required unless global=True")
    if value is not None and multivar is not None:
        raise SaltInvocationError("Only one of 'value' and 'multivar' is permitted")
    for one in [str(value)] if value is not None else _several(multivar):
        words = ["config", "--global" if everywhere else "--local"] + ["--add" if add else "--replace-all", key, one]
        _git(words, cwd, user, ignore_retcode, output_encoding)
        add = add or multivar is not None
    more = {"all": True, "global": everywhere}
    return config_get(key, cwd, user, None, ignore_retcode, output_encoding, **more)


def config_unset(
    key, value_regex=None, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs
):
    """Unset a key, or those of its values that match: True."""
    every, everywhere = _taken(kwargs, "all", "global")
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
