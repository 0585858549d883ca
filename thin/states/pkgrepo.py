"""Package repositories that exist with these properties, or do not exist. Salt: states/pkgrepo.py

``managed`` and ``absent`` name a repository of apt by its whole line, one of the other systems by its id.
"""

import os

from thin import detail
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath

__any_arguments__ = True  # also a key of a repository's file
#: arguments of this module and of the package modules, and the keys of files for dnf
__known_arguments__ = (
    "file",
    "comps",
    "architectures",
    "dist",
    "disabled",
    "enabled",
    "comments",
    "clean_file",
    "consolidate",
    "key_url",
    "key_text",
    "keyid",
    "keyid_ppa",
    "keyserver",
    "aptkey",
    "allow_insecure_key",
    "refresh",
    "refresh_db",
    "signedby",
    "trusted",
    "ppa",
    "ppa_auth",
    "copr",
    "uri",
    "uris",
    "suites",
    "types",
    "type",
    "line",
    "repo",
    "saltenv",
    "url",
    "humanname",
    "baseurl",
    "mirrorlist",
    "metalink",
    "gpgcheck",
    "pkg_gpgcheck",
    "repo_gpgcheck",
    "gpgkey",
    "gpgcakey",
    "priority",
    "cost",
    "exclude",
    "excludepkgs",
    "include",
    "includepkgs",
    "module_hotfixes",
    "skip_if_unavailable",
    "sslverify",
    "sslcacert",
    "sslcacertdir",
    "sslclientcert",
    "sslclientkey",
    "sslverifystatus",
    "username",
    "password",
    "proxy",
    "proxy_username",
    "proxy_password",
    "proxy_auth_method",
    "proxy_sslverify",
    "proxy_sslcacert",
    "proxy_sslclientcert",
    "proxy_sslclientkey",
    "metadata_expire",
    "metadata_expire_filter",
    "mirrorlist_expire",
    "bandwidth",
    "throttle",
    "timeout",
    "retries",
    "minrate",
    "ip_resolve",
    "deltarpm",
    "deltarpm_percentage",
    "deltarpm_metadata_percentage",
    "enablegroups",
    "enabled_metadata",
    "fastestmirror",
    "failovermethod",
    "keepalive",
    "keepcache",
    "http_caching",
    "user_agent",
    "countme",
    "max_parallel_downloads",
    "mdpolicy",
    "mddownloadpolicy",
    "protect",
    "autorefresh",
    "cache",
    "gpgautoimport",
    "basedir",
    "strict_config",
    "root",
    "path",
)

#: arguments for the state system, not for the repository
INTERNAL = (
    "fun",
    "state",
    "__env__",
    "__id__",
    "__sls__",
    "order",
    "require",
    "watch",
    "prereq",
    "onchanges",
    "onfail",
    "listen",
    "require_in",
    "watch_in",
    "prereq_in",
    "saltenv",
    "__pub_user",
)


#: arguments that are no keys of a .repo file
NOT_KEYS = ("basedir", "strict_config")


def __virtual__():
    if "pkg.mod_repo" in __salt__:
        return "pkgrepo"
    return False, "pkgrepo: this system's packages have no repositories that can be managed"


