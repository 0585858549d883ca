"""Searching, patterns, products and patches: a part of ``pkg``. Salt: modules/zypperpkg.py"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils import data
from thin.utils.programs import pkgrun, zypprun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Suse",)}
__reads__ = (
    "info_available",
    "search",
    "resolve_capabilities",
    "list_patterns",
    "list_installed_patterns",
    "list_patches",
    "list_installed_patches",
    "list_products",
    "list_included",
    "services_need_restart",
)

OEM = "/var/lib/suseRegister/OEM"

_SEARCH = {
    "provides": "--provides",
    "recommends": "--recommends",
    "requires": "--requires",
    "suggests": "--suggests",
    "conflicts": "--conflicts",
    "obsoletes": "--obsoletes",
    "file_list": "--file-list",
    "search_descriptions": "--search-descriptions",
    "case_sensitive": "--case-sensitive",
    "installed_only": "--installed-only",
    "not_installed_only": "--not-installed-only",
    "details": "--details",
}


def __virtual__():
    if __grains__.get("os_family") != "Suse":
        return False, "Module zypper: non SUSE OS not supported by zypper package manager"
    return __virtualname__ if process.which("zypper") else (False, "Module zypper: zypper package manager not found")


def info_available(*names, **kwargs):
    """
    Return ``{name: {field: value}}`` of available packages: version, arch, status, installed, summary, repository …

    refresh : True
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.info_available bash refresh=False
    """
    if not names:
        return {}
    root = kwargs.get("root")
    if data.is_true(kwargs.get("refresh", True)):
        __salt__["pkg.refresh_db"](root=root)
    names, result = sorted(set(names)), {}
    while names:
        result.update(zypprun.information(_run(["info", "-t", "package"] + names[:200], root)["stdout"]))
        names = names[200:]
    return result


def search(criteria, refresh=False, **kwargs):
    """
    Return ``{name: {status, kind, summary, …}}`` of zypper's search results

    match
        exact, words or substrings.
    provides, recommends, requires, suggests, conflicts, obsoletes, file_list, search_descriptions
        Search these in addition to the names.
    case_sensitive, installed_only, not_installed_only
        Restrict the search.
    details
        Add edition, arch and repository.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.search editor match=words details=True
    """
    root = kwargs.get("root")
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](root=root)
    words = ["search"]
    if kwargs.get("match") in ("exact", "words", "substrings"):
        words.append("--match-" + kwargs["match"])
    words += [option for word, option in _SEARCH.items() if kwargs.get(word)]
    done = _run(words + [criteria], root, check=False)
    elements = zypprun.elements(done["stdout"], "solvable")
    if not elements:
        raise CommandExecutionError("No packages found matching '%s'" % criteria)
    return {item["name"]: item for item in elements}


def resolve_capabilities(pkgs, refresh=False, root=None, **kwargs):
    """
    Return the list of packages; a name that is no package is replaced by that of the only package that provides it

    resolve_capabilities : False
        Without it, the list is returned unchanged.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.resolve_capabilities '["w3m_ssl"]' resolve_capabilities=True
    """
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](root=root)
    resolve_capabilities = []
    for item in pkgs:
        name, version = next(iter(item.items())) if isinstance(item, dict) else (item, None)
        if kwargs.get("resolve_capabilities"):
            name = _by_capability(name, root)
        resolve_capabilities.append({name: version} if version else name)
    return resolve_capabilities


def _by_capability(name, root):
    try:
        search(name, root=root, match="exact")
    except CommandExecutionError:
        try:
            providers = search(name, root=root, provides=True, match="exact")
        except CommandExecutionError:
            return name
        if len(providers) == 1:
            return next(iter(providers))
    return name


# Patterns, products, patches


def list_patterns(refresh=False, root=None):
    """
    Return ``{pattern: {installed, summary}}`` of all visible patterns

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_patterns
    """
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](root=root)
    return _with_status("pattern", root)


def list_installed_patterns(root=None):
    """
    Return ``{pattern: {installed, summary}}`` of the installed patterns, including hidden ones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_installed_patterns
    """
    installed_patterns = {name: about for name, about in _with_status("pattern", root).items() if about["installed"]}
    command = ["rpm", "--root", root] if root else ["rpm"]
    command += ["-q", "--provides", "--whatprovides", "pattern()"]
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env=dict(pkgrun.ENVIRONMENT))
    for line in done["stdout"].splitlines():
        key, _, name = [word.strip() for word in line.partition("=")]
        if key == "pattern()" and not name.startswith("."):
            installed_patterns.setdefault(name, {"installed": True, "summary": "Non-visible pattern"})
    return installed_patterns


def list_patches(refresh=False, root=None, **kwargs):
    """
    Return ``{patch: {installed, summary}}`` of all patches

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_patches
    """
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](root=root)
    return _with_status("patch", root)


def list_installed_patches(root=None, **kwargs):
    """
    Return ``{patch: {installed, summary}}`` of the patches that are installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_installed_patches
    """
    return {name: about for name, about in _with_status("patch", root).items() if about["installed"]}


def _with_status(kind, root):
    text = _run(["search", "-t", kind], root, check=False)["stdout"]
    return {
        item["name"]: {"installed": item.get("status") == "installed", "summary": item.get("summary", "")}
        for item in zypprun.elements(text, "solvable")
    }


def list_products(all=False, refresh=False, root=None):
    """
    Return ``[{name, version, release, epoch, arch, vendor, installed, isbase, eol, eol_t, description, …}]``

    all
        Include products of the repositories.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_products all=True
    """
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](root=root)
    words = ["products"] if all else ["--disable-repositories", "products", "-i"]
    products = []
    for attributes, inner in zypprun.blocks(_run(words, root)["stdout"], "product"):
        about = {}
        for key, value in attributes.items():
            if key in ("isbase", "installed"):
                about[key] = value in ("true", "1")
            elif value:
                about[key] = value
        end = zypprun.elements(inner, "endoflife")
        if end:
            about.update(eol=end[0].get("text", ""), eol_t=int(end[0].get("time_t") or 0))
        lines = zypprun.inside(inner, "description").split("\n")
        about["description"] = " ".join(line.strip() for line in lines)
        path = os.path.join((root or "") + OEM, about.get("productline") or "-")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as stream:
                about["release"] = stream.readline().strip() or about.get("release")
        products.append(about)
    return products


def list_included(includes, root=None):
    """
    Return installed items other than packages, in the format of list_pkgs: ``{"kind:name": [{version, release, arch,
    …}]}``

    includes
        Kinds: product, pattern, patch.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_included '["pattern"]'
    """
    result = {}
    for kind in includes:
        if kind == "product":
            for about in list_products(root=root):
                result["product:" + about["name"]] = [_included(about)]
            continue
        names = {"pattern": list_installed_patterns, "patch": list_installed_patches}.get(kind)
        installed = sorted(names(root=root)) if names else []
        if installed:
            text = _run(["info", "-t", kind] + installed, root, xml=False)["stdout"]
            details = zypprun.information(text)
            result.update(("%s:%s" % (kind, name), [_included(details.get(name, {}))]) for name in installed)
    return result


def _included(about):
    words = {key: about.get(key) for key in ("epoch", "release", "arch")}
    if words["epoch"] == "0":
        words["epoch"] = None
    return dict(words, version=about.get("version") or "", install_date=None, install_date_time_t=None)


def services_need_restart(root=None, **kwargs):
    """
    Return the services that still run programs or libraries that an upgrade has replaced

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.services_need_restart
    """
    return _run(["ps", "-sss"], root, xml=False)["stdout"].split()


def _run(args, root, xml=None, check=True):
    xml = args[0] != "info" if xml is None else xml
    return zypprun.run(__salt__["cmd.run_all"], __opts__, args, root, xml, read=True, check=check)
