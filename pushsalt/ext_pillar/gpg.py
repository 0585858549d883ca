"""Decrypts the PGP messages in the pillar compiled so far: ``gpg: {}``. Salt: salt.pillar.gpg.

Later sources get decrypted values. The keys are those of the renderer ``gpg`` (``gpg_keydir``).
"""

from __future__ import annotations

from typing import Any

from pushsalt.ext_pillar import Outside
from pushsalt.render.problems import SourceError
from pushsalt.render.renderers import gpg


def ext_pillar(minion_id: str, pillar: dict[str, Any], *args: Any, outside: Outside, **kwargs: Any) -> Any:
    try:
        return gpg.render(pillar, render_context=outside.context)
    except SourceError as exc:
        raise ValueError(exc.problem) from None
