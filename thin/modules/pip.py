"""Python packages, by pip. Salt: modules/pip.py

``bin_env`` is a virtual environment, a python or a pip; without it the Python that this runs on. ``user``: the user
that pip runs as. pip asks no questions, and does not check for a newer pip.
"""

import os
import re
import sys

from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.log import getLogger
from thin.utils.packages import pep440

__func_alias__ = {"list_": "list"}
__reads__ = (
    "normalize",
    "version",
    "list",
    "freeze",
    "list_freeze_parse",
    "list_upgrades",
    "is_installed",
    "upgrade_available",
    "list_all_versions",
)
__changes__ = ("install", "uninstall", "upgrade")

log = getLogger(__name__)

ENVIRONMENT = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "LC_ALL": "C.UTF-8"}


def __virtual__():
    return "pip"


def normalize(name):
    """The normalized name of a package, equal for all spellings."""
    return pep440.normalize(name)


def _pip(bin_env):
    if not bin_env:
        return [os.path.normpath(sys.executable), "-m", "pip"]
    if os.path.isdir(bin_env):
        names = ["python", "bin/python", "bin/python3"]
        folder = os.path.join(bin_env, "bin")
        if os.path.isdir(folder):
            match = [name for name in sorted(os.listdir(folder)) if re.match(r"python\d+(\.\d+)?\Z", name)]
            names += ["bin/" + name for name in match]
        for path in (os.path.join(bin_env, name) for name in names):
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return [os.path.normpath(path), "-m", "pip"]
        raise CommandNotFoundError("Could not find a pip binary in virtualenv %s" % bin_env)
    if not os.access(bin_env, os.X_OK):
        raise CommandNotFoundError("Access denied to %s, could not find a pip binary" % bin_env)
    if not os.path.isfile(bin_env):
        raise CommandExecutionError("Could not find a pip binary within %s" % bin_env)
    return [os.path.normpath(bin_env)] + (["-m", "pip"] if "python" in os.path.basename(bin_env) else [])


def _run(bin_env, words, cwd=None, user=None, env_vars=None):
    env = dict(ENVIRONMENT)
    if bin_env and os.path.isdir(bin_env):
        env["VIRTUAL_ENV"] = bin_env
    env.update({str(key): str(value) for key, value in (env_vars or {}).items()})
    cwd = cwd or (bin_env if bin_env and os.path.isdir(bin_env) else None)
    done = __salt__["cmd.run_all"](
        _pip(bin_env) + words, cwd=cwd, runas=user, env=env, python_shell=False, ignore_retcode=True
    )
    if done["retcode"] and done["stderr"].rstrip().endswith("No module named pip"):
        raise CommandNotFoundError("Could not find a `pip` binary")
    return done


def version(bin_env=None, cwd=None, user=None):
    """pip's own version. Raises CommandNotFoundError without pip."""
    done = _run(bin_env, ["--version"], cwd, user)
    if done["retcode"] != 0:
        raise CommandNotFoundError("Could not find a `pip` binary")
    match = re.match(r"pip (\S+)", done["stdout"])
    return match.group(1) if match else None


def list_(prefix=None, bin_env=None, user=None, cwd=None, env_vars=None, **kwargs):
    """``{normalized name: version}`` of installed packages whose names begin with ``prefix``."""
    packages = _listed(bin_env, ["list", "--format=json"], cwd, user, env_vars)
    start = normalize(prefix) if prefix else ""
    entries = {normalize(one["name"]): one["version"] for one in packages}
    return {name: number for name, number in entries.items() if name.startswith(start)}


def _listed(bin_env, words, cwd, user, env_vars=None):
    from thin.utils.files import serial

    done = _run(bin_env, words, cwd, user, env_vars)
    if done["retcode"] != 0:
        raise CommandExecutionError(done["stderr"], info=done)
    try:
        return serial.loads(done["stdout"])
    except ValueError:
        raise CommandExecutionError("Invalid JSON", info=done)


def freeze(bin_env=None, user=None, cwd=None, use_vt=False, env_vars=None, **kwargs):
    """The installed packages as lines of a requirements file."""
    done = _run(bin_env, ["freeze", "--all"], cwd, user, env_vars)
    if done["retcode"] != 0:
        raise CommandExecutionError(done["stderr"], info=done)
    return done["stdout"].splitlines()


