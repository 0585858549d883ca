"""Salt's options of a remote: ``gitfs_*`` and ``git_pillar_*`` globally, the same names without prefix per remote.

Salt: salt.utils.gitfs.GitProvider, salt.fileserver.gitfs, salt.pillar.git_pillar.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pushsalt.errors import ConfigError, in_words
from pushsalt.git.access import Login
from pushsalt.git.address import Address, is_ref, is_sha, parse_address, with_credentials
from pushsalt.model import Secret
from pushsalt.nearest import nearest
from pushsalt.trust import Limit

Role = Literal["gitfs", "git_pillar"]

ANY_ENV: Final = "__env__"
REF_TYPES: Final = ("branch", "tag", "sha")
REFSPECS: Final = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")

#: Options of a remote; all except name, saltenv and all_saltenvs also exist as ``gitfs_*`` or ``git_pillar_*``.
_LOGIN: Final = ("user", "password", "privkey", "pubkey", "passphrase", "insecure_auth")
_SHARED: Final = (
    "name",
    "root",
    "mountpoint",
    "base",
    "ref_types",
    "all_saltenvs",
    "disable_saltenv_mapping",
    "fallback",
    "refspecs",
    "ssl_verify",
    "proxy",
    "update_interval",
    "depth",
    "filter",
    "renderers",
    *_LOGIN,
)
#: Renderers that `pushsalt formula add` allows: they do not run Python code of the file.
DATA_RENDERERS: Final = ("jinja", "yaml", "json")
PARAMETERS: Final[Mapping[Role, tuple[str, ...]]] = {
    "gitfs": (*_SHARED, "saltenv", "saltenv_whitelist", "saltenv_blacklist"),
    "git_pillar": (*_SHARED, "env"),
}
_BOOLS: Final = ("ssl_verify", "insecure_auth", "disable_saltenv_mapping")
_WORDS: Final = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0", "", "none"), False),
}
_NUMBERS: Final = ("update_interval", "depth")
_LISTS: Final = ("refspecs", "ref_types", "saltenv_whitelist", "saltenv_blacklist", "renderers")

_REFSPEC = re.compile(r"\+?(?P<from>[^-+:\s^][^:\s]*):(?P<to>refs/[^:\s]+)")
_FILTER = re.compile(r"|blob:none|blob:limit=[0-9]+[kmg]?|tree:[0-9]+")


@dataclass(frozen=True, eq=False)
class Remote:
    """One remote with all of its options, with defaults.

    ``saltenvs``: the explicitly mapped saltenvs, name -> {ref, root, mountpoint}; those of the remote override the
    global ones. ``branch`` and ``env`` are options of git_pillar.
    """

    role: Role
    address: Address
    name: str = ""
    root: str = ""
    mountpoint: str = ""
    base: str = "master"
    saltenvs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ref_types: tuple[str, ...] = REF_TYPES
    all_saltenvs: str | None = None
    disable_saltenv_mapping: bool = False
    fallback: str = ""
    refspecs: tuple[str, ...] = REFSPECS
    update_interval: int = 60
    depth: int = 1
    filter: str = ""
    login: Login = field(default_factory=Login)
    saltenv_whitelist: tuple[str, ...] = ()
    saltenv_blacklist: tuple[str, ...] = ()
    branch: str = ""
    env: str = ""
    #: the only renderers that its files may use; None: those of the configuration
    renderers: frozenset[str] | None = None

    @property
    def limit(self) -> Limit | None:
        """The trust limit of its files; None for no limit."""
        return None if self.renderers is None else Limit(self.renderers, f"the git remote {self.shown}")

    @property
    def shown(self) -> str:
        """The name in messages: the option ``name``, or the URL."""
        return self.name or self.address.shown

    @property
    def key(self) -> tuple[Any, ...]:
        """The options that identify its copy in the cache: remotes with equal keys share a copy."""
        return (self.address.url, *sorted(self.refspecs), self.depth, self.filter)

    # saltenvs, for gitfs

    def is_exposed(self, saltenv: str) -> bool:
        """Whether saltenv_whitelist and saltenv_blacklist (globs or full regular expressions) allow it."""
        if any(_means(pattern, saltenv) for pattern in self.saltenv_blacklist):
            return False
        return not self.saltenv_whitelist or any(_means(pattern, saltenv) for pattern in self.saltenv_whitelist)

    def ref(self, saltenv: str) -> str | None:
        """The branch, tag or hash of a saltenv; None if this remote does not have it."""
        if self.all_saltenvs is not None:
            return self.all_saltenvs
        if saltenv == "base":
            return self.base
        mapped = self.saltenvs.get(saltenv, {}).get("ref")
        return mapped or (None if self.disable_saltenv_mapping else saltenv)

    def place(self, saltenv: str) -> tuple[str, str]:
        """(root in the repository, mountpoint in the file server) of a saltenv."""
        own = self.saltenvs.get(saltenv, {})
        return own.get("root", self.root), own.get("mountpoint", self.mountpoint)

    def envs_of(self, branches: Iterable[str], tags: Iterable[str]) -> set[str]:
        """The saltenvs of a repository with these refs."""
        envs = {"base"} if is_sha(self.base) else set()
        mapped: dict[str, list[str]] = {}
        for saltenv, own in self.saltenvs.items():
            if "ref" in own:
                mapped.setdefault(own["ref"], []).append(saltenv)
                envs.add(saltenv)
        refs = [*(branches if "branch" in self.ref_types else ()), *(tags if "tag" in self.ref_types else ())]
        for ref in refs:
            if ref in mapped:
                envs.update(mapped[ref])
            elif ref == self.base:
                envs.add("base")
            elif not self.disable_saltenv_mapping:
                envs.add(ref)
        return {saltenv for saltenv in envs if self.is_exposed(saltenv)}

    def named_refs(self) -> list[str]:
        """The refs that the options name, in no particular order."""
        refs = [self.all_saltenvs, self.fallback, *(own.get("ref") for own in self.saltenvs.values())]
        if self.role == "git_pillar":
            refs += [self.branch if self.branch != ANY_ENV else self.base]
        elif self.all_saltenvs is None:
            refs.append(self.base)
        return list(dict.fromkeys(ref for ref in refs if ref))


def gitfs_remotes(opts: Mapping[str, Any]) -> list[Remote]:
    """The remotes of ``gitfs_remotes``, in order. Raises ConfigError."""
    entries = opts.get("gitfs_remotes") or []
    if not isinstance(entries, list | tuple):
        raise ConfigError("`gitfs_remotes` must be a list of remotes", hint="write  - URL  for each")
    return [_remote("gitfs", entry, opts) for entry in entries]


def pillar_remotes(entries: Iterable[Any], opts: Mapping[str, Any]) -> list[Remote]:
    """The remotes of one ``- git:`` entry of ``ext_pillar``, in order. Raises ConfigError."""
    return [_remote("git_pillar", entry, opts) for entry in entries]


def pillar_entries(opts: Mapping[str, Any]) -> list[list[Any]]:
    """The values of all ``git`` entries of ``ext_pillar``."""
    entries = []
    for source in opts.get("ext_pillar") or ():
        if isinstance(source, Mapping) and "git" in source:
            below = source["git"]
            entries.append(list(below) if isinstance(below, list | tuple) else [below])
    return entries


def _remote(role: Role, entry: Any, opts: Mapping[str, Any]) -> Remote:
    option = "gitfs_remotes" if role == "gitfs" else "ext_pillar: git"
    entry, own = _entry(entry, option)
    branch, url = _branch(role, entry, opts)
    address = parse_address(url, option)
    label = f"{option}: {address.shown}"
    _check_names(role, own, label)
    if role == "git_pillar" and "base" in own and branch != ANY_ENV:
        raise ConfigError(
            f"{label}: `base` is for the branch {ANY_ENV}", hint="remove it, or use __env__ as the branch"
        )

    def get(name: str, default: Any = "") -> Any:
        value = own[name] if name in own else _global(role, name, opts, default)
        return _typed(name, value, f"{label}: {name}")

    address = with_credentials(address, get("user"), get("password"))
    if address.scheme == "http" and (address.user or address.password) and not get("insecure_auth", False):
        raise ConfigError(
            f"{label}: a password would be sent unencrypted over http",
            hint="use https, or set `insecure_auth: True` for this remote",
        )
    privkey, pubkey = get("privkey"), get("pubkey")
    if pubkey and not privkey:
        raise ConfigError(f"{label}: `pubkey` is set without `privkey`", hint="name the private key too")
    saltenvs = _saltenvs(own.get("saltenv"), _global(role, "saltenv", opts, []), label) if role == "gitfs" else {}
    base = saltenvs.get("base", {}).get("ref") or get("base", "master")
    remote = Remote(
        role=role,
        address=address,
        name=str(own.get("name") or ""),
        root=_folder(get("root"), f"{label}: root"),
        mountpoint=_mountpoint(get("mountpoint"), f"{label}: mountpoint"),
        base=base,
        saltenvs=saltenvs,
        ref_types=tuple(word.lower() for word in get("ref_types", list(REF_TYPES))),
        all_saltenvs=str(own["all_saltenvs"]) if "all_saltenvs" in own else None,
        disable_saltenv_mapping=get("disable_saltenv_mapping", False),
        fallback=get("fallback"),
        refspecs=tuple(_refspec(spec, label) for spec in get("refspecs", list(REFSPECS))),
        update_interval=get("update_interval", 60),
        depth=max(0, get("depth", 1)),
        filter=get("filter"),
        login=Login(get("ssl_verify", True), get("proxy"), privkey, pubkey, Secret(get("passphrase"))),
        saltenv_whitelist=tuple(get("saltenv_whitelist", [])) if role == "gitfs" else (),
        saltenv_blacklist=tuple(get("saltenv_blacklist", [])) if role == "gitfs" else (),
        branch=branch,
        env=get("env") if role == "git_pillar" else "",
        renderers=_renderers(own.get("renderers", _global(role, "renderers", opts, None)), f"{label}: renderers"),
    )
    _check(remote, label)
    return remote


def _entry(entry: Any, option: str) -> tuple[Any, dict[str, Any]]:
    """(URL, options) of an entry. Raises ConfigError."""
    if not isinstance(entry, Mapping):
        return entry, {}
    if len(entry) != 1:
        raise ConfigError(f"{option}: an entry has one URL", hint="indent the remote's options below its URL")
    [(entry, below)] = entry.items()
    own = _joined(below, f"{option}: {entry}")
    if not own:
        raise ConfigError(f"{option}: there are no options below {entry}", hint="remove the colon after the URL")
    return entry, own


def _branch(role: Role, entry: Any, opts: Mapping[str, Any]) -> tuple[str, Any]:
    """(branch, URL) of an entry; git_pillar has both in one text."""
    if role != "git_pillar" or not isinstance(entry, str):
        return "", entry
    words = entry.split(None, 1)
    if len(words) == 2:
        return words[0], words[1]
    return str(_global(role, "branch", opts, "master")), entry.strip()


def _check_names(role: Role, own: Mapping[str, Any], label: str) -> None:
    """Raises ConfigError for an unknown option."""
    unknown = [name for name in own if name not in PARAMETERS[role]]
    if unknown:
        near = nearest(unknown[0], PARAMETERS[role], n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(
            f"{label}: {unknown[0]!r} is not an option of a remote",
            hint=f"{meant}there are: {', '.join(sorted(PARAMETERS[role]))}",
        )


def _check(remote: Remote, label: str) -> None:
    for kind in remote.ref_types:
        if kind not in REF_TYPES:
            raise ConfigError(f"{label}: {kind!r} is not a kind of ref", hint=f"ref_types are {', '.join(REF_TYPES)}")
    for ref in [*remote.named_refs(), remote.base]:
        if not is_ref(ref):
            raise ConfigError(f"{label}: {ref!r} cannot be a branch or tag", hint="write the name as git shows it")
    if not _FILTER.fullmatch(remote.filter):
        raise ConfigError(f"{label}: {remote.filter!r} is not a filter", hint="for example blob:none")
    if not re.fullmatch(r"|[\w+.-]+://[^\s]+|[\w.-]+(:[0-9]+)?", remote.login.proxy):
        raise ConfigError(f"{label}: its `proxy` is not a URL", hint="for example http://proxy.example:3128")


def _global(role: Role, name: str, opts: Mapping[str, Any], default: Any) -> Any:
    value = opts.get(f"{role}_{name}")
    return default if value is None else value


def _joined(below: Any, label: str) -> dict[str, Any]:
    """A list of ``{option: value}``, or a mapping, as one mapping."""
    if isinstance(below, Mapping):
        return {str(key): value for key, value in below.items()}
    if not isinstance(below, list | tuple | None):
        raise ConfigError(f"{label}: {below!r} is not a list of options", hint="write  - option: value  a line")
    merged: dict[str, Any] = {}
    for item in below or ():
        if not isinstance(item, Mapping):
            raise ConfigError(f"{label}: {item!r} is not an option", hint="write  - option: value  a line")
        merged.update({str(key): value for key, value in item.items()})
    return merged


def _saltenvs(own: Any, general: Any, label: str) -> dict[str, dict[str, str]]:
    by_env: dict[str, dict[str, str]] = {}
    for part in (_joined(general, "gitfs_saltenv"), _joined(own, f"{label}: saltenv")):
        for saltenv, below in part.items():
            settings = {key: str(value) for key, value in _joined(below, f"{label}: saltenv {saltenv}").items()}
            for key in settings:
                if key not in ("ref", "root", "mountpoint"):
                    text = f"{label}: {key!r} is not an option of the saltenv {saltenv}"
                    raise ConfigError(text, hint="there are ref, root, mountpoint")
            if "root" in settings:
                settings["root"] = _folder(settings["root"], f"{label}: root of {saltenv}")
            if "mountpoint" in settings:
                settings["mountpoint"] = _mountpoint(settings["mountpoint"], f"{label}: mountpoint of {saltenv}")
            by_env.setdefault(saltenv, {}).update(settings)
    return by_env


def _typed(name: str, value: Any, label: str) -> Any:
    """An option's value by Salt's rules: most options are converted to text."""
    if name in _BOOLS:
        truth = _WORDS.get(str(value).strip().lower())
        if truth is None:
            raise ConfigError(f"{label} must be true or false, not {value!r}", hint="write True or False")
        return truth
    if name in _NUMBERS:
        try:
            return int(value)
        except (TypeError, ValueError):
            raise ConfigError(f"{label} must be a whole number, not {value!r}", hint="for example 60") from None
    if name in _LISTS:
        if isinstance(value, list | tuple):
            return [str(item) for item in value]
        return [item.strip() for item in str(value or "").split(",") if item.strip()]
    if isinstance(value, list | tuple | dict):
        raise ConfigError(f"{label} must be text, not {in_words(value)}", hint="give one value")
    return "" if value is None else str(value)


def _renderers(value: Any, label: str) -> frozenset[str] | None:
    """Names of renderers; None if the option is not set."""
    if value is None:
        return None
    names = _typed("renderers", value, label)
    for name in names:
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ConfigError(
                f"{label}: {name!r} is not the name of a renderer", hint="for example [jinja, yaml, json]"
            )
    return frozenset(names)


def _refspec(spec: str, label: str) -> str:
    """A refspec to fetch below ``refs/``; forced (``+``), because remote branches may be rewritten."""
    match = _REFSPEC.fullmatch(spec)
    source, target = (match["from"], match["to"]) if match else ("", "")
    if not match or not all(is_ref(part.replace("*", "x", 1)) for part in (source, target)):
        text = f"{label}: {spec!r} is not a refspec that can be fetched"
        raise ConfigError(text, hint=f"for example {REFSPECS[0]}")
    return f"+{source}:{target}"


def _folder(path: str, label: str) -> str:
    """A folder inside of the repository, without leading and trailing slashes."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in path:
        raise ConfigError(f"{label}: {path!r} leads out of the repository", hint="name a folder inside of it")
    return "/".join(parts)


def _mountpoint(path: str, label: str) -> str:
    return _folder(path.removeprefix("salt://"), label)


def _means(pattern: str, name: str) -> bool:
    if fnmatch.fnmatchcase(name, pattern):
        return True
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        return False
