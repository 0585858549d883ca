"""Execution functions that only the controller can answer, one Salt module a file.

A file's public functions take the ``Minion`` they answer for, then Salt's own arguments. They are found by name
(``pushsalt.modules.controller``). One that wants chunks run on the target returns a ``Lowstate``: the caller runs them,
and the return of the run is the function's return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError, RenderError

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion


def decrypt_override(minion: Minion, pillar: Any, renderer: str) -> Any:
    """The argument ``pillar`` of a function in plain, as its ``pillar_enc`` says. Raises FunctionError.

    All of it may be one ciphertext, which is YAML then.
    """
    from pushsalt.yamlio import load_yaml

    try:
        plain = minion.decrypt(pillar, renderer.lower())
        return load_yaml(plain, "the decrypted pillar") if isinstance(plain, str) else plain
    except RenderError as exc:
        text = f"Failed to decrypt pillar override: {exc.message}"
        raise FunctionError("exception", text, exc.hint or "check pillar_enc", "CommandExecutionError") from None