def list_freeze_parse(prefix=None, bin_env=None, user=None, cwd=None, env_vars=None, **kwargs):
    """``{normalized name: version}`` from ``pip freeze``; the version of a package from a repository is its URL."""
    result = {"pip": version(bin_env, cwd)}
    for line in freeze(bin_env=bin_env, user=user, cwd=cwd, env_vars=env_vars, **kwargs):
        if line.startswith(("-f", "#", "-e hg+not trust")):
            continue
        text = line[3:] if line.startswith("-e ") else line
        place, mark, name = text.partition("#egg=")
        if mark:
            result[normalize(name)] = place
            continue
        name, mark, number = text.partition("===" if "===" in text else "==")
        if not mark:
            log.error("Can't parse line '%s'", line)
            continue
        result[normalize(name)] = number
    start = normalize(prefix) if prefix else ""
    return {name: number for name, number in result.items() if name.startswith(start)}


def list_upgrades(bin_env=None, user=None, cwd=None):
    """``{name: "version [kind of file]"}`` of packages with a newer version."""
    packages = _listed(bin_env, ["list", "--outdated", "--format=json"], cwd, user)
    return {one["name"]: "%s [%s]" % (one["latest_version"], one["latest_filetype"]) for one in packages}


def is_installed(pkgname, bin_env=None, user=None, cwd=None):
    """Whether a package is installed."""
    return normalize(pkgname) in list_(bin_env=bin_env, user=user, cwd=cwd)


def upgrade_available(pkg, bin_env=None, user=None, cwd=None):
    """Whether a package has a newer version."""
    return normalize(pkg) in [normalize(name) for name in list_upgrades(bin_env, user, cwd)]


def list_all_versions(
    pkg,
    bin_env=None,
    include_alpha=False,
    include_beta=False,
    include_rc=False,
    user=None,
    cwd=None,
    index_url=None,
    extra_index_url=None,
    find_links=None,
    no_index=False,
):
    """The available versions, oldest first; None if there are none. ``find_links`` and ``no_index`` as for install."""
    number = pep440.key(version(bin_env, cwd, user) or "0")
    if number >= pep440.key("21.2"):
        words, pattern = ["index", "versions", pkg], r"Available versions: (.*)"
        words += ["--pre"] if include_alpha or include_beta or include_rc else []
    else:  # these old versions list them if none matches
        words, pattern = ["install", "%s==versions" % pkg], r"\(from versions: ([^)]*)\)"
        words += ["--use-deprecated=legacy-resolver"] if number >= pep440.key("20.3") else []
    words += ["--no-index"] if no_index else []
    for link in _several(find_links):
        words += ["--find-links", link]
    done = _run(bin_env, words, cwd, user, _urls(None, index_url, extra_index_url, None))
    match = re.search(pattern, "%s\n%s" % (done["stdout"], done["stderr"]))
    versions = [one.strip() for one in match.group(1).split(",")] if match else []
    off = [word for word, on in (("a", include_alpha), ("b", include_beta), ("rc", include_rc)) if not on]
    chosen = [one for one in versions if one and one != "none" and not any(word in one for word in off)]
    return sorted(chosen, key=pep440.key) or None


