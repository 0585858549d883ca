"""Adds and removes remotes in a ``pushsalt.yaml``, line by line, so that comments and order are kept.

After each change the text is parsed again. It is only written if it has the expected data.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from pushsalt import regular
from pushsalt.cache.store import write_atomic
from pushsalt.errors import ConfigError

KEY = "gitfs_remotes"


def add_remote(path: Path, url: str, options: dict[str, str | list[str]]) -> None:
    """Append a remote with its options, and ``git`` to ``fileserver_backend`` if it is missing.

    Raises ConfigError.
    """
    text = regular.read_text(path)
    entry: Any = {url: [{key: value} for key, value in options.items()]} if options else url

    def wanted(data: dict[str, Any]) -> dict[str, Any]:
        backends = data.get("fileserver_backend") or ["roots"]
        backends = backends if isinstance(backends, list) else [backends]
        if not {"git", "gitfs"} & set(backends):
            data["fileserver_backend"] = [*backends, "git"]
        data[KEY] = [*(data.get(KEY) or []), entry]
        return data

    lines = [f"  - {_scalar(url)}{':' if options else ''}"]
    lines += [f"      - {key}: {_flat(value)}" for key, value in options.items()]
    changed = _with_item(text, KEY, "\n".join(lines) + "\n")
    data = _load(text, path)
    backends = data.get("fileserver_backend")
    if not {"git", "gitfs"} & set(backends if isinstance(backends, list) else [backends or "roots"]):
        if backends is None:
            changed = _ended(changed) + "fileserver_backend: [roots, git]\n"
        else:
            changed = _with_value(changed, "fileserver_backend", json.dumps(wanted(dict(data))["fileserver_backend"]))
    _write(path, text, changed, wanted)


def remove_remote(path: Path, is_it: Callable[[str], bool]) -> str:
    """Remove the remote with this URL; returns the URL. Raises ConfigError if the file does not have it."""
    text = regular.read_text(path)
    node = _value(text, KEY)
    items = node.value if isinstance(node, yaml.SequenceNode) else []
    for number, item in enumerate(items):
        key = item.value[0][0] if isinstance(item, yaml.MappingNode) and item.value else item
        url = str(key.value)
        if not is_it(url):
            continue

        def wanted(data: dict[str, Any], number: int = number) -> dict[str, Any]:
            left = [entry for at, entry in enumerate(data[KEY]) if at != number]
            data[KEY] = left
            return data

        assert isinstance(node, yaml.SequenceNode)
        if node.flow_style or len(items) == 1:
            left = wanted(_load(text, path))[KEY]
            changed = _with_value(text, KEY, json.dumps(left))
        else:
            lines = text.splitlines(keepends=True)
            first, last = item.start_mark.line, _end_line(item)
            changed = "".join(lines[:first] + lines[last + 1 :])
        _write(path, text, changed, wanted)
        return url
    raise ConfigError(f"{path} has no such remote in `{KEY}`", hint="`pushsalt formula list` shows the remotes")


def _write(path: Path, text: str, changed: str, wanted: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    target = wanted(_load(text, path))
    top = yaml.compose(text, Loader=yaml.SafeLoader)
    if isinstance(top, yaml.MappingNode) and top.flow_style:  # JSON: comments and line order cannot be kept
        changed = yaml.safe_dump(target, sort_keys=False, allow_unicode=True)
    try:
        same = _load(changed, path) == target
    except ConfigError:
        same = False
    if not same:
        raise ConfigError(f"the form of {path} cannot be edited by this command", hint=f"edit `{KEY}` in it yourself")
    mode = path.stat().st_mode & 0o777
    write_atomic(path.resolve(), changed.encode(), mode)


def _load(text: str, path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise ConfigError(f"{path} is not valid YAML: {exc}", hint="correct it first") from None
    if not isinstance(data, dict | None):
        raise ConfigError(f"{path} is not a mapping of options", hint="correct it first")
    return dict(data or {})


def _value(text: str, key: str) -> yaml.Node | None:
    """The node of a top-level key's value."""
    top = yaml.compose(text, Loader=yaml.SafeLoader)
    for name, value in top.value if isinstance(top, yaml.MappingNode) else ():
        if name.value == key:
            node: yaml.Node = value
            return node
    return None


def _with_item(text: str, key: str, item: str) -> str:
    """The text with an additional item at the end of a list; ``item`` is indented by two."""
    node = _value(text, key)
    if node is None:
        return f"{_ended(text)}{key}:\n{item}"
    if not isinstance(node, yaml.SequenceNode) or not node.value:  # null, []
        start, end = node.start_mark.index, node.end_mark.index
        return f"{text[:start].rstrip(' ')}\n{item}{text[end:].lstrip(' ').removeprefix(chr(10))}"
    if node.flow_style:
        inner = " ".join(item.split())
        start = node.end_mark.index - 1
        return f"{text[:start].rstrip().rstrip(',')}, {_flow(item)}{text[start:]}" if inner else text
    lines = text.splitlines(keepends=True)
    column = node.value[0].start_mark.column - 2
    last = max(_end_line(child) for child in node.value)
    shifted = "".join(" " * max(0, column) + line[2:] + "\n" for line in item.splitlines())
    before = "".join(lines[: last + 1])
    return _ended(before) + shifted + "".join(lines[last + 1 :])


def _flow(item: str) -> str:
    return json.dumps(yaml.safe_load(item)[0])


def _with_value(text: str, key: str, value: str) -> str:
    node = _value(text, key)
    assert node is not None
    start, end = node.start_mark, node.end_mark
    after = text[end.index :]
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        # A block ends at the start of a line, where the next node begins.
        lines = text.splitlines(keepends=True)
        after = "\n" + "".join(lines[_end_line(node) + 1 :])
    head = text[: start.index]
    if start.column == 0 or "\n" in head[head.rindex(f"{key}:") :]:
        head = head[: head.rindex(f"{key}:")] + f"{key}: "
    return f"{head}{value}{after}"


def _end_line(node: yaml.Node) -> int:
    """The last line of a node, which is the line of its last scalar's end."""
    if isinstance(node, yaml.SequenceNode) and node.value and not node.flow_style:
        return max(_end_line(child) for child in node.value)
    if isinstance(node, yaml.MappingNode) and node.value and not node.flow_style:
        return max(_end_line(child) for pair in node.value for child in pair)
    end = node.end_mark
    return end.line - 1 if end.column == 0 and end.line > node.start_mark.line else end.line


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _flat(value: str | list[str]) -> str:
    return _scalar(value) if isinstance(value, str) else f"[{', '.join(map(_scalar, value))}]"


def _scalar(value: str) -> str:
    """A text as a YAML scalar, without quotes if possible."""
    odd = not value or ": " in value or " #" in value or value.endswith(":")
    return json.dumps(value) if odd or yaml.safe_load(value) != value else value
