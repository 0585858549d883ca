"""git: branches, tags, revisions and remotes: a part of ``git``. Salt: modules/git.py

git.py documents the shared arguments.
"""

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.programs import gitrun

__virtualname__ = "git"
__reads__ = (
    "current_branch",
    "list_branches",
    "list_tags",
    "revision",
    "describe",
    "remote_refs",
    "remotes",
    "remote_get",
    "check_url",
)
#: Options can name programs: --upload-pack, -c core.fsmonitor.
__reads_unless__ = {
    "rev_parse": {"git_opts": ()},
    "merge_base": {"opts": (), "git_opts": ()},
    "ls_remote": {"opts": (), "git_opts": ()},
}
__changes__ = ("branch", "symbolic_ref", "tag", "fetch", "pull", "push", "remote_set")


def __virtual__():
    if process.which("git"):
        return __virtualname__
    return False, "The git execution module cannot be loaded: git is not installed"


def _git(words, *args, **options):
    return gitrun.run(__salt__, words, *args, **options)


def branch(cwd, name=None, opts="", git_opts="", user=None, password=None, ignore_retcode=False, output_encoding=None):
    """Create, rename or delete a branch; returns True."""
    words = gitrun.command_words(git_opts, "branch", opts) + ([name] if name is not None else [])
    _git(words, cwd, user, ignore_retcode, output_encoding)
    return True


def current_branch(cwd, user=None, password=None, ignore_retcode=False, output_encoding=None):
    """The name of the branch; HEAD if it is detached."""
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
    """The output of git rev-parse for a revision."""
    words = gitrun.command_words(git_opts, "rev-parse", opts) + ([str(rev)] if rev is not None else [])
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
    (every,) = gitrun.taken(kwargs, "all")
    if every and (independent or is_ancestor or fork_point):
        raise SaltInvocationError(
            "The 'all' argument is not compatible with 'independent', 'is_ancestor', or 'fork_point'"
        )
    if sum(bool(one) for one in (octopus, independent, is_ancestor, fork_point)) > 1:
        raise SaltInvocationError("Only one of 'octopus', 'independent', 'is_ancestor', and 'fork_point' is permitted")
    refs = gitrun.several(refs) if refs else []
    if is_ancestor and len(refs) != 2:
        raise SaltInvocationError("Two refs/commits are required if 'is_ancestor' is True")
    if fork_point and len(refs) > 1:
        raise SaltInvocationError("At most one ref/commit can be passed if 'fork_point' is specified")
    words = gitrun.command_words(git_opts, "merge-base", opts) + [
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
    """The target of a symbolic reference, "" if it is none; with ``value``, set it."""
    given = gitrun.options(opts)
    if value is not None and any(word in ("-d", "--delete") for word in given):
        raise SaltInvocationError("Value cannot be set for symbolic ref if -d/--delete is included in opts")
    words = gitrun.command_words(git_opts, "symbolic-ref", given) + [ref] + ([value] if value else [])
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
    """Create a tag, with ``message`` an annotated one; or delete it, with ``-d`` in the options."""
    given = [word for word in gitrun.options(opts) if word not in ("-a", "--annotate")]
    if any(word == "-m" or word.startswith("--message") for word in given):
        raise SaltInvocationError('Tag messages must be passed in the "message" argument')
    words = gitrun.command_words(git_opts, "tag", (["-a", "-m", message] if message is not None else []) + given) + [
        str(name)
    ]
    words += [] if "-d" in given or "--delete" in given else [ref]
    return _git(words, cwd, user, ignore_retcode, output_encoding, redirect_stderr=True)["stdout"]


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
    words = gitrun.command_words(git_opts, "fetch", (["--force"] if force else []) + given) + (
        [remote] if remote else []
    )
    done = _git(
        words + (gitrun.several(refspecs) if refspecs else []),
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
    words = gitrun.command_words(git_opts, "pull", opts)
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
    words = gitrun.command_words(git_opts, "push", opts) + [str(word) for word in (remote, ref) if word]
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
    words = gitrun.command_words(git_opts, "ls-remote", opts) + [gitrun.checked_url(remote, https_user, https_pass)]
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
    (pattern,) = gitrun.taken(kwargs, "filter")
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
    remotes = {}
    for line in _git(["remote", "--verbose"], cwd, user, ignore_retcode, output_encoding)["stdout"].splitlines():
        name, _, rest = line.partition("\t")
        url, _, action = rest.rpartition(" ")
        if action in ("(fetch)", "(push)"):
            remotes.setdefault(name, {})[action[1:-1]] = gitrun.redact(url) if redact_auth else url
    return remotes


def remote_get(
    cwd, remote="origin", user=None, password=None, redact_auth=True, ignore_retcode=False, output_encoding=None
):
    """``{"fetch": URL, "push": URL}`` of a remote. Raises CommandExecutionError if it does not exist."""
    by_name = remotes(cwd, user, password, redact_auth, ignore_retcode, output_encoding)
    if remote not in by_name:
        raise CommandExecutionError("Remote '%s' not present in git checkout located at %s" % (remote, cwd))
    return by_name[remote]


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
    """Set the URLs of a remote; returns what remote_get returns. Passwords are not stored in it."""
    how = (cwd, user, ignore_retcode, output_encoding)
    if remote in remotes(cwd, user):
        _git(["remote", "rm", remote], *how)
    _git(["remote", "add", remote, gitrun.checked_url(url, https_user, https_pass)], *how)
    if push_url:
        push_url = gitrun.checked_url(push_url, push_https_user, push_https_pass)
        _git(["remote", "set-url", "--push", remote, push_url], *how)
    return remote_get(cwd, remote, user)


def check_url(url, https_user=None, https_pass=None):
    """Return the URL. Raises SaltInvocationError if it cannot have a user and password."""
    return gitrun.checked_url(url, https_user, https_pass)
