"""Decrypts the PGP messages in text or data with the GnuPG of the controller. Salt: salt.renderers.gpg.

Options: ``gpg_keydir`` (the key ring's folder; ``gpgkeys`` in ``config_dir`` when it is not set) and
``gpg_decrypt_must_succeed``. A message is decrypted once per process for all targets.
"""

from __future__ import annotations

import logging
import posixpath
import re
from typing import Any, Final

from pushsalt.render.context import RenderContext, RunProgram
from pushsalt.render.decrypt import PlainTexts, blocks_in_depth
from pushsalt.render.problems import SourceError

log = logging.getLogger(__name__)

_MESSAGE: Final = re.compile(rb"-----BEGIN PGP MESSAGE-----.*?-----END PGP MESSAGE-----", re.DOTALL)

plain_texts = PlainTexts()


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    """Texts without a message are unchanged; bytes that are UTF-8 become text; newlines after a message are removed.

    With ``translate_newlines`` a backslash and an n in a text are a newline.
    """
    context: RenderContext = kwargs["render_context"]
    translate = bool(kwargs.get("translate_newlines"))
    return blocks_in_depth(data, _MESSAGE, lambda text: _plain(text, context), translate=translate, bytes_as_text=True)


def key_folder(context: RenderContext) -> str:
    return str(context.option("gpg_keydir") or posixpath.join(context.setting("config_dir") or "/etc/salt", "gpgkeys"))


def _plain(message: bytes, context: RenderContext) -> bytes:
    message = message.replace(rb"\n", b"\n")
    folder = key_folder(context)
    if context.run is None:
        raise SourceError("gpg is not available here: this source is rendered without outside programs")
    run: RunProgram = context.run
    try:
        plain = plain_texts.get(("gpg", folder, message), lambda: _decrypted(message, folder, run))
    except SourceError as exc:
        if context.settings.get("gpg_decrypt_must_succeed", True):
            raise
        log.warning("%s: %s", context.id, exc.problem)
        return message
    context.decrypted(plain)
    return plain if isinstance(plain, bytes) else plain.encode()


def _decrypted(message: bytes, folder: str, run: RunProgram) -> bytes:
    argv = ["gpg", "--homedir", folder, "--status-fd", "2", "--no-tty", "--batch", "--decrypt"]
    try:
        done = run(argv, input=message)
    except FileNotFoundError:
        raise SourceError("GPG unavailable: there is no program gpg", hint="install GnuPG on this machine") from None
    except (OSError, TimeoutError) as exc:
        raise SourceError(f"GPG unavailable: gpg cannot be run: {exc}") from None
    # for a message with an unknown signature the exit status is not 0 either
    if done.code == 0 or b"[GNUPG:] DECRYPTION_OKAY" in done.err:
        return done.out
    errors = [line for line in done.err.decode("utf-8", "replace").splitlines() if not line.startswith("[GNUPG:]")]
    raise SourceError(
        f"Could not decrypt a PGP message: {'; '.join(errors) or f'gpg ended with code {done.code}'}",
        hint=f"the secret key must be in {folder} (option gpg_keydir), and be usable without asking for a passphrase",
    )
