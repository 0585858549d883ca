"""Execution functions that run on the controller, one file per Salt module.

The public functions of a file take the ``Minion`` of the target, then Salt's arguments. They are found by name
(``pushsalt.modules.controller``). A function that runs states returns a ``Lowstate``: the caller runs its chunks, and
the returns of the run are the function's return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError, RenderError

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion


def decrypt_override(minion: Minion, pillar: Any, renderer: str) -> Any:
    """The argument ``pillar`` of a function, decrypted according to ``pillar_enc``. Raises FunctionError.

    The argument may also be one ciphertext of YAML.
    """
    from pushsalt.yamlio import load_yaml

    try:
        plain = minion.decrypt(pillar, renderer.lower())
        return load_yaml(plain, "the decrypted pillar") if isinstance(plain, str) else plain
    except RenderError as exc:
        text = f"Failed to decrypt pillar override: {exc.message}"
        raise FunctionError("exception", text, exc.hint or "check pillar_enc", "CommandExecutionError") from None
