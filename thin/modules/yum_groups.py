"""Groups of packages, advisories, held packages: a part of ``pkg``. Salt: modules/yumpkg.py"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.outputs import dnfout
from thin.utils.packages import pkgholds
from thin.utils.programs import pkgrun, yumrun

__virtualname__ = "pkg"
__fits__ = {
    "os_family": ("RedHat",),
    "os": ("Amazon", "XCP", "XenServer", "VirtuozzoLinux", "Virtuozzo", "Issabel PBX", "openEuler", "VMware Photon OS"),
}
__reads__ = (
    "group_list",
    "group_info",
    "group_diff",
    "list_patches",
    "list_installed_patches",
    "services_need_restart",
    "list_holds",
    "get_locked_packages",
)
__changes__ = ("group_install", "groupinstall", "hold", "unhold")

#: files that show that the plug-in is installed, independent of its package's name
PLUGIN = ("/etc/dnf/plugins/versionlock.conf", "/etc/yum/pluginconf.d/versionlock.conf")
LOCKS_OF_DNF5 = "/etc/dnf/versionlock.toml"


def __virtual__():
    reason = yumrun.refused(__grains__, __opts__)
    return (False, reason) if reason else __virtualname__


# Groups


def group_list():
    """
    Return the groups: ``{installed, available, installed environments, available environments: [names], available
    languages: {line: {name, language}}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.group_list
    """
    if yumrun.program() == "dnf5":
        return dnfout.groups_of_dnf5(_run(["group", "list", "--hidden"])["stdout"])
    words = ["group", "list", "--hidden"] if yumrun.is_dnf() else ["grouplist", "hidden"]
    return dnfout.groups(_run(words)["stdout"])


def group_info(name, expand=False, ignore_groups=None, **kwargs):
    """
    Return ``{group, id, type, description, mandatory, optional, default, conditional: [names]}`` of a group

    name
        Its name or id.
    expand
        The packages of the groups that an environment group has, instead of these groups.
    ignore_groups
        Groups to skip in expansions.
    fromrepo, enablerepo, disablerepo
        Repositories.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.group_info 'Container Management'
    """
    options = yumrun.options({key: kwargs[key] for key in ("fromrepo", "enablerepo", "disablerepo") if key in kwargs})
    group = dnfout.group(_run(["--quiet"] + options + _group_words("info") + [name])["stdout"])
    if not group["group"] and not group["id"]:
        raise CommandExecutionError("Group '%s' not found" % name)
    if expand and group["type"] == "environment group":
        seen = [] if ignore_groups is None else ignore_groups
        members = [member for kind in dnfout.PACKAGE_KINDS for member in group[kind] if member not in seen]
        group.update((kind, []) for kind in dnfout.PACKAGE_KINDS)
        for member in members:
            seen.append(member)
            _join(group, _info_of_member(member, seen, kwargs))
    return group


def _info_of_member(member, seen, kwargs):
    try:
        return group_info("@" + member, True, seen, **kwargs)
    except CommandExecutionError:
        return group_info(member, True, seen, **kwargs)


def _join(groups, more):
    for kind in dnfout.PACKAGE_KINDS:
        groups[kind] = sorted(set(groups[kind]) | set(more[kind]))


def group_diff(name, **kwargs):
    """
    Return ``{mandatory, optional, default, conditional: {installed: [names], "not installed": [names]}}`` of a group

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.group_diff 'Container Management'
    """
    installed, group = __salt__["pkg.list_pkgs"](), group_info(name, expand=True, **kwargs)
    return {
        kind: {
            "installed": [member for member in group[kind] if member in installed],
            "not installed": [member for member in group[kind] if member not in installed],
        }
        for kind in dnfout.PACKAGE_KINDS
    }


def group_install(name, skip=(), include=(), **kwargs):
    """
    Install the mandatory and default packages of groups: ``{name: {old, new}}``

    name
        A group, several with commas between them, or a list.
    skip
        Default packages that are not wanted.
    include
        Further packages.

    Other arguments are those of pkg.install.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.group_install 'Container Management' skip=cockpit-podman include=buildah
    """
    groups = name.split(",") if isinstance(name, str) else name
    if not groups:
        raise SaltInvocationError("no groups specified")
    if not isinstance(groups, list):
        raise SaltInvocationError("'groups' must be a list")
    lists = {"skip": skip, "include": include}
    for word, value in lists.items():
        lists[word] = value.split(",") if isinstance(value, str) else value
        if not isinstance(lists[word], (list, tuple)):
            raise SaltInvocationError("'%s' must be a list" % word)
    targets = []
    for group in map(group_info, groups):
        targets += group["mandatory"] + [member for member in group["default"] if member not in lists["skip"]]
    installed = __salt__["pkg.list_pkgs"]()
    targets = sorted({pkg for pkg in targets + list(lists["include"]) if pkg not in installed})
    return __salt__["pkg.install"](pkgs=targets, **kwargs) if targets else {}


groupinstall = group_install


def _group_words(action):
    return ["group", action] if yumrun.is_dnf() else ["group" + action]


# Advisories


def list_patches(refresh=False, **kwargs):
    """
    Return the advisories: ``{advisory: {installed, summary: [packages]}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_patches
    """
    if refresh:
        __salt__["pkg.refresh_db"]()
    if yumrun.program() == "dnf5":
        every, installed = [_run(["--quiet", "advisory", "list", word])["stdout"] for word in ("--all", "--installed")]
        return dnfout.advisories_of_dnf5(every, installed)
    return dnfout.advisories(_run(["--quiet", "updateinfo", "list", "all"])["stdout"])


def list_installed_patches(**kwargs):
    """
    Return advisories of which all packages are installed, in the format of list_patches

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_installed_patches
    """
    return {advisory: data for advisory, data in list_patches().items() if data["installed"]}


def services_need_restart(**kwargs):
    """
    Return the services that still run programs or libraries that an upgrade has replaced; needs dnf and systemd

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.services_need_restart
    """
    if not yumrun.is_dnf():
        raise CommandExecutionError("dnf or dnf5 is required to list outdated services.")
    if not os.path.isdir("/run/systemd/system"):
        raise CommandExecutionError("systemd is required to list outdated services.")
    from thin.utils.system import unitof

    result = {unitof.service(pid) for pid in dnfout.restarting(_run(["--quiet", "needs-restarting"])["stdout"])}
    return sorted(name for name in result if name)


# Held packages


def hold(name=None, pkgs=None, sources=None, normalize=True, **kwargs):
    """
    Keep packages at their version: ``{name: {name, changes, result, comment}}``; needs the versionlock plug-in

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.hold pkgs='["nginx", "redis"]'
    """
    _check_plugin()
    held = list_holds(full=False)

    def lock(target):
        return _run(["versionlock", "add", target])["retcode"] == 0

    return {
        target: pkgholds.hold(target, target in held, lock, __opts__["test"])
        for target in pkgholds.targets(name, pkgs, sources)
    }


def unhold(name=None, pkgs=None, sources=None, **kwargs):
    """
    Let packages be upgraded again: ``{name: {name, changes, result, comment}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.unhold nginx
    """
    _check_plugin()
    held = {}
    for pkg, written in _locks():
        held.setdefault(pkg, []).append(written)

    def unlock(target):
        # yum identifies its locks only by their whole texts
        words = [target] if yumrun.is_dnf() else held[target]
        return _run(["versionlock", "delete"] + words)["retcode"] == 0

    return {
        target: pkgholds.unhold(target, target in held, unlock, __opts__["test"])
        for target in pkgholds.targets(name, pkgs, sources)
    }


def list_holds(pattern=None, full=True):
    """
    Return the locks as yum stores them (``foo-0:1.2-3.*``), or without ``full`` the names of the held packages

    pattern
        A regular expression for names.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_holds full=False
    """
    import re

    _check_plugin()
    held = []
    for pkg, written in _locks():
        shown = written if full else pkg
        if shown and shown not in held and (not pattern or re.match(pattern, pkg)):
            held.append(shown)
    return held


get_locked_packages = list_holds


def _locks():
    if yumrun.program() != "dnf5":
        return dnfout.locks(_run(["--quiet", "versionlock", "list"])["stdout"])
    try:
        with open(LOCKS_OF_DNF5, encoding="utf-8") as stream:
            return dnfout.locks_of_dnf5(stream.read())
    except OSError:
        return []


def _check_plugin():
    program = yumrun.program()
    if program == "tdnf":
        raise SaltInvocationError("Cannot proceed, no versionlock for tdnf")
    if program != "dnf5" and not any(os.path.exists(path) for path in PLUGIN):
        name = "python3-dnf-plugin-versionlock" if program == "dnf" else "yum-plugin-versionlock"
        raise SaltInvocationError("Cannot proceed, %s is not installed." % name)


def _run(args):
    done = yumrun.run(__salt__["cmd.run_all"], __opts__, args)
    if done["retcode"] != 0 and not done["stdout"] and "versionlock" in args:
        raise CommandExecutionError("%s failed: %s" % (" ".join(args), pkgrun.words(done)))
    return done