def install(
    pkgs=None,
    requirements=None,
    bin_env=None,
    use_wheel=False,
    no_use_wheel=False,
    log=None,
    proxy=None,
    timeout=None,
    editable=None,
    find_links=None,
    index_url=None,
    extra_index_url=None,
    no_index=False,
    mirrors=None,
    build=None,
    target=None,
    download=None,
    download_cache=None,
    source=None,
    upgrade=False,
    force_reinstall=False,
    ignore_installed=False,
    exists_action=None,
    no_deps=False,
    no_install=False,
    no_download=False,
    global_options=None,
    install_options=None,
    user=None,
    cwd=None,
    pre_releases=False,
    cert=None,
    allow_all_external=False,
    allow_external=None,
    allow_unverified=None,
    process_dependency_links=False,
    saltenv="base",
    env_vars=None,
    use_vt=False,
    trusted_host=None,
    no_cache_dir=False,
    extra_args=None,
    cache_dir=None,
    no_binary=None,
    disable_version_check=False,
    **kwargs,
):
    """Install packages: the return of cmd.run_all. A comma in a version's conditions is written ``;``.

    Arguments for old versions of pip (wheels, mirrors, external) are accepted and ignored.
    """
    if no_index and (index_url or extra_index_url):
        raise CommandExecutionError("'no_index' and ('index_url' or 'extra_index_url') are mutually exclusive.")
    if exists_action and exists_action.lower() not in ("s", "i", "w", "b"):
        raise CommandExecutionError(
            "The exists_action pip option only supports the values s, i, w, and b. '%s' is not valid." % exists_action
        )
    names = [one.replace(";", ",") for one in _several(pkgs)]
    if not names and not requirements and not editable:
        return {"retcode": 0, "stdout": "No packages to install."}
    words = ["install"] + _required(requirements, saltenv)
    for option, value in (
        ("--log", log),
        ("--timeout", timeout),
        ("--target", target),
        ("--src", source),
        ("--cert", cert),
        ("--cache-dir", download_cache or cache_dir),
        ("--exists-action", exists_action),
    ):
        words += [option, str(value)] if value else []
    for option, on in (
        ("--no-index", no_index),
        ("--upgrade", upgrade),
        ("--force-reinstall", force_reinstall),
        ("--pre", pre_releases),
        ("--ignore-installed", ignore_installed),
        ("--no-deps", no_deps),
        ("--no-cache-dir", no_cache_dir),
    ):
        words += [option] if on else []
    for option, values in (
        ("--find-links", find_links),
        ("--global-option", global_options),
        ("--install-option", install_options),
        ("--trusted-host", trusted_host),
        ("--no-binary", no_binary),
    ):
        for value in _several(values):
            words += [option, value]
    words += names
    for entry in _several(editable):
        if not entry.startswith((".", "file://", "/")) and "egg=" not in entry:
            raise CommandExecutionError("You must specify an egg for this editable")
        words += ["--editable", entry]
    return _run(bin_env, words + _extra(extra_args), cwd, user, _urls(env_vars, index_url, extra_index_url, proxy))


def uninstall(
    pkgs=None,
    requirements=None,
    bin_env=None,
    log=None,
    proxy=None,
    timeout=None,
    user=None,
    cwd=None,
    saltenv="base",
    use_vt=False,
    extra_args=None,
):
    """Uninstall packages: the return of cmd.run_all."""
    words = ["uninstall", "-y"] + _required(requirements, saltenv)
    for option, value in (("--log", log), ("--timeout", timeout)):
        words += [option, str(value)] if value else []
    return _run(bin_env, words + _several(pkgs) + _extra(extra_args), cwd, user, _urls(None, None, None, proxy))


def upgrade(bin_env=None, user=None, cwd=None, use_vt=False):
    """Upgrade all packages: ``{"changes": {name: {"old", "new"}}, "result", "comment"}``."""
    ret = {"changes": {}, "result": True, "comment": ""}
    before = list_(bin_env=bin_env, user=user, cwd=cwd)
    for name in list_upgrades(bin_env, user, cwd):
        done = _run(bin_env, ["install", "-U", name], cwd, user)
        if done["retcode"] != 0:
            ret["result"] = False
            ret["comment"] += done["stderr"]
    after = list_(bin_env=bin_env, user=user, cwd=cwd)
    for name in sorted(set(before) | set(after)):
        if before.get(name) != after.get(name):
            ret["changes"][name] = {"old": before.get(name, ""), "new": after.get(name, "")}
    return ret


# Private functions


def _urls(env_vars, index_url, extra_index_url, proxy):
    """The environment, with URLs that may contain a password, so that process lists do not show them."""
    env = {"PIP_INDEX_URL": index_url, "PIP_EXTRA_INDEX_URL": extra_index_url, "PIP_PROXY": proxy}
    return dict({key: value for key, value in env.items() if value}, **(env_vars or {}))


def _several(given):
    if not given:
        return []
    return [str(one).strip() for one in (given if isinstance(given, (list, tuple)) else str(given).split(","))]


def _required(requirements, saltenv):
    words = []
    for one in _several(requirements):
        path = __salt__["cp.cache_file"](one, saltenv) if "://" in one else one
        if not path:
            raise CommandExecutionError("pip requirements file '%s' not found" % one)
        words += ["--requirement", path]
    return words


def _extra(given):
    words = []
    for one in given or ():
        for key, value in one.items() if isinstance(one, dict) else [(one, None)]:
            words += [str(key)] + ([str(value)] if value is not None else [])
    return words
