"""Packages of FreeBSD and DragonFly by pkg. Salt: modules/pkgng.py

No command asks questions, and all wait for pkg's lock. Most functions take ``jail`` (a jail's name or id), ``chroot``
(a directory to change root to) or ``root`` (another system's root directory). Locks are in pkgng_locks.py, functions
that return pkg's own output in pkgng_tools.py.
"""

from thin.utils import data
from thin.utils.outputs import pkgngout
from thin.utils.packages import pkgspec
from thin.utils.programs import pkgngrun, pkgrun

__virtualname__ = "pkg"
__parts__ = ("pkgng_locks", "pkgng_tools")
__fits__ = {"os": ("FreeBSD",), "kernel": ("DragonFly",)}
__usual__ = True
__reads__ = (
    "version_cmp",
    "normalize_name",
    "list_pkgs",
    "version",
    "info",
    "latest_version",
    "available_version",
    "upgrade_available",
    "list_repo_pkgs",
    "list_upgrades",
)
__changes__ = ("refresh_db", "update", "install", "remove", "delete", "purge", "upgrade")

DATABASES = ("/var/db/pkg/local.sqlite", "/var/db/pkg/local.sqlite-wal")
QUERY = "%n\t%v\t%o"


def __virtual__():
    reason = pkgngrun.refused(__grains__)
    return (False, reason) if reason else __virtualname__


# Installed and available packages


def version_cmp(pkg1, pkg2, ignore_epoch=False, **kwargs):
    """
    Return -1, 0 or 1 as version ``pkg1`` is older than, equal to or newer than ``pkg2``; None if pkg cannot compare
    them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version_cmp 1.26.2 1.26.2_1,3
    """
    if str(pkg1) == str(pkg2):
        return 0
    output = _run(["version", "--test-version", str(pkg1), str(pkg2)])["stdout"].strip()
    return {"<": -1, "=": 0, ">": 1}.get(output)


def normalize_name(name):
    """
    Return the name of the installed package for an origin such as ``devel/git``; other names are returned unchanged

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.normalize_name devel/git
    """
    if "/" not in name:
        return name
    return next((pkg for pkg, about in list_pkgs(with_origin=True).items() if about["origin"] == name), name)


def list_pkgs(versions_as_list=False, jail=None, chroot=None, root=None, with_origin=False, **kwargs):
    """
    Return ``{name: "version"}`` of the installed packages

    versions_as_list
        ``{name: [versions]}``.
    with_origin
        ``{name: {origin, version}}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_pkgs chroot=/jails/app
    """
    if any(data.is_true(kwargs.get(word)) for word in ("removed", "purge_desired")):
        return {}
    place = pkgngrun.place(jail, chroot, root)

    def read():
        return pkgngout.installed(pkgngrun.run(__salt__, __opts__, place, ["query", "-a", QUERY])["stdout"])

    paths = [(chroot or root or "") + path for path in DATABASES] if not jail else ()
    installed = pkgrun.remembered(__context__, "pkg.list_pkgs%s" % ".".join(place), paths, read)
    as_list = data.is_true(versions_as_list)
    packages = {name: [number] if as_list else number for name, (number, _) in installed.items()}
    if data.is_true(with_origin):
        return {name: {"origin": installed[name][1], "version": number} for name, number in packages.items()}
    return packages


def version(*names, **kwargs):
    """
    Return the installed version of a package ("" when absent), or ``{name: version}`` of several; names may be globs

    with_origin
        ``{name: {origin, version}}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version nginx jail=app
    """
    with_origin = data.is_true(kwargs.pop("with_origin", False))
    versions = __salt__["pkg_resource.version"](*names, **kwargs)
    if not with_origin:
        return versions
    versions = versions if isinstance(versions, dict) else {names[0]: versions}
    places = {key: kwargs[key] for key in ("jail", "chroot", "root") if key in kwargs}
    installed = list_pkgs(with_origin=True, **places)
    return {
        name: {"origin": installed.get(name, {}).get("origin", ""), "version": one} for name, one in versions.items()
    }


info = version


