"""Python packages installed, removed or up to date, by pip. Salt: states/pip_state.py"""

from thin import detail
from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.utils.packages import pep440

__virtualname__ = "pip"

#: messages of pip about requirements that are already installed
UNCHANGED = (
    "Requirement already satisfied",
    "Requirement already up-to-date",
    "Requirement not upgraded",
    "Collecting",
    "Cloning",
    "Cleaning up...",
    "Looking in",
)


def __virtual__():
    return __virtualname__ if "pip.list" in __salt__ else (False, "pip module could not be loaded")


def installed(
    name,
    pkgs=None,
    pip_bin=None,
    requirements=None,
    bin_env=None,
    use_wheel=False,
    no_use_wheel=False,
    log=None,
    proxy=None,
    timeout=None,
    repo=None,
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
    install_options=None,
    global_options=None,
    user=None,
    cwd=None,
    pre_releases=False,
    cert=None,
    allow_all_external=False,
    allow_external=None,
    allow_unverified=None,
    process_dependency_links=False,
    env_vars=None,
    use_vt=False,
    trusted_host=None,
    no_cache_dir=False,
    cache_dir=None,
    no_binary=None,
    extra_args=None,
    **kwargs,
):
    """The packages (``name``, or ``pkgs``), with their versions' conditions, are installed in ``bin_env``.

    ``requirements``, ``editable``: a requirements file, or a checkout, instead. ``upgrade``: the newest that the
    conditions allow. changes: ``{"name==version": "Installed"}``.
    """
    bin_env = bin_env or pip_bin
    if pkgs and not isinstance(pkgs, list):
        return _ret(name, False, "pkgs argument must be formatted as a list")
    wanted = [one if isinstance(one, str) else " ".join(next(iter(one.items()))) for one in pkgs or [name]]
    ret = _ret(";".join(wanted), None, "")
    where = {"bin_env": bin_env, "user": user, "cwd": cwd}
    options = {
        "log": log,
        "proxy": proxy,
        "timeout": timeout,
        "editable": editable,
        "find_links": find_links,
        "index_url": index_url,
        "extra_index_url": extra_index_url,
        "no_index": no_index,
        "target": target,
        "download_cache": download_cache,
        "source": source,
        "upgrade": upgrade,
        "force_reinstall": force_reinstall,
        "ignore_installed": ignore_installed,
        "exists_action": exists_action,
        "no_deps": no_deps,
        "cert": cert,
        "install_options": install_options,
        "global_options": global_options,
        "pre_releases": pre_releases,
        "env_vars": env_vars,
        "trusted_host": trusted_host,
        "no_cache_dir": no_cache_dir,
        "cache_dir": cache_dir,
        "no_binary": no_binary,
        "extra_args": extra_args,
        "requirements": requirements,
        "saltenv": __env__,
    }
    if user and "user.info" in __salt__ and not __salt__["user.info"](user):
        return dict(ret, result=False, comment="User %s does not exist" % user)
    try:
        __salt__["pip.version"](bin_env)
        if requirements or editable:
            return _from_files(ret, requirements, editable, where, options)
        return _packages(ret, wanted, where, options)
    except (CommandExecutionError, CommandNotFoundError) as exc:
        return dict(ret, result=False, comment="Error installing '%s': %s" % (name, exc))


def _packages(ret, wanted, where, options):
    parsed, problems = [], []
    for one in wanted:
        try:
            parsed.append((one,) + pep440.requirement(one))
        except ValueError as exc:
            single = "=" in one and "==" not in one and not any(char in one for char in "<>~!")
            problems.append(
                "Invalid version specification in package %s. '=' is not supported, use '==' instead." % one
                if single
                else "pip raised an exception while parsing '%s': %s" % (one, exc)
            )
    if problems:
        return dict(ret, result=False, comment="\n".join(problems))
    have = __salt__["pip.list"](env_vars=options["env_vars"], **where)
    missing, notes = [], []
    for one, name, conditions in parsed:
        note = _is_met(one, name, conditions, have, where, options) if name else None
        if note:
            notes.append(note)
        else:
            missing.append((one, name))
    if not missing:
        last = "All specified packages are already installed" + (" and up-to-date" if options["upgrade"] else "")
        return dict(ret, result=True, comment="\n".join(notes + [last]))
    if __opts__["test"]:
        words = "Python package %s is set to be installed" % missing[0][0]
        if len(parsed) > 1:
            words = "\n".join(["Python package(s) set to be installed:"] + [one for one, _, _ in parsed])
        return dict(ret, comment=words)
    done = __salt__["pip.install"](pkgs=[one.replace(",", ";") for one, _ in missing], **dict(options, **where))
    if done["retcode"] != 0:
        words = "Failed to install packages: %s. Error: %s %s"
        words %= ", ".join(one for one, _ in missing), done["stdout"], done["stderr"]
        return dict(ret, result=False, comment="\n".join(notes + [words]))
    after = __salt__["pip.list"](env_vars=options["env_vars"], **where)
    listed, lost = _said_to_be_there(done["stdout"]), []
    for one, name in missing:
        if not name:
            ret["changes"]["%s==???" % one] = "Installed"
        elif name not in after and not options["target"]:
            lost.append(
                "There was no error installing package '%s' although it does not show when calling 'pip.freeze'." % one
            )
        elif name in after and (have.get(name) != after[name] or name not in listed):
            ret["changes"]["%s==%s" % (name, after[name])] = "Installed"
    notes += lost or ["All packages were successfully installed"]
    return dict(ret, result=True, comment="\n".join(notes))


