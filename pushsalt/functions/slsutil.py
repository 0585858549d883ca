"""Salt's ``slsutil`` functions that need the file server or YAML; the others are in ``thin/modules/slsutil.py``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pushsalt import plugins
from pushsalt.errors import FunctionError, RenderError
from pushsalt.memo.reads import spoil, without_recorders
from pushsalt.modules.controller import for_targets
from pushsalt.salturl import split_url
from pushsalt.serializers import serializer_named

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion
    from pushsalt.trust import Template

__reads__ = ("renderer", "serialize", "deserialize", "file_exists", "dir_exists", "path_exists", "findup")
__recorded__ = ("deserialize", "dir_exists", "file_exists", "findup", "path_exists", "renderer", "serialize")

log = logging.getLogger(__name__)


def _refuse(text: str, hint: str) -> FunctionError:
    return FunctionError("exception", text, hint, "SaltInvocationError")


def renderer(
    minion: Minion,
    path: str | None = None,
    string: str | None = None,
    default_renderer: str = "jinja|yaml",
    **kwargs: Any,
) -> Any:
    """A file (``salt://`` or a path below the file roots) or a text, rendered by its renderers. Salt:
    slsutil.renderer.
    """
    from pushsalt.render import read_source, render_any

    if not path and not string:
        raise _refuse("Must pass path or string.", "slsutil.renderer salt://map.jinja, or string='{{ grains.os }}'")
    if path and string:
        raise _refuse("Must not pass both path and string.", "pass one of them")
    saltenv = str(kwargs.pop("saltenv", None) or minion.saltenv)
    if path:
        where = split_url(path if "://" in path else f"salt://{path}", saltenv)
        file = minion.files.find(*where) if where else None
        if file is None and path.startswith("salt://"):  # Salt continues with an empty value, and trees depend on it
            log.error("%s: slsutil.renderer: %s does not exist in saltenv '%s'", minion.id, path, saltenv)
            return {}
        if file is None:
            raise _refuse(
                f"{path} not found in saltenv '{saltenv}'", "it must be a salt:// URL or a path below the file roots"
            )
        source: Template = read_source(file, sls="", saltenv=saltenv)
        place = file.path
    else:
        source, place = minion.words(str(string), ":string:"), ":string:"
    context = minion.context
    try:
        return render_any(
            source,
            path=place,
            sls="",
            saltenv=saltenv,
            context=context,
            default_renderer=default_renderer,
            variables={"sls": "", **kwargs},
        ).data
    except RenderError as exc:
        text = "\n".join(exc.errors)
        raise FunctionError("exception", text, exc.hint or "correct the template", "SaltRenderError") from exc


def _serialized(minion: Minion, name: str, what: str, value: Any, options: Mapping[str, Any]) -> Any:
    places = plugins.folders("serializers", minion.project.config.opts)
    if any((folder / f"{name}.py").is_file() for folder in places):
        spoil(f"the serializer {name} can execute any code")
    function = getattr(serializer_named(name, places), what, None)
    if function is None:
        raise _refuse(f"the serializer '{name}' does not {what}", "docs/extending.md lists the functions of each")
    try:
        return function(without_recorders(value), **options)
    except (Exception, SystemExit) as exc:  # a serializer may raise anything
        kind = "SerializationError" if what == "serialize" else "DeserializationError"
        text = f"{exc}{plugins.blamed(exc)}"
        raise FunctionError("exception", text, "check the value and the options", kind) from exc


@for_targets
def serialize(minion: Minion, serializer: str, obj: Any, **options: Any) -> str | bytes:
    """The text of a value, or bytes for some serializers. ``serializer``: one of pushsalt or of the user. Salt:
    slsutil.serialize.
    """
    text: str | bytes = _serialized(minion, serializer, "serialize", obj, options)
    return text


@for_targets
def deserialize(minion: Minion, serializer: str, stream_or_string: Any, **options: Any) -> Any:
    """The value of a serialized text. Salt: slsutil.deserialize."""
    return _serialized(minion, serializer, "deserialize", stream_or_string, options)


def file_exists(minion: Minion, path: str, saltenv: str = "base") -> bool:
    """Whether the file server has this file; a path as in ``cp.list_master``, not a URL. Salt: slsutil.file_exists."""
    return "://" not in path and minion.files.find(path, saltenv) is not None


def dir_exists(minion: Minion, path: str, saltenv: str = "base") -> bool:
    """Whether the file server has this directory. Salt: slsutil.dir_exists."""
    return path in minion.files.list_dirs(saltenv)


def path_exists(minion: Minion, path: str, saltenv: str = "base") -> bool:
    """Whether the file server has this file or directory. Salt: slsutil.path_exists."""
    return file_exists(minion, path, saltenv) or dir_exists(minion, path, saltenv)


def findup(minion: Minion, startpath: str | None, filenames: Any, saltenv: str = "base") -> str:
    """The first of these files in a directory or in its parent directories. Salt: slsutil.findup."""
    names = [filenames] if isinstance(filenames, str) else filenames
    if not isinstance(names, list):
        raise _refuse(
            f"Filenames argument must be a string or list of strings, not {type(filenames).__name__}",
            "name the files to look for",
        )
    if startpath and not path_exists(minion, startpath, saltenv):
        raise _refuse(f"Starting path not found in the state tree: {startpath}", "it is relative to the file roots")
    folders = [folder for folder in (startpath or "").split("/") if folder]
    for depth in range(len(folders), -1, -1):
        for name in names:
            candidate = "/".join([*folders[:depth], name])
            if path_exists(minion, candidate, saltenv):
                return candidate
    raise FunctionError(
        "exception",
        f"File pattern(s) not found in path ancestry of {startpath}: {', '.join(map(str, names))}",
        "check the names against the state tree",
        "CommandExecutionError",
    )