def latest_version(*names, **kwargs):
    """
    Return the version that an install would give, "" if none is newer; ``{name: version}`` of several

    names
        Names, or origins such as ``devel/git``.
    refresh : False
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.latest_version vim devel/git
    """
    if not names:
        return ""
    jail, chroot, root = [kwargs.get(word) for word in ("jail", "chroot", "root")]
    if data.is_true(kwargs.get("refresh", False)):
        refresh_db(jail, chroot, root)
    words = ["rquery", "-U"] + (["-r", kwargs["fromrepo"]] if kwargs.get("fromrepo") else [])
    done = _run(words + [QUERY] + list(names), jail, chroot, root)
    installed = {} if kwargs.get("show_installed") else list_pkgs(jail=jail, chroot=chroot, root=root)
    latest = dict.fromkeys(names, "")
    for name, number, origin in pkgngout.offered(done["stdout"]):
        for asked in (name, origin):
            if asked in latest and (not latest[asked] or version_cmp(number, latest[asked]) == 1):
                newer = name not in installed or version_cmp(number, installed[name]) == 1
                latest[asked] = number if newer else latest[asked]
    return latest[names[0]] if len(latest) == 1 else latest


available_version = latest_version


def upgrade_available(name, **kwargs):
    """
    Whether a newer version of the package is available

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade_available vim
    """
    return latest_version(name, **kwargs) != ""


def list_repo_pkgs(*args, **kwargs):
    """
    Return ``{name: [versions]}`` that the repositories offer

    args
        Names or origins.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_repo_pkgs vim
    """
    packages = {}
    for name, number, origin in pkgngout.offered(_run(["rquery", "-U", QUERY] + list(args))["stdout"]):
        for asked in {name, origin} & set(args) if args else [name]:
            if number not in packages.setdefault(asked, []):
                packages[asked].append(number)
    return packages


def list_upgrades(refresh=True, **kwargs):
    """
    Return ``{name: new version}`` of the packages that an upgrade would change

    refresh : True
        Update the lists first.
    fromrepo
        Only this repository.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_upgrades
    """
    words = ["upgrade", "--dry-run", "--quiet"] + ([] if data.is_true(refresh) else ["--no-repo-update"])
    words += ["--repository", kwargs["fromrepo"]] if kwargs.get("fromrepo") else []
    done = _run(words, *[kwargs.get(word) for word in ("jail", "chroot", "root")])
    return {name: row["version"]["new"] for name, row in pkgngout.plan(done["stdout"])["upgrade"].items()}


# Changes


def refresh_db(jail=None, chroot=None, root=None, force=False, **kwargs):
    """
    Update the lists; returns whether that worked

    force
        Download them even if they seem to be up to date.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.refresh_db force=True
    """
    pkgrun.refreshed(__context__, __opts__)
    return _run(["update"] + (["-f"] if force else []), jail, chroot, root)["retcode"] == 0


update = refresh_db


def install(
    name=None,
    fromrepo=None,
    pkgs=None,
    sources=None,
    jail=None,
    chroot=None,
    root=None,
    orphan=False,
    force=False,
    glob=False,
    local=False,
    dryrun=False,
    quiet=False,
    reinstall_requires=False,
    regex=False,
    pcre=False,
    batch=False,
    **kwargs,
):
    """
    Install packages: ``{name: {old, new}}`` of all changes

    name
        A package or an origin; ``version`` is its version.
    pkgs
        Names, or ``{name: version}``.
    sources
        ``{name: path or URL of a package file}``.
    fromrepo
        The repository to take them from.
    orphan
        Mark them as installed automatically, as dependencies.
    force
        Install packages again that are already installed.
    glob, regex, pcre
        Names are patterns.
    local
        Do not update the lists.
    dryrun
        Change nothing.
    quiet
        Less output.
    reinstall_requires
        Also reinstall the packages that depend on them.
    batch
        Packages' scripts must not ask questions.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.install pkgs='["vim", "devel/git"]' fromrepo=FreeBSD
    """
    more = {key: kwargs[key] for key in ("version", "saltenv", "normalize") if key in kwargs}
    params, kind = __salt__["pkg_resource.parse_targets"](name, pkgs, sources, **more)
    if not params:
        return {}
    force = force or kwargs.get("reinstall", False)
    letters = {
        "y": True,
        "A": orphan,
        "f": force,
        "g": glob,
        "U": local,
        "n": dryrun,
        "q": quiet,
        "R": reinstall_requires,
        "x": regex,
        "X": pcre,
    }
    letters = {letter: data.is_true(on) for letter, on in letters.items()}
    if kind == "file":
        words = ["add"] + pkgngout.options({letter: letters[letter] for letter in "Afq"}) + list(params)
        if letters["n"]:
            return " ".join(["pkg"] + words)
    else:
        words = ["install"] + (["-r", fromrepo] if fromrepo else []) + pkgngout.options(letters)
        words += ["%s-%s" % (pkg, number) if number else pkg for pkg, number in params.items()]
    env = {"BATCH": "true"} if data.is_true(batch) else None

    def act():
        done = _run(words, jail, chroot, root, env)
        return [pkgrun.words(done)] if done["retcode"] != 0 else []

    return pkgrun.changed(
        lambda: list_pkgs(jail=jail, chroot=chroot, root=root), act, "Problem encountered installing package(s)"
    )


