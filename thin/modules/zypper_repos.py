"""Repositories of zypper: a part of ``pkg``. Salt: modules/zypperpkg.py

A repository is named by its alias, the section of a .repo file.
"""

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import repofile
from thin.utils.programs import zypprun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Suse",)}
__usual__ = True
__reads__ = ("list_repos", "get_repo")
__changes__ = ("del_repo", "mod_repo")

FOLDER = "/etc/zypp/repos.d"

#: options of ``zypper modifyrepo`` for arguments of mod_repo: (for True, for False)
_SWITCHES = (
    ("enabled", "--enable", "--disable"),
    ("refresh", "--refresh", "--no-refresh"),
    ("cache", "--keep-packages", "--no-keep-packages"),
    ("gpgcheck", "--gpgcheck", "--no-gpgcheck"),
)


def __virtual__():
    if __grains__.get("os_family") != "Suse":
        return False, "Module zypper: non SUSE OS not supported by zypper package manager"
    return __virtualname__ if process.which("zypper") else (False, "Module zypper: zypper package manager not found")


def list_repos(root=None, **kwargs):
    """
    Return ``{alias: {alias, name, enabled, baseurl, …}}`` of all repositories; 0 and 1 are False and True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_repos
    """
    repositories = {}
    for alias, values in repofile.repositories([(root or "") + FOLDER], strict=False).items():
        settings = {key: _value(value) for key, value in values.items() if key not in ("file", "comments")}
        if settings.get("baseurl") and settings["baseurl"].startswith("file:/"):  # with one slash or three
            settings["baseurl"] = "file:///" + settings["baseurl"][5:].lstrip("/")
        repositories[alias] = dict(settings, alias=alias)
    return repositories


def _value(text):
    return {"0": False, "1": True, "NONE": None}.get(text, text)


def get_repo(repo, root=None, **kwargs):
    """
    Return ``{alias, name, enabled, baseurl, …}`` of a repository, or {}

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.get_repo app
    """
    return list_repos(root).get(repo, {})


def del_repo(repo, root=None, **kwargs):
    """
    Remove a repository: ``{alias: True, message: output of zypper}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.del_repo app
    """
    if repo not in list_repos(root):
        raise CommandExecutionError("Repository '%s' not found." % repo)
    text = _run(["removerepo", "--loose-auth", "--loose-query", repo], root)["stdout"]
    messages = [words for _, words in zypprun.messages(text)]
    return {repo: True, "message": messages[0] if messages else ""}


def mod_repo(repo, **kwargs):
    """
    Change a repository as given by the arguments, or add it; returns the result of get_repo

    baseurl, mirrorlist, url
        Its address; a new repository must have one of these.
    name, humanname
        Its name for people.
    enabled, refresh, cache, gpgcheck
        True or False: use it, update its lists automatically, keep packages, check signatures.
    priority
        A number, by default 99; smaller numbers have precedence.
    gpgautoimport
        Trust its key, and update its lists now.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.mod_repo alias baseurl=https://example.org/repo name='Example' enabled=True
    """
    root = kwargs.get("root") or None
    present, added = list_repos(root), False
    if repo not in present:
        _add(repo, kwargs, present, root)
        added = True
    elif kwargs.get("baseurl") and kwargs["baseurl"] != present[repo].get("baseurl"):
        _run(["removerepo", "--loose-auth", "--loose-query", repo], root)
        return mod_repo(repo, **dict({"cache": False}, **dict(_settings(present[repo]), **kwargs)))
    words = [yes if kwargs[key] else no for key, yes, no in _SWITCHES if key in kwargs]
    if "priority" in kwargs:
        words.append("--priority=%s" % kwargs["priority"])
    name = kwargs.get("name", kwargs.get("humanname"))
    if name is not None:
        words += ["--name", str(name)]
    if words:
        zypprun.run(__salt__["cmd.run_all"], __opts__, ["modifyrepo"] + words + [repo], root, xml=True, refresh=True)
    comment = None
    if kwargs.get("gpgautoimport") is True:
        __salt__["pkg.refresh_db"](root=root, gpgautoimport=True, repos=repo)
    elif not added and not words:
        comment = "Specified arguments did not result in modification of repo"
    repository = get_repo(repo, root)
    return dict(repository, comment=comment) if comment else repository


def _add(repo, kwargs, present, root):
    url = kwargs.get("url") or kwargs.get("mirrorlist") or kwargs.get("baseurl")
    if not url:
        raise CommandExecutionError(
            "Repository '%s' not found, and neither 'baseurl' nor 'mirrorlist' was specified" % repo
        )
    if ":" not in url:
        raise CommandExecutionError("Repository '%s' not found and URL for baseurl/mirrorlist is malformed" % repo)
    for alias, values in present.items():
        if (values.get("baseurl") or "").rstrip("/") == url.rstrip("/"):
            raise CommandExecutionError("Repository '%s' already exists as '%s'." % (repo, alias))
    _run(["addrepo", url, repo], root)
    if repo not in list_repos(root):
        raise CommandExecutionError(
            "Failed add new repository '%s' for unspecified reason. Please check zypper logs." % repo
        )


def _settings(values):
    """The settings that a recreated repository keeps."""
    kept = {key: values[key] for key in ("enabled", "gpgcheck", "priority", "name") if values.get(key) is not None}
    if "autorefresh" in values:
        kept["refresh"] = values["autorefresh"]
    return kept


def _run(args, root):
    return zypprun.run(__salt__["cmd.run_all"], __opts__, args, root, xml=True)
