"""Files as values: ``root_dir/hosts/<id>/a/b`` is the pillar ``a:b``, merged over ``root_dir/nodegroups/<group>/…``.

A relative ``root_dir`` is resolved below each of the ``pillar_roots`` of the ``pillarenv``. Salt:
salt.pillar.file_tree.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pushsalt import regular
from pushsalt.ext_pillar import Outside
from pushsalt.ext_pillar.nodegroups import groups_of
from pushsalt.render import render_any
from pushsalt.trust import Trusted
from thin.utils.dictupdate import merge


def ext_pillar(
    minion_id: str,
    pillar: dict[str, Any],
    root_dir: str | None = None,
    follow_dir_links: bool = False,
    debug: bool = False,
    keep_newline: bool | Sequence[str] = False,
    render_default: str | None = None,
    renderer_blacklist: Sequence[str] | None = None,
    renderer_whitelist: Sequence[str] | None = None,
    template: bool = False,
    *,
    outside: Outside,
) -> dict[str, Any]:
    """``keep_newline`` (or globs of paths) keeps the newline at a file's end; ``template`` renders the files."""
    if not root_dir:
        raise ValueError("root_dir is not set")
    if not isinstance(keep_newline, bool | list):
        raise TypeError("keep_newline must be either True/False or a list of file globs")
    lists = {"renderer_blacklist": renderer_blacklist, "renderer_whitelist": renderer_whitelist}
    context = replace(outside.context, frozen={**outside.context.settings, **lists})

    def value(path: Path, inside: str) -> Any:
        content = regular.read_bytes(path)
        keep = keep_newline if isinstance(keep_newline, bool) else _any_fits(inside, keep_newline)
        if content.endswith(b"\n") and not keep:
            content = content[:-1]
        try:
            text = content.decode()
        except UnicodeDecodeError:  # a binary secret
            return content
        if not template:
            return text
        trusted = Trusted(text, str(path))
        source = render_any(
            trusted, path=str(path), sls="", saltenv="base", context=context, default_renderer=render_default
        )
        return source.data

    merged: dict[str, Any] = {}
    for root in _roots(root_dir, outside):
        if not root.is_dir():
            raise NotADirectoryError(f"root_dir {root} does not exist or is not a directory")
        folders = [root / "nodegroups" / group for group in groups_of(outside) if group == Path(group).name]
        if minion_id == Path(minion_id).name:
            folders.append(root / "hosts" / minion_id)
        for folder in folders:
            if folder.is_dir():
                merged = merge(merged, _tree(folder, "", follow_dir_links, value), "recurse")
    return merged


def _roots(root_dir: str, outside: Outside) -> list[Path]:
    if Path(root_dir).is_absolute():
        return [Path(root_dir)]
    env = outside.opts.get("pillarenv")
    if env is None:
        raise ValueError("root_dir is relative but pillarenv is not set")
    roots = (outside.opts.get("pillar_roots") or {}).get(env)
    if roots is None:
        raise ValueError(f"root_dir is relative but there are no pillar_roots for the pillarenv {env}")
    return list(dict.fromkeys(Path(os.path.normpath(Path(root) / root_dir)) for root in roots))


def _tree(folder: Path, inside: str, follow: bool, value: Any) -> dict[str, Any]:
    """A folder's files and folders by name. Other entries (devices, FIFOs) are left out."""
    values: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            enter = follow or not path.is_symlink()
            values[path.name] = _tree(path, f"{inside}{path.name}/", follow, value) if enter else {}
        elif path.is_file():
            values[path.name] = value(path, inside + path.name)
    return values


def _any_fits(path: str, globs: Sequence[str]) -> bool:
    return any(fnmatch.fnmatch(path, str(glob)) for glob in globs)
