"""Salt's ``pillar`` functions as a caller sees them: real values in templates, masked ones on a command line.

Salt 3008 masks what these print unless ``unmask=True`` (``pillar_mask_output: false`` changes it for ``items`` alone);
``raw`` shows the values as they are. The look-ups are those of ``thin/modules/pillar.py``, used on both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.pillar.mask import mask

if TYPE_CHECKING:
    from pushsalt.run.minion import Minion


def _shown(minion: Minion, value: Any, unmask: bool | None) -> Any:
    """The value, masked unless the caller said otherwise or is a template."""
    return value if (minion.rendering if unmask is None else unmask) else mask(value)


def _fresh(minion: Minion, pillar: Any = None, pillarenv: str | None = None, saltenv: str | None = None) -> Minion:
    return minion.derive(pillar=pillar, pillarenv=pillarenv, saltenv=saltenv)


def get(
    minion: Minion, key: str, default: Any = KeyError, *args: Any, unmask: bool | None = None, **kwargs: Any
) -> Any:
    """The value of a key (``a:b`` descends), or the default. Salt: pillar.get."""
    minion = _fresh(minion, None, kwargs.pop("pillarenv", None), kwargs.pop("saltenv", None))
    if default is not KeyError:
        kwargs["default"] = default
    return _shown(minion, minion.shared("pillar.get")(key, *args, **kwargs), unmask)


def items(
    minion: Minion,
    *args: Any,
    pillar: Any = None,
    pillar_enc: str | None = None,
    pillarenv: str | None = None,
    saltenv: str | None = None,
    unmask: bool | None = None,
) -> Any:
    """The pillar, compiled afresh. Salt: pillar.items."""
    minion = _fresh(minion, pillar, pillarenv, saltenv)
    if unmask is None and not minion.opts.get("pillar_mask_output", True):
        unmask = True
    return _shown(minion, minion.pillar, unmask)


data = items


def item(minion: Minion, *args: Any, unmask: bool | None = None, **kwargs: Any) -> Any:
    """The values of these keys, as a dict. Salt: pillar.item."""
    minion = _fresh(minion, None, kwargs.pop("pillarenv", None), kwargs.pop("saltenv", None))
    return _shown(minion, minion.shared("pillar.item")(*args, **kwargs), unmask)


def raw(minion: Minion, key: str | None = None, unmask: bool | None = None) -> Any:
    """The pillar in memory as it is (or one top-level key of it). Salt: pillar.raw."""
    value = minion.pillar.get(key, {}) if key else minion.pillar
    return mask(value) if unmask is False else value


def ls(minion: Minion, *args: Any, unmask: bool | None = None, **kwargs: Any) -> Any:
    """The top-level keys. Salt: pillar.ls."""
    return list(items(minion, *args, **kwargs))


def keys(minion: Minion, key: str, delimiter: str = ":", unmask: bool | None = None) -> Any:
    """The keys below a key. Salt: pillar.keys."""
    return minion.shared("pillar.keys")(key, delimiter)


def obfuscate(minion: Minion, *args: Any, **kwargs: Any) -> Any:
    """The pillar with each value replaced by the name of its type. Salt: pillar.obfuscate."""
    kwargs["unmask"] = True
    return _types(items(minion, *args, **kwargs))


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_types(item) for item in value]
    return f"<{type(value).__name__}>"
