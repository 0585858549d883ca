"""Reads the configuration, checks it by the option table, and makes the ``opts`` of targets from it.

``discover`` finds the file.
"""

from __future__ import annotations

import copy
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.discover import NAME, Place, Trust, absolute, find, inventory_of, user_folder, working_folder
from pushsalt.errors import ConfigError, Position, in_words
from pushsalt.inventory.sshwords import unchecked
from pushsalt.inventory.values import COMMANDS
from pushsalt.model import Target
from pushsalt.nearest import nearest
from pushsalt.options import CHOICES, OPTIONS, UNSET, Option
from pushsalt.optionvalues import convert, expand
from pushsalt.redact import SECRET_KEYS, Redactor
from pushsalt.yamlio import KeyPath, YamlError, load_yaml_with_lines

MAX_BYTES: Final = 16 * 1024 * 1024

_URL_PASSWORD: Final = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s]*@")
#: Further keys of credentials. They are removed from ``opts``, also where they are not secret.
_LOGINS: Final = ("*pass", "*pw", "*key", "*keys", "*auth*", "*cert*")

#: option of salt-ssh -> setting of a host
_TARGET_OPTIONS: Final = {
    "ssh_user": "user",
    "ssh_port": "port",
    "ssh_passwd": "passwd",
    "ssh_priv": "priv",
    "ssh_priv_passwd": "priv_passwd",
    "ssh_sudo": "sudo",
    "ssh_sudo_user": "sudo_user",
    "ssh_timeout": "timeout",
    "ssh_identities_only": "identities_only",
    "ssh_minion_opts": "minion_opts",
}


@dataclass(frozen=True)
class CliOverrides:
    """Values from the command line or the environment; None or empty: not set. Paths are relative to ``cwd``."""

    inventories: tuple[Path, ...] = ()
    file_roots: tuple[Path, ...] = ()
    pillar_roots: tuple[Path, ...] = ()
    cache_dir: Path | None = None
    log_level: str | None = None
    locked: bool = False
    #: a lock file that replaces that of the project
    lock_file: Path | None = None
    #: options that override those of the files
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """``opts`` has all options of the table, and unknown ones of the files. ``given``: the names that were set."""

    opts: dict[str, Any]
    path: Path | None
    project: Path | None
    cache_dir: Path
    inventories: list[Path]
    warnings: list[str] = field(default_factory=list)
    #: warnings about unknown options, which need not be reported each time
    unknown: list[str] = field(default_factory=list)
    given: frozenset[str] = frozenset()
    #: git remotes stay at the revisions of pushsalt.lock
    locked: bool = False
    #: the lock file of a repeated job, which replaces that of the project
    lock_file: Path | None = None
    #: the configuration or inventory that was found and is not used, since it is not trusted
    refused: Path | None = None
    #: whether the inventory was found, not named: then files in its folder must be trusted too
    found: bool = False
    #: plug-ins that make the inventory; then it has no files
    rosters: tuple[str, ...] = ()
    #: the option or variable that names the inventory, and the configuration file with that option
    named_by: str = "-i"

    @property
    def has_inventory(self) -> bool:
        """Whether there is an inventory, from files or from plug-ins."""
        return bool(self.inventories or self.rosters)

    def target_defaults(self) -> dict[str, Any]:
        """Settings that every inventory overrides, by inventory keys: ``roster_defaults`` over ``ssh_*`` options."""
        options = {key: self.opts[name] for name, key in _TARGET_OPTIONS.items() if name in self.given}
        if self.opts["connect_timeout"] is not None:
            options.setdefault("timeout", self.opts["connect_timeout"])
        defaults = self.opts["roster_defaults"]
        for key, name in COMMANDS.items():
            if key in defaults:
                options.pop(name, None)
        return {key: value for key, value in {**options, **defaults}.items() if value != ""}


