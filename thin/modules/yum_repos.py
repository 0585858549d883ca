"""Repositories of yum and dnf: a part of ``pkg``. Salt: modules/yumpkg.py

A repository is named by its id, the section of a .repo file.
"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import repofile, safepath
from thin.utils.programs import pkgrun, yumrun

__virtualname__ = "pkg"
__fits__ = {
    "os_family": ("RedHat",),
    "os": ("Amazon", "XCP", "XenServer", "VirtuozzoLinux", "Virtuozzo", "Issabel PBX", "openEuler", "VMware Photon OS"),
}
__reads__ = ("list_repos", "get_repo")
__changes__ = ("del_repo", "mod_repo")

CONFIGURATIONS = ("/etc/yum/yum.conf", "/etc/yum.conf", "/etc/dnf/dnf.conf", "/etc/tdnf/tdnf.conf")
FOLDERS = ["/etc/yum/repos.d", "/etc/yum.repos.d"]
LINKS = ("baseurl", "mirrorlist", "metalink")
COPR_HOST = "copr.fedorainfracloud.org"

#: arguments that are not keys of a repository
NOT_KEYS = ("saltenv", "basedir", "strict_config", "allow_insecure_key")


def __virtual__():
    reason = yumrun.refused(__grains__, __opts__)
    return (False, reason) if reason else __virtualname__


def list_repos(basedir=None, **kwargs):
    """
    Return ``{id: {key: value, "comments": [lines], "file": path}}`` of all repositories

    basedir
        The folders of .repo files: a list or comma-separated; by default those of the configuration.
    strict_config : True
        A duplicate section or key in a file is an error.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_repos basedir=/srv/chroot/app/etc/yum.repos.d
    """
    return repofile.repositories(_folders(basedir, kwargs), kwargs.get("strict_config", True))


def get_repo(repo, basedir=None, **kwargs):
    """
    Return ``{key: value}`` of a repository, or {}

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.get_repo app
    """
    repository = list_repos(basedir, **kwargs).get(_id(repo), {})
    repository.pop("file", None)
    return repository


def del_repo(repo, basedir=None, **kwargs):
    """
    Remove a repository, and its file if it has no other. Returns a message

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.del_repo app
    """
    repo = _id(repo)
    repos = list_repos(basedir, **kwargs)
    if repo not in repos:
        return "Error: the %s repo does not exist in %s" % (repo, _folders(basedir, kwargs))
    path = repos[repo]["file"]
    if sum(values["file"] == path for values in repos.values()) == 1:
        safepath.unlink(path)
        return "File %s containing repo %s has been removed" % (path, repo)
    header, sections = repofile.read(path, kwargs.get("strict_config", True))
    del sections[repo]
    repofile.write(path, header, sections)
    return "Repo %s has been removed from %s" % (repo, path)


def mod_repo(repo, basedir=None, **kwargs):
    """
    Change a repository as given by the arguments, or add it: ``{path: {id: {key: value}}}`` of its file

    baseurl, mirrorlist, metalink
        Its address: one of these; setting one removes the others.
    name
        Its name for people; a new repository must have one.
    comments
        Comment lines in its section.

    Every other argument is a key of the section. An empty value removes the key. ``copr:owner/project`` as the id
    enables that project of Fedora's copr.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.mod_repo epel name=EPEL baseurl=https://example.org/epel enabled=1
    """
    wanted = {key: value for key, value in kwargs.items() if not key.startswith("__") and key not in NOT_KEYS}
    if sum(link in wanted for link in LINKS) > 1:
        raise SaltInvocationError("One and only one of %s can be used" % ", ".join(LINKS))
    gone = [key for key, value in wanted.items() if value != 0 and not value]
    wanted = {key: value for key, value in wanted.items() if key not in gone}
    if any(link in wanted for link in LINKS):
        gone += [link for link in LINKS if link not in wanted]
    if "name" in gone:
        raise SaltInvocationError("The repo name cannot be deleted")
    strict = kwargs.get("strict_config", True)
    repos = list_repos(basedir, **kwargs)
    if _id(repo) not in repos and repo.startswith("copr:"):
        _enable_copr(repo[5:])
        repos = list_repos(basedir, **kwargs)
    repo = _id(repo)
    if repo in repos:
        path = repos[repo]["file"]
        header, sections = repofile.read(path, strict)
    else:
        path, header, sections = _new_file(repo, _folders(basedir, kwargs), wanted), "", {repo: {}}
    for link in LINKS:
        others = [other for other in LINKS if other != link]
        if link in gone and not any(other in wanted or other in sections[repo] for other in others):
            raise SaltInvocationError("Cannot delete %s without specifying %s" % (link, " or ".join(sorted(others))))
    for key in gone:
        sections[repo].pop(key, None)
    sections[repo].update(wanted)
    repofile.write(path, header, sections)
    for values in sections.values():
        values.pop("comments", None)
    return {path: sections}


# Private functions


def _id(repo):
    """The repository id of a copr project; other ids are returned unchanged."""
    if not repo.startswith("copr:") or repo.count(":") > 1:
        return repo
    owner, _, project = repo[5:].partition("/")
    return "copr:%s:%s:%s" % (COPR_HOST, owner, project)


def _folders(basedir, kwargs):
    """The folders of .repo files, in the order of precedence."""
    if basedir:
        return pkgrun.listed(basedir)
    path = next((path for path in CONFIGURATIONS if os.path.exists(path)), None)
    if path is None:
        raise CommandExecutionError("No suitable yum config file found in: %s" % (CONFIGURATIONS,))
    main = repofile.read(path, kwargs.get("strict_config", True))[1].get("main", {})
    return pkgrun.listed(main.get("reposdir", "").replace("\n", ",")) or FOLDERS


def _new_file(repo, folders, wanted):
    folder = next((folder for folder in folders if os.path.isdir(folder)), None)
    if folder is None:
        raise SaltInvocationError(
            "The repo does not exist and needs to be created, but none of the following basedir directories exist: %s"
            % folders
        )
    why = "The repo does not exist and needs to be created, but "
    if "name" not in wanted:
        raise SaltInvocationError(why + "a name was not given")
    if not any(link in wanted for link in LINKS):
        raise SaltInvocationError(why + "none of %s was given" % ", ".join(LINKS))
    if "/" in repo:
        raise SaltInvocationError(why + "%r cannot be the name of a file" % repo)
    return os.path.join(folder, repo + ".repo")


def _enable_copr(project):
    plugin = "dnf-plugins-core" if yumrun.is_dnf() else "yum-plugin-copr"
    if not __salt__["pkg_resource.version"](plugin):
        raise SaltInvocationError("%s must be installed to use COPR" % plugin)
    done = yumrun.run(__salt__["cmd.run_all"], __opts__, ["copr", "enable", project, "-y"])
    if done["retcode"] != 0:
        raise CommandExecutionError(
            "Unable to add COPR '%s'. '%s' exited with status %s: '%s' "
            % (project, yumrun.program(), done["retcode"], pkgrun.words(done))
        )
