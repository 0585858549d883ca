"""The configuration for render processes: the options that templates may read, without credentials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from pushsalt import plugins
from pushsalt.config import Config, without_secrets
from pushsalt.fileserver.backends.roots import LIMITS
from pushsalt.options import OPTIONS, UNSET

#: Options of the controller that rendering and compiling need. Its other options are not sent to render processes.
_OF_CONTROLLER: Final = frozenset(
    {
        "ext_pillar_first",
        "pillar_safe_render_error",
        "nodegroups",
        "ssh_list_nodegroups",
        "template_cache",
        "salt_python",
        "strict_arguments",
        "cache_dir",
        "resource_types",
        "secret_keys",
        "render_cache",
        "git_timeout",
        "gitfs_filter",
        "git_pillar_filter",
        "gitfs_renderers",
        "git_pillar_renderers",
        "git_pillar_verify_config",
        "fileserver_verify_config",
        "decrypt_pillar",
        "decrypt_pillar_default",
        "decrypt_pillar_delimiter",
        "decrypt_pillar_renderers",
        "cachedir",
    }
)
#: External pillars that render the operator's files: they run in render processes, and need no credentials.
RENDERING_SOURCES: Final = frozenset({"file_tree", "git", "stack"})
#: Options of a git remote that only fetching needs.
_CREDENTIALS: Final = frozenset(
    {"user", "password", "privkey", "pubkey", "passphrase", "insecure_auth", "proxy", "ssl_verify"}
)


def for_rendering(config: Config, groups: Collection[str] = ()) -> dict[str, Any]:
    """The configuration and the names of the inventory's groups, for a render process (its message ``setup``)."""
    opts = {
        name: config.opts.get(name, option.default) if option.is_seen or name in _OF_CONTROLLER else option.default
        for name, option in OPTIONS.items()
    }
    opts = {name: value for name, value in opts.items() if value is not UNSET}
    names = {"gitfs_remotes": _remotes(config.opts.get("gitfs_remotes")), "ext_pillar": external(config.opts)}
    # Only the names are needed: the command calls these sources.
    tops = dict.fromkeys(config.opts.get("master_tops") or {})
    if config.opts.get(LIMITS):
        names[LIMITS] = config.opts[LIMITS]
    return {
        "opts": {**opts, **names, "master_tops": tops},
        "given": sorted(config.given & opts.keys()),
        "path": None if config.path is None else str(config.path),
        "project": None if config.project is None else str(config.project),
        "cache_dir": str(config.cache_dir),
        "locked": config.locked,
        "lock_file": None if config.lock_file is None else str(config.lock_file),
        "groups": sorted(groups),
        "shown": without_secrets(config.opts) if config.opts.get("pillar_opts") else {},
    }


def _remotes(remotes: Any) -> list[Any]:
    """Git remotes without the options for fetching; ``git.address`` allows no credentials in a URL."""
    entries: list[Any] = []
    for entry in remotes if isinstance(remotes, list) else ():
        if isinstance(entry, Mapping):
            kept = {_url(url): _without_credentials(options) for url, options in entry.items()}
            entries += [{url: options} if options else url for url, options in kept.items()]
        else:
            entries.append(_url(entry))
    return entries


def _without_credentials(options: Any) -> Any:
    if isinstance(options, Mapping):
        return {name: value for name, value in options.items() if name not in _CREDENTIALS}
    if not isinstance(options, list):
        return options
    kept = [
        {name: value for name, value in each.items() if name not in _CREDENTIALS} if isinstance(each, Mapping) else each
        for each in options
    ]
    return [each for each in kept if each]


def _url(url: Any) -> Any:
    from pushsalt.git.address import without_credentials

    return without_credentials(url) if isinstance(url, str) else url


def external(opts: Mapping[str, Any]) -> Any:
    """``ext_pillar`` for a render process: the arguments of sources that the command calls are replaced by a number."""
    sources = opts.get("ext_pillar")
    if not isinstance(sources, list):
        return sources
    entries: list[Any] = []
    for number, source in enumerate(sources):
        if not isinstance(source, Mapping):
            entries.append(source)
            continue
        entries.append(
            {
                name: (_remotes(args) if name == "git" else args) if renders(str(name), opts) else [number]
                for name, args in source.items()
            }
        )
    return entries


def renders(name: str, opts: Mapping[str, Any]) -> bool:
    """Whether an external pillar runs in a render process: one of ours that renders files."""
    if name not in RENDERING_SOURCES:
        return False
    return not any((folder / f"{name}.py").is_file() for folder in plugins.folders("ext_pillar", opts))


def callable_from_outside(opts: Mapping[str, Any], name: str) -> bool:
    """Whether ``whitelist_modules`` and ``disable_modules`` allow a command line or template to call this function."""
    module = name.partition(".")[0]
    allowed = opts.get("whitelist_modules") or ()
    return module not in (opts.get("disable_modules") or ()) and (not allowed or module in allowed)