def load_config(
    path: Path | None = None,
    *,
    cli: CliOverrides = CliOverrides(),
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """The configuration of this command. ``path`` is a file, or a folder holding ``pushsalt.yaml`` or ``master``.

    Raises ConfigError for missing named files, malformed YAML and values of the wrong type, with file and line. Files
    that are ignored because of their owner or mode are in ``warnings``.
    """
    env = os.environ if environ is None else environ
    start = cwd or working_folder()
    warnings: list[str] = []
    unknown: list[str] = []
    place = find(path, start, env, warnings, partial(_saltfile_options, warnings=warnings, unknown=unknown))
    allows = None if place.named else Trust(start, env, warnings).allows
    given = {} if place.file is None else _read_with_includes(place.file, warnings, unknown, allows)
    given.update(place.options)
    given.update(cli.options)
    opts = {name: copy.deepcopy(option.default) for name, option in OPTIONS.items() if option.default is not UNSET}
    opts.update(given)
    for option, folders in (("file_roots", cli.file_roots), ("pillar_roots", cli.pillar_roots)):
        if folders:
            added = [str(absolute(start, folder)) for folder in folders]
            word = f"--{option[:-1].replace('_', '-')}"
            warnings += [f"{word}: there is no folder {path}" for path in added if not Path(path).is_dir()]
            opts[option] = {**opts[option], "base": [*added, *opts[option].get("base", [])]}
            given[option] = opts[option]
    if cli.file_roots and "roots" not in opts["fileserver_backend"]:
        opts["fileserver_backend"] = ["roots", *opts["fileserver_backend"]]
        given["fileserver_backend"] = opts["fileserver_backend"]
    if cli.log_level:
        opts["log_level"] = cli.log_level
    rosters = _rosters(cli, env, opts, place)
    inventories, refused, found = ([], None, False) if rosters else _inventories(start, cli, env, opts, place, warnings)
    return Config(
        opts=opts,
        path=place.file or place.saltfile,
        project=place.project,
        cache_dir=_cache_dir(start, cli, env, opts, place.file),
        inventories=inventories,
        warnings=warnings,
        unknown=unknown,
        given=frozenset(given),
        locked=cli.locked,
        lock_file=cli.lock_file,
        refused=refused,
        found=found,
        rosters=rosters,
        named_by=_named_by(cli, env, opts, place),
    )


def minion_opts(
    config: Config,
    target: Target,
    *,
    test: bool | None = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
) -> dict[str, Any]:
    """The ``opts`` of one target for templates, with Salt's names of minion options, without secrets.

    They contain only options of the configuration that the option table makes visible, since on a minion they are the
    minion's own. Precedence, lowest first: defaults, configuration, the target's ``minion_opts``, the arguments (None:
    not set).
    """
    return _opts(config, target, lambda option: option.is_seen, test, saltenv, pillarenv)


def target_opts(
    config: Config,
    target: Target,
    *,
    test: bool | None = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
) -> dict[str, Any]:
    """The ``opts`` that are sent to a target: as ``minion_opts``, but of the configuration only options with
    ``travels``.
    """
    return _opts(config, target, lambda option: option.travels, test, saltenv, pillarenv)


class TargetOptions:
    """``target_opts`` of many targets: the values of the configuration are copied once, and must not be changed."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._common: dict[bool, dict[str, Any]] = {}

    def of(self, target: Target, test: bool | None, saltenv: str | None, pillarenv: str | None) -> dict[str, Any]:
        """The same as ``target_opts``."""
        is_local = target.transport == "local"
        if is_local not in self._common:
            self._common[is_local] = _common(self._config, is_local, lambda option: option.travels)
        return _with_target(dict(self._common[is_local]), target, test, saltenv, pillarenv)


def _opts(
    config: Config,
    target: Target,
    is_shown: Callable[[Option], bool],
    test: bool | None,
    saltenv: str | None,
    pillarenv: str | None,
) -> dict[str, Any]:
    common = _common(config, target.transport == "local", is_shown)
    return _with_target(common, target, test, saltenv, pillarenv)


def _common(config: Config, is_local: bool, is_shown: Callable[[Option], bool]) -> dict[str, Any]:
    """The part of the opts that does not depend on a target, except whether it is this machine."""
    opts = {}
    for name, option in OPTIONS.items():
        if option.scope != "controller":
            value = config.opts.get(name, option.default) if is_shown(option) else option.default
            if name.endswith("_signing_policies") and not is_local:
                value = _without_keys(value)
            if value is not UNSET:
                opts[name] = copy.deepcopy(value)
    opts.update(
        {
            "cachedir": "/var/cache/salt/minion",
            "conf_file": "/etc/salt/minion",
            "config_dir": "/etc/salt",
            "extension_modules": "/var/cache/salt/minion/extmods",
            "pki_dir": "/etc/salt/pki/minion",
            "sock_dir": "/var/run/salt/minion",
            "log_file": "/var/log/salt/minion",
            "default_include": "minion.d/*.conf",
            "gitfs_remotes": [],  # as on a minion; the controller's may have passwords
            "user": "",  # the user on the target is not known yet; the configured one is the master's
        }
    )
    if is_local:
        opts["cachedir"] = own_cachedir(config) or opts["cachedir"]
    return opts


def _with_target(
    opts: dict[str, Any], target: Target, test: bool | None, saltenv: str | None, pillarenv: str | None
) -> dict[str, Any]:
    """Add the part of the opts that belongs to a target."""
    opts.update(copy.deepcopy(dict(target.minion_opts)))
    for name, value in (("test", test), ("saltenv", saltenv), ("pillarenv", pillarenv)):
        if value is not None:
            opts[name] = value
    if opts["pillarenv"] is None and opts["pillarenv_from_saltenv"]:
        opts["pillarenv"] = opts["saltenv"]
    opts.update({"id": target.id, "__role": "minion", "__cli": "salt-minion", "file_client": "local"})
    return opts


def is_profile(value: Any) -> bool:
    """Whether an option is a profile of sdb: it names a driver."""
    return isinstance(value, Mapping) and isinstance(value.get("driver"), str)


def _without_keys(value: Any) -> Any:
    """Signing policies without private keys and passphrases; paths of keys stay."""
    if isinstance(value, Mapping):
        return {key: _without_keys(item) for key, item in value.items() if "pass" not in str(key).lower()}
    if isinstance(value, list):
        return [_without_keys(item) for item in value]
    return None if isinstance(value, str) and "PRIVATE KEY-----" in value else value


def own_cachedir(config: Config) -> str:
    """The cachedir of this machine, if a project sets one; that of a Salt master's configuration is the master's."""
    return str(config.opts["cachedir"] or "") if config.path is not None and config.path.name == NAME else ""


def without_secrets(opts: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the configuration for ``pillar_opts``, which the operator must enable.

    Left out are the controller's own options, profiles of sdb, and options with secret names. Salt includes all.
    """
    is_secret_key = Redactor([*SECRET_KEYS, *map(str, opts["secret_keys"]), *_LOGINS]).is_secret_key

    def shown(value: Any) -> Any:
        match value:
            case Mapping():
                return {shown(key): shown(item) for key, item in value.items() if not is_secret_key(key)}
            case list() | tuple() | set() | frozenset():
                return [shown(item) for item in value]
            case Path():
                return str(value)
            case str() if "PRIVATE KEY-----" in value:
                return ""
            case str() if "@" in value:  # a URL may have a password
                return _URL_PASSWORD.sub(r"\1", value)
        return value

    def is_open(name: str) -> bool:
        option = OPTIONS.get(name)
        if option is not None:
            return option.is_seen
        return not is_profile(opts[name]) and not _belongs_to_daemons(name)

    return {**shown({name: value for name, value in opts.items() if is_open(name)})}


# --- places -----------------------------------------------------------------------------------------------------------


def _cache_dir(cwd: Path, cli: CliOverrides, env: Mapping[str, str], opts: dict[str, Any], file: Path | None) -> Path:
    if cli.cache_dir is not None:
        return absolute(cwd, cli.cache_dir)
    if env.get("PUSHSALT_CACHE"):
        return absolute(cwd, env["PUSHSALT_CACHE"])
    # the cachedir of a Salt master's configuration is for that master
    configured = opts["cache_dir"] or (opts["cachedir"] if file is not None and file.name == NAME else "")
    return Path(configured) if configured else user_folder(env, "XDG_CACHE_HOME", ".cache") / "pushsalt"


def _rosters(cli: CliOverrides, env: Mapping[str, str], opts: dict[str, Any], place: Place) -> tuple[str, ...]:
    """The plug-ins that make the inventory, unless an inventory file is named."""
    named = cli.inventories or env.get("PUSHSALT_INVENTORY") or opts["inventory"]
    if named or place.refused is not None or opts["roster"] in ("", None, "flat"):
        return ()
    from pushsalt.rosters import names_of

    return names_of(opts["roster"])


def _inventories(
    cwd: Path, cli: CliOverrides, env: Mapping[str, str], opts: dict[str, Any], place: Place, warnings: list[str]
) -> tuple[list[Path], Path | None, bool]:
    """The inventories, the file that is not used because it is not trusted (or None), and whether they were found, not
    named.
    """
    if cli.inventories:
        return [absolute(cwd, path) for path in cli.inventories], None, False
    if env.get("PUSHSALT_INVENTORY"):
        return [absolute(cwd, path) for path in env["PUSHSALT_INVENTORY"].split(os.pathsep) if path], None, False
    if place.refused is not None:  # do not use the user's own inventory in an untrusted project
        return [], place.refused, False
    if opts["inventory"]:
        return [Path(path) for path in opts["inventory"]], None, False
    if opts["roster_file"]:
        return [Path(opts["roster_file"])], None, False
    return *inventory_of(place, cwd, env, warnings), not place.named


def _named_by(cli: CliOverrides, env: Mapping[str, str], opts: dict[str, Any], place: Place) -> str:
    """The option of the command, the variable, or the configured option that names the inventory, for messages."""
    if cli.inventories or env.get("PUSHSALT_INVENTORY"):
        paths = [Path(path) for path in env.get("PUSHSALT_INVENTORY", "").split(os.pathsep) if path]
        return "-i" if paths != list(cli.inventories or paths) else "PUSHSALT_INVENTORY"
    option = "inventory" if opts["inventory"] else "roster_file"
    return f"`{option}` in {place.saltfile if option in place.options else place.file}" if opts[option] else "-i"


# --- options
# ------------------------------------------------------------------------------------------------------------


def _read_with_includes(
    file: Path, warnings: list[str], unknown: list[str], allows: Callable[[Path, str], bool] | None
) -> dict[str, Any]:
    """The options of the file, then of ``default_include`` (of a Salt master), then of ``include``; later ones win.

    ``allows``: decides whether an included file is trusted; None: all are.
    """
    given = _read(file, warnings, unknown)
    patterns: list[tuple[Any, bool]] = []
    if file.name != NAME or "default_include" in given:
        named = "default_include" in given
        patterns.append((given.get("default_include", OPTIONS["default_include"].default), named))
    include = given.get("include") or []
    patterns += [(pattern, True) for pattern in (include if isinstance(include, list) else [include])]
    for pattern, named in patterns:
        for included in expand(absolute(file.parent, str(pattern))):
            way = f"-c {file.parent}, or PUSHSALT_TRUST={included.parent}"
            allowed = named or allows is None or allows(included, way)
            if included != file and included.is_file() and allowed:
                given.update(_read(included, warnings, unknown))
    return given


def _saltfile_options(file: Path, warnings: list[str], unknown: list[str]) -> dict[str, Any] | None:
    """The options of a Saltfile for salt-ssh; None if it has none. Salt: ``SaltfileMixIn``."""
    if not os.path.lexists(file):
        raise ConfigError(f"there is no configuration {file}", hint="correct SALT_SALTFILE")
    data, lines = _load(file)
    section = data.get("salt-ssh")
    if not isinstance(section, dict):
        return None
    return dict(_checked(section, {key[1:]: line for key, line in lines.items() if key}, file, warnings, unknown))


def _read(file: Path, warnings: list[str], unknown: list[str]) -> dict[str, Any]:
    data, lines = _load(file)
    return dict(_checked(data, lines, file, warnings, unknown))


def _load(file: Path) -> tuple[dict[Any, Any], Mapping[KeyPath, int]]:
    """The data of a file, and the line of each key. Raises ConfigError."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise ConfigError(f"{file} is no configuration file", hint=f"name a {NAME} or a Salt master configuration")
        text = regular.read_bytes(file).decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"there is no configuration {file}", hint="check the path given with -c") from None
    except UnicodeDecodeError as exc:
        where = Position(str(file), exc.object.count(b"\n", 0, exc.start) + 1)
        raise ConfigError("the text is not UTF-8", hint="save it as UTF-8", where=where) from None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise ConfigError(f"{file} cannot be read: {reason}", hint="check the path and its permissions") from None
    try:
        data, lines = load_yaml_with_lines(text, str(file))
    except YamlError as exc:
        where = Position(str(file), exc.line, exc.column)
        raise ConfigError(f"not valid YAML: {exc.problem}", hint="correct that line", where=where) from None
    if data is None:
        return {}, {}
    if not isinstance(data, dict):
        raise ConfigError(
            f"a configuration is a mapping of options, not {in_words(data)}",
            hint="write lines of the form option: value",
            where=Position(str(file), lines.get((), 1)),
        )
    return data, lines


def _turns_checks_off(name: str, value: Any) -> bool:
    """Whether an option of salt-ssh turns off the check of host keys."""
    if name in ("ignore_host_keys", "no_host_keys"):
        return bool(value)
    options = value if isinstance(value, list) else [value]
    return name == "ssh_options" and any(unchecked(each) for each in options if isinstance(each, str))


def _belongs_to_daemons(name: str) -> bool:
    from pushsalt.daemonoptions import belongs_to_daemons  # a long table, for options that are not ours

    return belongs_to_daemons(name)


def _checked(
    data: dict[Any, Any], lines: Mapping[KeyPath, int], file: Path, warnings: list[str], unknown: list[str]
) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        name = str(key)
        where = Position(str(file), lines.get((key,)))
        option = OPTIONS.get(name)
        if option is None:
            if _turns_checks_off(name, value):
                warnings.append(f"{where}: `{name}` has no effect; --accept-new-host-keys accepts new host keys once")
            elif not is_profile(value) and not _belongs_to_daemons(name):
                near = nearest(name, OPTIONS, cutoff=0.8)
                hint = f"; did you mean `{near[0]}`?" if near else ""
                if "." in name:  # an option of a module, which would read it on targets
                    hint = "; targets do not get it from here: set it in pillar, or in `minion_opts` of a host"
                unknown.append(f"{where}: unknown option `{name}`{hint}")
            yield name, value
        elif value is not None:
            value = "off" if value is False and "off" in CHOICES.get(name, ()) else value  # YAML's word for false
            converted = convert(option, value, where, file.parent)
            if name in CHOICES and converted not in CHOICES[name]:
                warnings.append(f"{where}: `{name}` must be one of {', '.join(CHOICES[name])}, not {converted!r}")
            yield name, converted
