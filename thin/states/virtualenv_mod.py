"""Virtual environments of Python, and packages that pip installs there. Salt: states/virtualenv_mod.py"""

import os

from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.utils.packages import pep440

__virtualname__ = "virtualenv"


def __virtual__():
    return __virtualname__ if "virtualenv.create" in __salt__ else (False, "virtualenv module could not be loaded")


def managed(
    name,
    venv_bin=None,
    requirements=None,
    system_site_packages=False,
    distribute=False,
    use_wheel=False,
    clear=False,
    python=None,
    extra_search_dir=None,
    never_download=None,
    prompt=None,
    user=None,
    cwd=None,
    index_url=None,
    extra_index_url=None,
    pre_releases=False,
    no_deps=False,
    pip_download=None,
    pip_download_cache=None,
    pip_exists_action=None,
    pip_ignore_installed=False,
    proxy=None,
    use_vt=False,
    env_vars=None,
    no_use_wheel=False,
    pip_upgrade=False,
    pip_pkgs=None,
    pip_no_cache_dir=False,
    pip_cache_dir=None,
    process_dependency_links=False,
    no_binary=None,
    **kwargs,
):
    """There is a virtual environment at the path ``name``, with the packages of ``requirements`` and ``pip_pkgs``.

    ``clear``: create it again each time. Other arguments are those of virtualenv.create and pip.install. changes:
    ``new`` (Python's version), ``packages: {"new": [...], "old": [...]}``, and if it was cleared ``old``,
    ``cleared_packages``.
    """
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    interpreter = os.path.join(name, "bin", "python")
    exists = os.path.exists(interpreter)
    wanted = _requirements(requirements)
    if wanted is None:
        return dict(ret, result=False, comment="pip requirements file '%s' not found" % requirements)
    if __opts__["test"]:
        if not exists:
            return dict(ret, result=None, comment="Virtualenv %s is set to be created" % name)
        if clear:
            words = "Virtualenv %s is set to be cleared" % name
            return dict(ret, result=None, changes=_before(name, interpreter), comment=words)
        return dict(ret, comment="Virtualenv %s is already created" % name)
    if exists and not clear:
        ret["comment"] = "virtualenv exists"
    else:
        if exists:
            ret["changes"] = _before(name, interpreter)
        how = {"venv_bin": venv_bin, "system_site_packages": system_site_packages, "distribute": distribute}
        how.update(clear=clear, python=python, extra_search_dir=extra_search_dir, never_download=never_download)
        words = _failed(name, dict(how, prompt=prompt, user=user, **kwargs))
        if words is not None:
            return dict(ret, result=False, comment=words)
        ret["changes"]["new"] = _version(interpreter)
        ret["comment"] = "Cleared existing virtualenv" if clear else "Created new virtualenv"
    trouble = _unsupported(name, use_wheel, no_use_wheel, no_binary)
    if trouble:
        return dict(ret, result=False, comment=trouble)
    if not wanted and not pip_pkgs:
        return ret
    first = wanted[0] if wanted else ""
    if first and not os.path.isabs(first):
        cwd = os.path.dirname(os.path.abspath(first))
    how = {key: kwargs[key] for key in ("trusted_host", "extra_args", "cert", "timeout") if key in kwargs}
    how.update(pkgs=pip_pkgs, requirements=wanted or None, no_binary=no_binary, cwd=cwd, index_url=index_url)
    how.update(extra_index_url=extra_index_url, download=pip_download, download_cache=pip_download_cache)
    how.update(pre_releases=pre_releases, exists_action=pip_exists_action, ignore_installed=pip_ignore_installed)
    how.update(upgrade=pip_upgrade, no_deps=no_deps, proxy=proxy, env_vars=env_vars)
    how.update(no_cache_dir=pip_no_cache_dir, cache_dir=pip_cache_dir, saltenv=__env__)
    return _installed(ret, name, user, how)


def _failed(name, how):
    """Create the environment: None, or the error of the program, which may be empty."""
    try:
        done = __salt__["virtualenv.create"](name, **how)
    except (CommandExecutionError, CommandNotFoundError) as exc:
        return "Failed to create virtualenv: %s" % exc
    return done["stdout"] + done["stderr"] if done["retcode"] != 0 else None


def _installed(ret, name, user, how):
    """The return after pip has installed the requirements."""
    try:
        before = set(__salt__["pip.freeze"](bin_env=name, user=user))
        done = __salt__["pip.install"](bin_env=name, user=user, **how)
        after = set(__salt__["pip.freeze"](bin_env=name, user=user))
    except (CommandExecutionError, CommandNotFoundError) as exc:
        return dict(ret, result=False, comment="%s\n%s" % (ret["comment"], exc))
    if done["retcode"] != 0:
        ret["result"] = False
        ret["comment"] = "%s\n%s\n%s" % (ret["comment"], done["stdout"], done["stderr"])
    if after != before:
        new, old = sorted(after - before), sorted(before - after)
        ret["changes"]["packages"] = {"new": new or "", "old": old or ""}
    return ret


manage = managed


def _requirements(given):
    """Local paths of the files; None if one is missing on the file server."""
    paths = []
    for one in given.split(",") if isinstance(given, str) else given or ():
        one = one.strip()
        if one.startswith("salt://"):
            one = __salt__["cp.cache_file"](one, __env__)
            if not one:
                return None
        paths.append(one)
    return paths


def _version(interpreter):
    # Python 2 prints it to stderr
    done = __salt__["cmd.run_all"]([interpreter, "-V"], python_shell=False)
    return (done["stdout"] or done["stderr"]).strip()


def _before(name, interpreter):
    return {"cleared_packages": __salt__["pip.freeze"](bin_env=name), "old": _version(interpreter)}


def _unsupported(name, use_wheel, no_use_wheel, no_binary):
    """An error text about an option that the environment's pip does not support, otherwise None."""
    if not (use_wheel or no_use_wheel or no_binary):
        return None
    version = __salt__["pip.version"](bin_env=name)
    for option, on in (("use_wheel", use_wheel), ("no_use_wheel", no_use_wheel)):
        if on and not pep440.key("1.4") <= pep440.key(version) <= pep440.key("9.0.3"):
            words = "The '%s' option is only supported in pip between 1.4 and 9.0.3. " % option
            return words + "The version of pip detected was %s." % version
    if no_binary and pep440.key(version) < pep440.key("7.0.0"):
        words = "The 'no_binary' option is only supported in pip 7.0.0 and newer. The version of pip detected was %s."
        return words % version
    return None
