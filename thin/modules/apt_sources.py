"""Repositories: a part of ``pkg`` on Debian and similar systems. Salt: modules/aptpkg.py

A repository is named by its whole line in the format of a sources.list, also if its file has the format deb822.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import aptsources, safepath
from thin.utils.programs import aptrun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Debian",)}
__reads__ = ("list_repos", "get_repo", "expand_repo_def", "split_repo_str")
__changes__ = ("mod_repo", "del_repo")

KEYRINGS = "/etc/apt/keyrings"
PPA_SYSTEMS = ("Ubuntu", "Mint", "neon")

#: attributes that mod_repo sets from arguments of the same name; a line can have only those of LINE_ONLY
LINE_ONLY = ("uri", "comps", "architectures", "disabled", "file", "dist", "signedby", "trusted")
SETTABLE = LINE_ONLY + ("uris", "suites", "types")


def __virtual__():
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The pkg module could not be loaded: unsupported OS family"


# Repositories


def list_repos(**kwargs):
    """
    ``{uri: [{"type", "uri", "dist", "comps", "line", "file", "disabled", "enabled", "architectures", "signedby",
    "types", "uris", "suites"}]}`` of all entries, one dict for each type, URI and suite of a deb822 stanza.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_repos
    """
    repositories = {}
    for entry in aptsources.AptSources().entries:
        for kind, uri, suite in _each(entry):
            repositories.setdefault(uri, []).append(_described(entry, kind, uri, suite))
    return repositories


def _each(entry):
    if entry.valid:
        for uri in entry.uris:
            for suite in entry.suites:
                for kind in entry.types:
                    yield kind, uri, suite


def _described(entry, kind, uri, suite):
    data = _data(entry)
    data.update(type=kind, uri=uri, dist=suite, line=entry.text.strip(), enabled=not entry.disabled)
    if isinstance(entry, aptsources.Stanza):
        data["line"] = _as_line(entry, kind, uri, suite)
    return data


def _as_line(stanza, kind, uri, suite):
    line = aptsources.Line(" ".join([kind, uri, suite] + stanza.comps))
    line.disabled, line.trusted = stanza.disabled, stanza.trusted
    line.architectures, line.signedby = stanza.architectures, stanza.signedby or ""
    return line.shown()


def _data(entry):
    return {
        "file": entry.path,
        "comps": entry.comps,
        "disabled": entry.disabled,
        "dist": entry.dist,
        "suites": entry.suites,
        "type": entry.type,
        "types": entry.types,
        "uri": entry.uri,
        "uris": entry.uris,
        "line": entry.shown(),
        "architectures": entry.architectures,
        "signedby": entry.signedby,
    }


def get_repo(repo, **kwargs):
    """
    The first entry of list_repos with this line's type, URI and suite, and one of its components; {} if there is none.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.get_repo 'deb https://packages.example.org/app stable contrib'
    """
    repos = list_repos()
    if not repos:
        return {}
    wanted = _parsed(_of_ppa(repo, kwargs.get("ppa_auth")), CommandExecutionError)
    for entries in repos.values():
        for entry in entries:
            if (entry["type"], entry["uri"].rstrip("/"), entry["dist"]) != (
                wanted.type,
                wanted.uri.rstrip("/"),
                wanted.dist,
            ):
                continue
            if not wanted.comps or set(wanted.comps) & set(entry["comps"]):
                return entry
    return {}


def expand_repo_def(repo, file=None, **kwargs):
    """
    The entry that list_repos would return for a line with mod_repo's arguments, for comparison.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.expand_repo_def 'deb http://example.org/debian one main' comps=main,contrib
    """
    line = _parsed(_of_ppa(repo, kwargs.get("ppa_auth")), SaltInvocationError)
    for key in ("architectures", "comps"):
        if key in kwargs:
            setattr(line, key, _listed(kwargs[key]))
    for key in ("uri", "dist", "signedby", "trusted"):
        if key in kwargs:
            setattr(line, key, kwargs[key])
    line.disabled = _true(kwargs.get("disabled", line.disabled))
    line.comment = ""
    if not (file and file.endswith(".sources")):
        line.path = file or line.path
        return _data(line)
    stanza = _stanza(line, file)
    for key in ("types", "uris", "suites"):
        if isinstance(kwargs.get(key), list):
            setattr(stanza, key, kwargs[key])
    kind, uri, suite = next(_each(stanza), (line.type, line.uri, line.dist))
    return dict(_data(stanza), line=_as_line(stanza, kind, uri, suite), signedby=stanza.signedby or "")


def split_repo_str(repo):
    """
    The parts of a line: ``{"type", "uri", "dist", "comps", "architectures", "signedby", "trusted", "invalid"}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.split_repo_str 'deb http://example.org/debian one main'
    """
    line = _parsed(repo, SaltInvocationError)
    keys = ("type", "architectures", "uri", "dist", "comps", "signedby", "trusted")
    return dict({key: getattr(line, key) for key in keys}, invalid=not line.valid)


def mod_repo(repo, saltenv="base", aptkey=True, **kwargs):
    """
    Change an entry as given by the line and the arguments, or add it: ``{repo: result of get_repo}``.

    ``file``, ``comps`` and ``architectures`` (comma-separated), ``disabled``, ``enabled``, ``dist``, ``uri``,
    ``trusted``, ``comments``, ``consolidate``; ``key_url``, ``key_text`` or ``keyid`` with ``keyserver`` bring a key;
    ``refresh`` (default True) updates the lists afterwards. Raises SaltInvocationError and CommandExecutionError.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.mod_repo 'deb http://example.org/debian one main' comps=main,contrib
    """
    refresh = kwargs.get("refresh_db", kwargs.get("refresh", True))
    aptkey = bool(aptkey and process.which("apt-key"))
    if repo.startswith("ppa:"):
        return _add_ppa(repo, refresh)
    sources = aptsources.AptSources()
    if kwargs.get("consolidate"):
        _consolidate(sources)
    wanted = _parsed(repo, SaltInvocationError)
    if not wanted.valid:
        raise SaltInvocationError(
            "Name %s is not valid. This must be the complete repo entry as seen in the sources file" % repo
        )
    _bring_keys(wanted, saltenv, aptkey, kwargs)

    values = {key: kwargs[key] for key in SETTABLE if key in kwargs}
    values["comps"] = _listed(kwargs["comps"]) if "comps" in kwargs else list(wanted.comps)
    values["architectures"] = _listed(kwargs["architectures"]) if "architectures" in kwargs else wanted.architectures
    if "disabled" in kwargs or "enabled" in kwargs:
        values["disabled"] = _true(kwargs["disabled"]) if "disabled" in kwargs else not _true(kwargs["enabled"])
    values["signedby"] = wanted.signedby
    comps = wanted.comps + [comp for comp in values["comps"] if comp not in wanted.comps]
    entry = _to_change(sources, wanted, comps, values["architectures"], kwargs)
    if entry is None:
        if not aptkey and not wanted.signedby and not aptsources.boolean(kwargs.get("trusted", wanted.trusted or "no")):
            raise SaltInvocationError("missing 'signedby' or 'trusted' option when apt-key is missing")
        entry = _new(repo, wanted, kwargs.get("file"))
        sources.entries.append(entry)
    elif isinstance(entry, aptsources.Line):  # the options are those of the new line
        entry.options = dict(wanted.options)
    if "comments" in kwargs:
        entry.comment = aptsources.comments(kwargs["comments"])
    _set(entry, values)
    if isinstance(entry, aptsources.Line):
        entry.uri = wanted.uri
    sources.save()
    if refresh:
        __salt__["pkg.refresh_db"]()
    return {repo: get_repo(repo)}


def _new(repo, wanted, path):
    if path and path.endswith(".sources"):
        return _stanza(wanted, path)
    return aptsources.Line(repo, path or aptsources.LIST)


def _stanza(line, path):
    stanza = aptsources.Stanza("", path)
    stanza.types, stanza.uris, stanza.suites, stanza.comps = line.types, line.uris, line.suites, line.comps
    if line.signedby:
        stanza.signedby = line.signedby
    if line.architectures:
        stanza.architectures = line.architectures
    if line.trusted:
        stanza.trusted = True
    if line.disabled:
        stanza.disabled = True
    return stanza


def _to_change(sources, wanted, comps, architectures, kwargs):
    """The existing entry for the wanted one, or None."""
    for entry in sources.entries:
        if not entry.valid or not entry.type:
            continue
        same = (
            wanted.type in entry.types
            and wanted.uri.rstrip("/") in [uri.rstrip("/") for uri in entry.uris]
            and wanted.dist in entry.suites
        )
        if not same and not (kwargs.get("dist") in entry.suites and kwargs.get("type") in entry.types):
            continue
        if not entry.comps or set(comps) & set(entry.comps) or architectures != entry.architectures:
            return entry
    return None


def _set(entry, values):
    line = isinstance(entry, aptsources.Line)
    for key, value in values.items():
        if key == "file":
            if value.endswith(".sources") != line:  # an entry cannot change its format
                entry.path = value
        elif key == "architectures" and not value and not entry.architectures:
            continue
        elif not line or key in LINE_ONLY:
            setattr(entry, key, None if value == "" and not line else value)


def _consolidate(sources):
    """Move all entries to sources.list, and merge those that differ only in components."""
    merged = {}
    for entry in sources.entries:
        for kind, uri, suite in _each(entry):
            line = aptsources.Line(_described(entry, kind, uri, suite)["line"])
            line.comment = ""
            key = (tuple(line.architectures), line.disabled, line.type, line.uri, line.dist)
            if key in merged:
                merged[key].comps += [comp for comp in line.comps if comp not in merged[key].comps]
            else:
                merged[key] = line
    others = {entry.path for entry in sources.entries if entry.valid} - {aptsources.LIST}
    sources.entries = list(merged.values())
    sources.save()
    _unlink(others)


def del_repo(repo, **kwargs):
    """
    Remove an entry, or the components that the line names, and its file if that is in sources.list.d and has no other
    entry.

    The package lists are updated. Returns a sentence that describes what was done. Raises CommandExecutionError if
    there is no such entry.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.del_repo 'deb https://packages.example.org/app stable contrib'
    """
    sources = aptsources.AptSources()
    wanted = _parsed(_of_ppa(repo, kwargs.get("ppa_auth")), SaltInvocationError)
    touched = []
    for entry in [one for one in sources.entries if one.valid]:
        if (
            wanted.type in entry.types
            and entry.architectures == wanted.architectures
            and wanted.uri.rstrip("/") in [uri.rstrip("/") for uri in entry.uris]
            and wanted.dist in entry.suites
            and _shorten(entry, wanted)
        ):
            touched.append(entry.path)
            if not entry.suites or (wanted.comps and not entry.comps):
                sources.entries.remove(entry)
    if not touched:
        raise CommandExecutionError("Repo %s doesn't exist in the sources.list(s)" % repo)
    sources.save()
    left = {entry.path for entry in sources.entries if entry.valid}
    words = ""
    for path in dict.fromkeys(touched):
        if path not in left and path.startswith(aptsources.PARTS + "/"):
            _unlink([path])
            words += "File %s containing repo '%s' has been removed." % (path, repo)
        else:
            words += "Repo '%s' has been removed from %s.\n" % (repo, path)
    __salt__["pkg.refresh_db"]()
    return words


def _shorten(entry, wanted):
    """Remove the suite from an entry that has just these components, or the components from one that has more."""
    have, gone = set(entry.comps), set(wanted.comps)
    if have == gone:
        entry.suites = [suite for suite in entry.suites if suite != wanted.dist]
        return True
    if have & gone:
        entry.comps = [comp for comp in entry.comps if comp not in gone]
        return True
    return False


# PPAs


def _of_ppa(repo, login=None):
    """The line for the short name of a PPA, on systems that have PPAs; other lines unchanged."""
    if not repo.startswith("ppa:") or __grains__.get("os") not in PPA_SYSTEMS:
        return repo
    owner, _, archive = repo[4:].partition("/")
    host = "https://%s@private-ppa.launchpad.net" % login if login else "http://ppa.launchpad.net"
    return "deb %s/%s/%s/ubuntu %s main" % (host, owner, archive, __grains__["oscodename"])


def _add_ppa(repo, refresh):
    if __grains__.get("os") not in PPA_SYSTEMS:
        raise CommandExecutionError('cannot parse "ppa:" style repo definitions: %s' % repo)
    present = get_repo(repo)
    if present:
        return {repo: present}
    if not process.which("apt-add-repository"):
        raise CommandExecutionError(
            "Unable to add PPA '%s': apt-add-repository is missing. Install software-properties-common, or write the "
            "archive's whole line as the name, with signed-by and key_url" % repo[4:]
        )
    done = _run(["apt-add-repository", "-y", repo])
    if done["retcode"] != 0:
        raise CommandExecutionError(
            "Unable to add PPA '%s'. 'apt-add-repository -y %s' exited with status %s: '%s'"
            % (repo[4:], repo, done["retcode"], done["stderr"] or done["stdout"])
        )
    if refresh:
        __salt__["pkg.refresh_db"]()
    return {repo: done}


# Private functions


def _bring_keys(wanted, saltenv, aptkey, kwargs):
    keydir = os.path.dirname(wanted.signedby) or None
    keyfile = os.path.basename(wanted.signedby) or None
    if "keyid" in kwargs:
        server = kwargs.get("keyserver")
        if not kwargs["keyid"] or not server:
            raise SaltInvocationError("both keyserver and keyid options required.")
        for key in kwargs["keyid"] if isinstance(kwargs["keyid"], list) else [kwargs["keyid"]]:
            key = hex(key) if isinstance(key, int) else key  # YAML reads digits as a number
            if not __salt__["pkg.add_repo_key"](
                keyid=key, keyserver=server, aptkey=aptkey, keydir=keydir, keyfile=keyfile
            ):
                raise CommandExecutionError("Error: Could not add key: %s" % key)
    elif "key_url" in kwargs:
        url = kwargs["key_url"]
        __salt__["pkg.add_repo_key"](
            path=url, saltenv=saltenv, aptkey=aptkey, keydir=keydir, keyfile=keyfile, failhard=True
        )
    elif "key_text" in kwargs:
        __salt__["pkg.add_repo_key"](
            text=kwargs["key_text"], aptkey=aptkey, keydir=keydir, keyfile=keyfile, failhard=True
        )


def _parsed(repo, error):
    try:
        return aptsources.Line(repo)
    except ValueError:
        raise error("Error: repo '%s' is not a well formatted definition" % repo)


def _listed(text):
    return [word.strip() for word in (text if isinstance(text, list) else str(text).split(","))]


def _unlink(paths):
    for path in paths:
        try:
            safepath.unlink(path)
        except OSError:
            pass


def _run(command, **options):
    return aptrun.run(__salt__["cmd.run_all"], __opts__, command, **options)


def _true(value):
    return value.lower() in ("true", "yes", "on", "1") if isinstance(value, str) else bool(value)
