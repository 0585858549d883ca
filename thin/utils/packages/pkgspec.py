"""Names, versions and version conditions of packages in an SLS. Pure; the provider's compare function is an argument.

A version condition is ``1.2``, ``1.2*``, ``>=1.2`` or several joined by commas (all must hold): ``>=1.2,<2,!=1.5``.
"""

import fnmatch
import re

_CONDITION = re.compile(r"\s*(<=>|!=|>=|<=|==|>>|<<|<>|>|<|=)?\s*([^<>=]+)$")

#: Operator -> the results of a three-way comparison for which it holds.
_HOLDS = {
    "<": (-1,),
    "<<": (-1,),
    "<=": (-1, 0),
    "==": (0,),
    ">=": (0, 1),
    ">": (1,),
    ">>": (1,),
    "!=": (-1, 1),
    "<>": (-1, 1),
}


def names_and_versions(pkgs, normalize=None):
    """``{"a": None, "b": "1.2"}`` from ``["a", {"b": "1.2"}]``, with ``normalize`` applied to the names; {} if
    malformed.

    Raises ValueError if a package is named twice. Salt: pkg_resource._repack_pkgs
    """
    if isinstance(pkgs, str):
        pkgs = pkgs.split(",")
    if isinstance(pkgs, dict):
        pkgs = [{name: version} for name, version in pkgs.items()]
    if not isinstance(pkgs, (list, tuple)):
        return {}
    packed = {}
    for item in pkgs:
        if isinstance(item, dict):
            if len(item) != 1:
                return {}
            ((name, version),) = item.items()
        elif isinstance(item, (list, tuple)):
            return {}
        else:
            name, version = item, None
        name = normalize(str(name)) if normalize else str(name)
        packed[name] = None if version is None else str(version)
    if len(packed) != len(pkgs):
        raise ValueError(
            "You are passing a list of packages that contains duplicated packages names: %s. This cannot be processed. "
            "In case you are targeting different versions of the same package, please target them individually"
            % (pkgs,)
        )
    return packed


def names_and_sources(sources, normalize=None):
    """``{"a": "salt://a.deb"}`` from ``[{"a": "salt://a.deb"}]``; {} if malformed. Salt: pkg_resource.pack_sources"""
    packed = {}
    if not isinstance(sources, (list, tuple)):
        return {}
    for item in sources:
        if not isinstance(item, dict) or len(item) != 1:
            return {}
        ((name, source),) = item.items()
        packed[normalize(name) if normalize else name] = source
    return packed


def split_condition(text):
    """``(">=", "1.2")`` from ``">= 1.2"``; ``("", "1.2")`` without an operator. Salt: utils.pkg.split_comparison"""
    match = _CONDITION.match(text.strip())
    return (match.group(1) or "", match.group(2).strip()) if match else ("", text.strip())


def conditions(text):
    """``[(">=", "1"), ("<", "2")]`` from ``">=1,<2"``; equality is ``==``."""
    pairs = [split_condition(part) for part in text.split(",") if part.strip()]
    return [("==" if operator in ("", "=") else operator, version) for operator, version in pairs]


def has_comparison(text):
    """Whether a condition begins with ``<`` or ``>``, so that several versions can meet it."""
    return text.startswith(("<", ">"))


def holds(left, operator, right, compare, ignore_epoch=False):
    """Whether ``left operator right``. ``compare(a, b, ignore_epoch=)`` returns -1, 0, 1, or None for unknown."""
    return operator in _HOLDS and compare(left, right, ignore_epoch=ignore_epoch) in _HOLDS[operator]


def fulfills(installed, spec, compare, ignore_epoch=None, allow_updates=False):
    """Whether any of the ``installed`` versions meets all conditions of ``spec``.

    For equality, the epoch is ignored if the condition has none, unless ``ignore_epoch`` is given. With
    ``allow_updates`` newer versions meet a single wanted version, too. Salt: states.pkg._fulfills_version_string
    """
    wanted = conditions(spec)
    if allow_updates and len(wanted) == 1 and wanted[0][0] == "==":
        wanted = [(">=", wanted[0][1])]
    return any(all(_meets(version, pair, compare, ignore_epoch) for pair in wanted) for version in installed)


def best_match(available, spec, compare, ignore_epoch=False):
    """The first of the ``available`` versions (newest first) that meets ``spec``, or None."""
    return next((version for version in available if fulfills([version], spec, compare, ignore_epoch)), None)


def _meets(version, condition, compare, ignore_epoch):
    operator, wanted = condition
    if operator == "==" and fnmatch.fnmatch(version, wanted):
        return True
    if ignore_epoch is None:
        ignore_epoch = "<" not in operator and ">" not in operator and ":" not in wanted
    return holds(version, operator, wanted, compare, ignore_epoch)


def label(name, version):
    """A package as comments show it: ``a``, ``a=1.2``, ``a>=1.2``."""
    if not version:
        return name
    return name + ("" if version.startswith(("<", ">", "=")) else "=") + version


def differences(old, new):
    """``{name: {"old": …, "new": …}}`` of the differences between two ``{name: version}``; "" for a missing name."""
    return {
        name: {"old": old.get(name, ""), "new": new.get(name, "")}
        for name in sorted(set(old) | set(new))
        if old.get(name) != new.get(name)
    }
