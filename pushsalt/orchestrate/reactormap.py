"""Salt's ``reactor:`` configuration: globs of tags, and the reactor SLS of each."""

from __future__ import annotations

import glob as globs
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt import yamlio
from pushsalt.errors import ConfigError, FunctionError

if TYPE_CHECKING:
    from pushsalt.config import Config

_HINT: Final = "reactor: [{'app/*/up': [salt://reactor/up.sls]}]; see docs/reactor.md"


@dataclass(frozen=True)
class ReactorMap:
    """Which SLS react to a tag. ``folder``: relative paths are relative to it."""

    rows: tuple[tuple[str, tuple[str, ...]], ...]
    folder: Path

    def matching(self, tag: str) -> list[str]:
        """What the configuration lists for a tag, in its order, each once: ``salt://`` URLs, paths, globs of paths."""
        return list(dict.fromkeys(name for glob, names in self.rows if fnmatchcase(tag, glob) for name in names))

    def files(self, name: str) -> list[str]:
        """The SLS files that an entry names: a URL, or the paths that match. Raises FunctionError if there is none."""
        if name.startswith("salt://"):
            return [name]
        paths = sorted(globs.glob(str(self.folder / name)))  # noqa: PTH207 - the pattern may be absolute
        if not paths:
            hint = "check the path in `reactor` of the configuration"
            raise FunctionError("exception", f"{name}: there is no such reactor SLS", hint, "SaltRenderError")
        return paths


def load(config: Config) -> ReactorMap:
    """The reactor of a configuration. Raises ConfigError for one of another shape."""
    given, folder = config.opts["reactor"], config.path.parent if config.path else Path.cwd()
    if isinstance(given, str) and given:
        path = folder / given
        try:
            given = yamlio.load_yaml(path.read_text("utf-8"), str(path))
        except (OSError, UnicodeDecodeError, yamlio.YamlError) as exc:
            raise ConfigError(f"reactor: {path}: {getattr(exc, 'strerror', None) or exc}", _HINT) from None
    if not given:
        return ReactorMap((), folder)
    if not isinstance(given, list):
        raise ConfigError(f"reactor is a list of tags and their SLS, not {type(given).__name__}", _HINT)
    return ReactorMap(tuple(_row(each) for each in given), folder)


def _row(row: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(row, dict) or len(row) != 1:
        raise ConfigError(f"reactor: {row!r:.80} is no mapping of one tag to its SLS", _HINT)
    [(glob, names)] = row.items()
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"reactor: the SLS of {glob!r} are texts, not {names!r:.80}", _HINT)
    return str(glob), tuple(names)
