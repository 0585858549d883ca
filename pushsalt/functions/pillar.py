"""Salt's ``pillar`` functions: they return values to templates, and masked values to a command line.

Salt 3008 masks their output unless ``unmask=True`` (``pillar_mask_output: false`` only affects ``items``); ``raw``
returns the values, in which the command redacts secrets. Unlike in Salt, a default of the caller is not masked. The
look-ups are those of ``thin/modules/pillar.py``, which both sides use.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError
from pushsalt.functions import decrypt_override
from pushsalt.modules.controller import compiles_pillar
from pushsalt.pillar.mask import mask
from pushsalt.yamlio import load_yaml

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion
    from pushsalt.pillar import PillarResult

__reads__ = ("get", "fetch", "items", "data", "ext", "item", "raw", "ls", "keys", "obfuscate", "file_exists")
__recorded__ = ("data", "fetch", "get", "item", "items", "keys", "ls", "obfuscate", "raw")


log = logging.getLogger(__name__)

#: stands for a missing value
_NOTHING = object()


def _shown(minion: Minion, value: Any, unmask: bool | None) -> Any:
    return value if _clear(minion, unmask) else mask(value)


def _clear(minion: Minion, unmask: bool | None) -> bool:
    """Whether values are shown: the caller requests it, or is a template."""
    return minion.rendering if unmask is None else unmask


def _fresh(minion: Minion, pillar: Any = None, pillarenv: str | None = None, saltenv: str | None = None) -> Minion:
    return minion.derive(pillar=pillar, pillarenv=pillarenv, saltenv=saltenv)


def get(minion: Minion, key: str, *args: Any, unmask: bool | None = None, **kwargs: Any) -> Any:
    """The value of a key (``a:b`` is nested), or the default. Further arguments: as in ``thin/modules/pillar.py``.
    Salt: pillar.get.
    """
    minion = _fresh(minion, None, kwargs.pop("pillarenv", None), kwargs.pop("saltenv", None))
    function = minion.shared("pillar.get")
    value = function(key, *args, **kwargs)
    given = {**dict(zip(("default", "merge", "merge_nested_lists", "delimiter"), args, strict=False)), **kwargs}
    merged = given.get("merge")  # merged with values of the caller: masked as a whole, as in Salt
    if "default" in given and not merged and not _clear(minion, unmask):
        more = {"delimiter": given["delimiter"]} if "delimiter" in given else {}
        if function(key, _NOTHING, **more) is _NOTHING:
            return value
    return _shown(minion, value, unmask)


fetch = get


@compiles_pillar
def items(
    minion: Minion,
    *args: Any,
    pillar: Any = None,
    pillar_enc: str | None = None,
    pillarenv: str | None = None,
    saltenv: str | None = None,
    unmask: bool | None = None,
) -> Any:
    """The pillar, compiled again; its errors are under ``_errors``. Salt: pillar.items."""
    if args:
        return item(minion, *args, pillarenv=pillarenv, saltenv=saltenv, unmask=unmask)
    if pillar and pillar_enc:
        pillar = decrypt_override(minion, pillar, pillar_enc)
    minion = _fresh(minion, pillar, pillarenv, saltenv)
    if unmask is None and not minion.opts.get("pillar_mask_output", True):
        unmask = True
    return _compiled(minion, minion.pillar_result, unmask)


data = items


@compiles_pillar
def ext(minion: Minion, external: Any, pillar: Any = None, unmask: bool | None = None) -> Any:
    """The pillar with an additional external source, such as ``{cmd_yaml: cat /x}``. Salt: pillar.ext.

    The source must be named in the option ``on_demand_ext_pillar``; others are left out with a warning.
    """
    sources = load_yaml(external) if isinstance(external, str) else external
    if not isinstance(sources, dict):
        hint = "pillar.ext '{cmd_yaml: cat /etc/pillar.yaml}'"
        raise FunctionError("exception", "pillar.ext takes a mapping of one source", hint, "SaltInvocationError")
    allowed = minion.project.config.opts["on_demand_ext_pillar"]
    for name in sorted(set(sources) - set(allowed)):
        log.warning("ext_pillar %s is not in on_demand_ext_pillar (%s), and is not used", name, ", ".join(allowed))
    minion = _fresh(minion, pillar)
    result = minion.compile_pillar({name: args for name, args in sources.items() if name in allowed})
    return _compiled(minion, result, unmask)


def _compiled(minion: Minion, result: PillarResult, unmask: bool | None) -> Any:
    """A compiled pillar, masked, with its errors, which are not masked."""
    value = _shown(minion, result.pillar, unmask)
    return {**value, "_errors": list(result.errors)} if result.errors else value


def item(minion: Minion, *args: Any, unmask: bool | None = None, **kwargs: Any) -> Any:
    """The values of these keys, as a dict. Salt: pillar.item."""
    minion = _fresh(minion, None, kwargs.pop("pillarenv", None), kwargs.pop("saltenv", None))
    function = minion.shared("pillar.item")
    value = _shown(minion, function(*args, **kwargs), unmask)
    if kwargs.get("default") and not _clear(minion, unmask):
        sources = function(*args, **{**kwargs, "default": _NOTHING})
        value = {key: kwargs["default"] if sources[key] is _NOTHING else item for key, item in value.items()}
    return value


def raw(minion: Minion, key: str | None = None, unmask: bool | None = None) -> Any:
    """The compiled pillar, or one top-level key of it, without compiling it again. Salt: pillar.raw."""
    value = minion.pillar.get(key, {}) if key else minion.pillar
    return mask(value) if unmask is False else value


def ls(minion: Minion, *args: Any, unmask: bool | None = None, **kwargs: Any) -> Any:
    """The top-level keys. Salt: pillar.ls."""
    return [key for key in items(minion, *args, **kwargs) if key != "_errors"]


def keys(minion: Minion, key: str, delimiter: str = ":", unmask: bool | None = None) -> Any:
    """The keys below a key. Salt: pillar.keys."""
    return minion.shared("pillar.keys")(key, delimiter)


def obfuscate(minion: Minion, *args: Any, **kwargs: Any) -> Any:
    """The pillar with each value replaced by the name of its type; masked values count as text. Salt:
    pillar.obfuscate.
    """
    return _types(items(minion, *args, **kwargs))


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_types(item) for item in value]
    return f"<{type(value).__name__}>"


def file_exists(minion: Minion, path: str, saltenv: str | None = None) -> bool:
    """Whether the pillar roots have this file, in one pillar environment or in any. Salt: pillar.file_exists."""
    roots = minion.project.pillar_files
    envs = roots.envs() if saltenv is None else [str(saltenv)]
    return any(roots.find(str(path), env) is not None for env in envs)