def managed(name, ppa=None, copr=None, aptkey=True, **kwargs):
    """The repository exists, with these properties.

    apt: ``name`` is the whole line; ``file``, ``comps``, ``architectures``, ``dist``, ``disabled`` or ``enabled``,
    ``comments``, ``clean_file`` (the file has no other entries), ``consolidate``, ``key_url``, ``key_text`` or
    ``keyid`` with ``keyserver``, ``aptkey`` (use apt-key if it is installed), ``allow_insecure_key``, ``refresh``. yum,
    dnf, zypper: ``humanname``, ``baseurl``, ``mirrorlist`` and the keys of a repository's file.
    """
    ret = {"name": name, "changes": {}, "result": None, "comment": ""}
    enabled, disabled = kwargs.pop("enabled", None), kwargs.pop("disabled", None)
    words = _misused(enabled, disabled, kwargs.pop("allow_insecure_key", True), kwargs)
    if words:
        return _with(ret, False, words)
    _one_key(ret, kwargs)

    apt = __grains__["os_family"] == "Debian"
    on = not _true(disabled) if disabled is not None else enabled is None or _true(enabled)
    kwargs["disabled" if apt else "enabled"] = not on if apt else on
    repo = kwargs["name"] = name
    if apt and ppa is not None:
        repo = "ppa:%s" % ppa
    elif copr is not None and __grains__["os_family"] == "RedHat":
        repo = "copr:%s" % copr
    if not apt and "humanname" in kwargs:
        kwargs["name"] = kwargs.pop("humanname")
    kwargs = {key: value for key, value in kwargs.items() if key not in INTERNAL}

    try:
        before = __salt__["pkg.get_repo"](repo=repo, **kwargs)
        wanted = __salt__["pkg.expand_repo_def"](repo=repo, **kwargs) if apt else dict(kwargs)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return _with(ret, False, "Failed to examine repo '%s': %s" % (name, exc))
    if before and not _to_be_cleaned(name, kwargs):
        before.pop("file", None)  # several states may name the same repository with different files
        wanted.pop("file", None)
        if all(_equal(key, wanted, before, kwargs) for key in wanted):
            return _with(ret, True, "Package repo '%s' already configured" % name)
    if apt and before:
        if "uri" not in kwargs and before["uri"] != wanted["uri"]:
            kwargs["uri"] = wanted["uri"]
        if "uris" not in kwargs and wanted["uris"] and wanted["uris"][0] not in before["uris"]:
            kwargs["uris"] = wanted["uris"]
    if __opts__["test"]:
        ret["changes"] = _differences(wanted, before, wanted) if before else {"repo": name}
        if not ret["changes"]:
            detail.unsure("the return does not tell what it writes")
        return _with(ret, None, _FORESEEN % name)

    try:
        if kwargs.get("clean_file"):
            with open(kwargs["file"], "w", opener=safepath.opener, encoding="utf-8"):
                pass
        if apt:
            __salt__["pkg.mod_repo"](repo, saltenv=__env__, aptkey=aptkey, **kwargs)
        else:
            __salt__["pkg.mod_repo"](repo, **kwargs)
    except (CommandExecutionError, SaltInvocationError, OSError, ValueError) as exc:
        return _with(ret, False, "Failed to configure repo '%s': %s" % (name, exc))
    try:
        after = __salt__["pkg.get_repo"](repo=repo, **kwargs)
    except CommandExecutionError as exc:
        return _with(ret, False, "Failed to confirm config of repo '%s': %s" % (name, exc))
    ret["changes"] = _differences(wanted, before, after) if before else {"repo": repo}
    if ret["changes"]:
        __context__.pop("pkg._avail", None)
    return _with(ret, True, "Configured package repo '%s'" % name)


def _misused(enabled, disabled, insecure, kwargs):
    """The error in the arguments, or None."""
    if "pkg.get_repo" not in __salt__:
        return "Repo management not implemented on this platform"
    if "repo" in kwargs:
        return "'repo' is not a supported argument for this state. The 'name' argument is probably what was intended."
    if enabled is not None and disabled is not None:
        return "Only one of enabled/disabled is allowed"
    if not insecure and str(kwargs.get("key_url", "")).strip().startswith("http:"):
        return "Cannot have 'key_url' using http with 'allow_insecure_key' set to True"
    return ""


_FORESEEN = (
    "Package repo '%s' would be configured. This may cause pkg states to behave differently than stated if this "
    "action is repeated without test=True, due to the differences in the configured repositories."
)


