"""Code that package providers share: parsing of targets, formats of version lists. Salt: modules/pkg_resource.py"""

import fnmatch
import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.packages import pkgspec

__usual__ = True
__reads__ = (
    "pack_sources",
    "parse_targets",
    "version",
    "add_pkg",
    "sort_pkglist",
    "stringify",
    "version_clean",
    "version_compare",
    "check_extra_requirements",
    "format_pkg_list",
    "format_version",
)


def pack_sources(sources, normalize=True):
    """
    ``[{"foo": "salt://foo.deb"}]``, or its YAML, as ``{"foo": "salt://foo.deb"}``; {} when malformed.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.pack_sources '[{"app": "salt://app/app_2.1_all.deb"}]'
    """
    if isinstance(sources, str):
        from thin.utils.files import serial

        try:
            sources = serial.elsewhere("deserialize", "yaml", sources, {})
        except ValueError:
            return {}
    return pkgspec.names_and_sources(sources, _normalizer(normalize))


def parse_targets(name=None, pkgs=None, sources=None, saltenv="base", normalize=True, **kwargs):
    """
    ``({name: version or None}, "repository")``; for sources ``([paths], "file")``; (None, None) if malformed.

    ``advisory_ids`` gives ``([ids], "advisory")``; an empty list stands for the name.

    Sources with a URL are fetched; raises CommandExecutionError when that fails, SaltInvocationError for relative paths
    and for a package that is named twice.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.parse_targets curl,nginx
    """
    if pkgs and (sources or "advisory_ids" in kwargs):
        return None, None
    if "advisory_ids" in kwargs:
        return kwargs["advisory_ids"] or [name], "advisory"
    normalizer = _normalizer(normalize)
    if pkgs:
        try:
            packed = pkgspec.names_and_versions(pkgs, normalizer)
        except ValueError as exc:
            raise SaltInvocationError(str(exc))
        return (packed, "repository") if packed else (None, None)
    if sources:
        packed = pack_sources(sources, normalize)
        if not packed:
            return None, None
        return [_local_path(pkg, source, saltenv) for pkg, source in packed.items()], "file"
    if name:
        version = kwargs.get("version")
        return {(normalizer(item) if normalizer else item): version for item in name.split(",")}, "repository"
    return None, None


def version(*names, **kwargs):
    """
    The installed version of one package ("" when absent), or ``{name: version}`` of several; names may be globs.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.version nginx 'linux-image-*'
    """
    as_list = kwargs.pop("versions_as_list", False)
    versions, globbed = {}, False
    installed = __salt__["pkg.list_pkgs"](versions_as_list=True, **kwargs) if names else {}
    for name in names:
        if "*" in name:
            globbed = True
            versions.update((match, installed[match]) for match in fnmatch.filter(installed, name))
        else:
            versions[name] = installed.get(name, [])
    if not as_list:
        stringify(versions)
    if len(versions) == 1 and not globbed:
        return next(iter(versions.values()))
    return versions


def add_pkg(pkgs, name, pkgver):
    """
    Add one version of a package to ``{name: [versions]}``, in place.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.add_pkg '{}' nginx 1.22.1-9
    """
    pkgs.setdefault(name, []).append(pkgver)


def sort_pkglist(pkgs):
    """
    Sort the version lists of ``{name: [versions]}`` and remove duplicates, in place.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.sort_pkglist '{"nginx": ["1.22.1-9", "1.18.0-6"]}'
    """
    for name in pkgs:
        pkgs[name] = sorted(set(pkgs[name]))


def stringify(pkgs):
    """
    ``{name: ["1", "2"]}`` to ``{name: "1,2"}``, in place.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.stringify '{"nginx": ["1.18.0-6", "1.22.1-9"]}'
    """
    for name in pkgs:
        pkgs[name] = ",".join(pkgs[name])


def version_clean(verstr):
    """
    The version without suffixes of the provider; unchanged if the provider has none.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.version_clean 1.2
    """
    if verstr and "pkg.version_clean" in __salt__:
        return __salt__["pkg.version_clean"](verstr)
    return verstr


def version_compare(ver1, oper, ver2, ignore_epoch=False):
    """
    Whether ``ver1 oper ver2``, in the provider's order of versions.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.version_compare 1.2 '>' 1.1
    """
    return pkgspec.holds(ver1, oper, ver2, __salt__["pkg.version_cmp"], ignore_epoch)


def check_extra_requirements(pkgname, pkgver):
    """
    Whether the provider's own conditions (such as use flags) hold; True if it has none.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.check_extra_requirements nginx 1.22.1-9
    """
    if pkgver and "pkg.check_extra_requirements" in __salt__:
        return __salt__["pkg.check_extra_requirements"](pkgname, pkgver)
    return True


def format_pkg_list(packages, versions_as_list, attr):
    """
    ``{name: "version"}`` or ``{name: [versions]}`` of ``{name: [{"epoch", "version", "release", "arch", …}]}``.

    With ``attr``, a list of names or ``"all"``: ``{name: [these attributes]}``, version and arch included; names then
    have no architecture if an attribute has it.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.format_pkg_list '{"curl": [{"epoch": "", "version": "8.1", "release": "2"}]}' 1 0
    """
    if attr:
        return _with_attributes(packages, attr)
    result = {
        name: [format_version(one["epoch"], one["version"], one["release"]) for one in several]
        for name, several in packages.items()
    }
    if not versions_as_list:
        stringify(result)
    return result


def format_version(epoch, version, release):
    """
    ``epoch:version-release`` without missing parts.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg_resource.format_version '' 1.2 3
    """
    full = "%s:%s" % (epoch, version) if epoch else version
    return "%s-%s" % (full, release) if release else full


_ATTRIBUTES = ("epoch", "version", "release", "arch", "install_date", "install_date_time_t")


def _with_attributes(packages, attr):
    wanted = [key for key in _ATTRIBUTES if attr == "all" or key in attr or key in ("version", "arch")]
    split = __salt__["pkg.parse_arch"] if "pkg.parse_arch" in __salt__ else None
    with_attributes = {}
    for name, several in packages.items():
        shown = [{key: one[key] for key in wanted if key in one} for one in several]
        parsed = split(name) if split else {"name": name, "arch": None}
        shown_arch = parsed["name"] and any(one.get("arch") == parsed["arch"] for one in shown)
        with_attributes.setdefault(parsed["name"] if shown_arch else name, []).extend(shown)
    return with_attributes


def _normalizer(normalize):
    return __salt__["pkg.normalize_name"] if normalize and "pkg.normalize_name" in __salt__ else None


def _local_path(pkg, source, saltenv):
    if "://" in source:
        path = __salt__["cp.cache_file"](source, saltenv)
        if not path:
            raise CommandExecutionError("Unable to cache source %s for package %s" % (source, pkg))
        return path
    if not os.path.isabs(source):
        raise SaltInvocationError(
            "Path %s for package %s is either not absolute or an invalid protocol" % (source, pkg)
        )
    return source