def remove(
    name=None,
    pkgs=None,
    jail=None,
    chroot=None,
    root=None,
    all_installed=False,
    force=False,
    glob=False,
    dryrun=False,
    recurse=False,
    regex=False,
    pcre=False,
    **kwargs,
):
    """
    Remove packages: ``{name: {old, new: ""}}``

    name, pkgs
        Names or origins.
    all_installed
        All packages.
    force
        Even if other packages depend on them.
    recurse
        Also remove the packages that depend on them.
    glob, regex, pcre
        Names are patterns.
    dryrun
        Change nothing.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.remove devel/git recurse=True
    """
    params = __salt__["pkg_resource.parse_targets"](name, pkgs)[0] or {}
    installed = list_pkgs(jail=jail, chroot=chroot, root=root, with_origin=True)
    patterns = any(data.is_true(word) for word in (glob, regex, pcre, all_installed))
    targets = []
    for target in params:
        of_origin = [pkg for pkg, about in installed.items() if "/" in target and about["origin"] == target]
        targets += of_origin or ([target] if target in installed or patterns else [])
    if not targets:
        return {}
    letters = {
        "a": all_installed,
        "f": force,
        "g": glob,
        "n": dryrun,
        "y": not data.is_true(dryrun),
        "R": recurse,
        "x": regex,
        "X": pcre,
    }
    words = ["delete"] + pkgngout.options({letter: data.is_true(on) for letter, on in letters.items()})

    def act():
        done = _run(words + ([] if data.is_true(all_installed) else targets), jail, chroot, root)
        return [pkgrun.words(done)] if done["retcode"] != 0 else []

    return pkgrun.changed(
        lambda: list_pkgs(jail=jail, chroot=chroot, root=root), act, "Problem encountered removing package(s)"
    )


delete = remove
purge = remove


def upgrade(*names, **kwargs):
    """
    Upgrade all packages, or only these: ``{name: {old, new}}``

    names, pkgs
        Names.
    fromrepo
        Only from this repository.
    force
        Install all again.
    local
        Do not update the lists.
    fetchonly
        Only download.
    dryrun
        Change nothing.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade
    """
    places = [kwargs.get(word) for word in ("jail", "chroot", "root")]
    dryrun = data.is_true(kwargs.get("dryrun", False))
    letters = {
        "f": kwargs.get("force"),
        "U": kwargs.get("local"),
        "F": kwargs.get("fetchonly"),
        "n": dryrun,
        "y": not dryrun,
    }
    words = ["upgrade"] + pkgngout.options(letters)
    words += ["--repository", kwargs["fromrepo"]] if kwargs.get("fromrepo") else []
    words += list(names) + list(pkgspec.names_and_versions(kwargs.get("pkgs") or []))
    before = list_pkgs(False, *places)
    done = _run(words, *places)
    return pkgrun.upgraded(before, done, list_pkgs(False, *places))


def _run(args, jail=None, chroot=None, root=None, env=None):
    return pkgngrun.run(__salt__, __opts__, pkgngrun.place(jail, chroot, root), args, env)