def absent(name, **kwargs):
    """The repository does not exist; with ``keyid``, its key is removed, too.

    apt: ``name`` is the whole line with its architectures, or a part of a longer line.
    """
    ret = {"name": name, "changes": {}, "result": None, "comment": ""}
    if "ppa" in kwargs and __grains__["os"] in ("Ubuntu", "Mint"):
        name = kwargs.pop("ppa")
        name = name if name.startswith("ppa:") else "ppa:" + name
    elif "copr" in kwargs and __grains__["os_family"] == "RedHat":
        name = kwargs.pop("copr")
        name = name if name.startswith("copr:") else "copr:" + name
    with_key = any(kwargs.get(key) is not None for key in ("keyid", "keyid_ppa"))
    if with_key and "pkg.del_repo_key" not in __salt__:
        return _with(ret, False, "Repo key management is not implemented for this platform")
    apt = __grains__["os_family"] == "Debian"
    repo = _without_slash(name) if apt else name
    try:
        repository = __salt__["pkg.get_repo"](repo, **kwargs)
        if repository and apt:  # get_repo does not compare them
            architectures = __salt__["pkg.split_repo_str"](repo)["architectures"]
            repository = set(architectures) == set(repository["architectures"])
    except (CommandExecutionError, SaltInvocationError) as exc:
        return _with(ret, False, "Failed to configure repo '%s': %s" % (name, exc))
    if not repository:
        return _with(ret, True, "Package repo %s is absent" % name)
    if __opts__["test"]:
        words = (
            "Package repo '%s' will be removed. This may cause pkg states to behave differently than stated if this "
            "action is repeated without test=True, due to the differences in the configured repositories."
        )
        return _with(ret, None, words % name)
    try:
        __salt__["pkg.del_repo"](repo=repo, **kwargs)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return _with(ret, False, str(exc))
    if repo in __salt__["pkg.list_repos"]():
        return _with(ret, False, "Failed to remove repo %s" % name)
    ret["changes"]["repo"] = name
    words = "Removed repo %s" % name
    if not with_key:
        return _with(ret, True, words)
    try:
        keyid = __salt__["pkg.del_repo_key"](repo, **kwargs)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return _with(ret, False, "%s, but failed to remove key: %s" % (words, exc))
    ret["changes"]["keyid"] = keyid
    return _with(ret, True, "%s, and keyid %s" % (words, keyid))


# Private functions


def _one_key(ret, kwargs):
    """Warn of a key that is given in more than one way; the first of these is used."""
    given = [
        words
        for words, key in (('"keyid"/"keyserver"', "keyid"), ('"key_url"', "key_url"), ('"key_text"', "key_text"))
        if key in kwargs
    ]
    if len(given) > 1:
        ret["warnings"] = ["%s cannot be used together; only %s is" % (" and ".join(given), given[0])]


def _to_be_cleaned(name, kwargs):
    """Whether ``clean_file`` has to remove anything from the file."""
    if not kwargs.get("clean_file") or not os.path.isfile(kwargs.get("file") or ""):
        return False
    with open(kwargs["file"], encoding="utf-8", errors="replace") as stream:
        lines = [line.strip() for line in stream]
    return any(line and not line.startswith("#") and line != name.strip() for line in lines)


def _equal(key, wanted, before, kwargs):
    """Whether a property of the repository has the wanted value."""
    family = __grains__["os_family"]
    value = wanted[key]
    if key not in before:
        if key == "enabled":
            return family == "RedHat" and _true(value)  # the default
        if family == "RedHat" and key not in NOT_KEYS:  # every other argument is a key of the file
            return value in (None, "", [])
        return key not in ("comps", "key_url")
    if key in ("comps", "key_url"):
        return sorted(value) == sorted(before[key])
    if family == "Debian" and key == "line":
        return wanted["disabled"] or _same_line(value, before[key], kwargs)
    if key == "comments" and family == "RedHat":
        return _comments(value) == _comments(before[key])
    if key == "architectures":
        return set(value or ()) == set(before[key] or ())
    if family in ("RedHat", "Suse") and any(isinstance(one, bool) for one in (value, before[key])):
        return _true(value) == _true(before[key])
    if key == "signedby":
        return (value or "") == (before[key] or "")
    return str(value) == str(before[key])


def _same_line(wanted, line, kwargs):
    line, _, comment = line.partition("#")
    words, have = wanted.split(), line.split()
    if words[:3] + sorted(words[3:]) != have[:3] + sorted(have[3:]):
        return False
    return "comments" not in kwargs or comment.strip() == _joined(kwargs["comments"])


def _joined(given):
    from thin.utils.files import aptsources

    return aptsources.comments(given)


def _without_slash(name):
    from thin.utils.files import aptsources

    return aptsources.without_slash(name)


def _comments(given):
    """The comments of a repository as lines of the file, each with its ``#``."""
    lines = given if isinstance(given, list) else [given]
    return "".join(line if str(line).startswith("#") else "# %s" % line for line in lines)


def _differences(keys, before, after):
    return {
        key: {"new": after.get(key), "old": before.get(key)}
        for key in keys
        if after.get(key) != before.get(key) and (after.get(key) or before.get(key))
    }


def _true(value):
    return value.lower() in ("true", "yes", "on", "1") if isinstance(value, str) else bool(value)


def _with(ret, result, comment):
    ret["result"] = result
    ret["comment"] = comment
    return ret