def _is_met(one, name, conditions, have, where, options):
    """A comment if no change is needed, otherwise None."""
    if options["ignore_installed"] or options["force_reinstall"] or name not in have:
        return None
    text = "Python package %s was already installed" % one
    if not options["upgrade"]:
        return text if _fits(have[name], conditions) else None
    suffixes = "".join(number for _, number in conditions)
    versions = __salt__["pip.list_all_versions"](
        name,
        include_alpha="a" in suffixes,
        include_beta="b" in suffixes,
        include_rc="rc" in suffixes,
        index_url=options["index_url"],
        extra_index_url=options["extra_index_url"],
        find_links=options["find_links"],
        no_index=options["no_index"],
        **where,
    )
    fitting = [number for number in versions or () if _fits(number, conditions)]
    if not fitting:
        return (
            "Python package %s was already installed and\nthe available upgrade doesn't fulfills the version "
            "requirements" % name
        )
    return text if pep440.key(fitting[-1]) == pep440.key(have[name]) else None


def _fits(version, conditions):
    return all(pep440.holds(version, operator, number) for operator, number in conditions)


def _said_to_be_there(output):
    import re

    starts = ("Requirement already satisfied: ", "Requirement already up-to-date: ")
    result = [line.split(":", 1)[1].split()[0] for line in output.split("\n") if line.startswith(starts)]
    return {pep440.normalize(re.split(r"[=!<>~@\[]", one)[0]) for one in result}


def _from_files(ret, requirements, editable, where, options):
    words = []
    if __opts__["test"]:
        if requirements:
            words.append("Requirements file '%s' will be processed." % requirements)
        detail.unsure("pip decides when it reads the files whether something is installed")
        if editable:
            words.append(
                'Package will be installed in editable mode (i.e. setuptools "develop mode") from %s.' % editable
            )
        return dict(ret, comment=" ".join(words))
    done = __salt__["pip.install"](pkgs="", **dict(options, **where))
    if done["retcode"] != 0:
        if requirements:
            words.append('Unable to process requirements file "%s"' % requirements)
        if editable:
            words.append("Unable to install from VCS checkout %s." % editable)
        words.append("Error: %s %s" % (done["stdout"], done["stderr"]))
        return dict(ret, result=False, comment=" ".join(words))
    if requirements:
        if any(not line.strip().startswith(UNCHANGED) for line in done["stdout"].split("\n")):
            ret["changes"]["requirements"] = True
            words.append("Successfully processed requirements file %s." % requirements)
        else:
            words.append("Requirements were already installed.")
    if editable:
        ret["changes"]["editable"] = True
        words.append("Package successfully installed from VCS checkout %s." % editable)
    return dict(ret, result=True, comment=" ".join(words))


def removed(
    name, requirements=None, bin_env=None, log=None, proxy=None, timeout=None, user=None, cwd=None, use_vt=False
):
    """The package is not installed in ``bin_env``. changes: ``{name: "Removed"}``."""
    ret = _ret(name, True, "Package is not installed.")
    try:
        if pep440.normalize(name) not in __salt__["pip.list"](bin_env=bin_env, user=user, cwd=cwd):
            return ret
        if __opts__["test"]:
            return dict(ret, result=None, comment="Package %s is set to be removed" % name)
        done = __salt__["pip.uninstall"](
            pkgs=name,
            requirements=requirements,
            bin_env=bin_env,
            log=log,
            proxy=proxy,
            timeout=timeout,
            user=user,
            cwd=cwd,
        )
    except (CommandExecutionError, CommandNotFoundError) as exc:
        return dict(ret, result=False, comment="Error uninstalling '%s': %s" % (name, exc))
    if done["retcode"] != 0:
        words = "Could not remove package. %s" % (done["stderr"] or done["stdout"])
        return dict(ret, result=False, comment=words.strip())
    return dict(ret, changes={name: "Removed"}, comment="Package was successfully removed.")


def uptodate(name, bin_env=None, user=None, cwd=None, use_vt=False):
    """All packages in ``bin_env`` have their newest version. changes: ``{name: {"old", "new"}}``."""
    ret = _ret(name, False, "Failed to update.")
    try:
        if not __salt__["pip.list_upgrades"](bin_env=bin_env, user=user, cwd=cwd):
            return dict(ret, result=True, comment="System is already up-to-date.")
        if __opts__["test"]:
            return dict(ret, result=None, comment="System update will be performed")
        done = __salt__["pip.upgrade"](bin_env=bin_env, user=user, cwd=cwd)
    except (CommandExecutionError, CommandNotFoundError) as exc:
        return dict(ret, comment=str(exc))
    if not done["result"]:
        return dict(ret, **done)
    return dict(ret, result=True, changes=done["changes"], comment="Upgrade successful.")


def _ret(name, result, comment):
    return {"name": name, "result": result, "comment": comment, "changes": {}}
