"""Decrypts the armored age files in text or data with the program age of the controller.

Option: ``age_identity``, the files of identities (or SSH keys) without passphrase. A file is decrypted once per
process for all targets. ``age -r RECIPIENT -a`` encrypts one.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pushsalt.render.context import RenderContext, RunProgram
from pushsalt.render.decrypt import PlainTexts, blocks_in_depth
from pushsalt.render.problems import SourceError

_FILE: Final = re.compile(rb"-----BEGIN AGE ENCRYPTED FILE-----.*?-----END AGE ENCRYPTED FILE-----", re.DOTALL)

plain_texts = PlainTexts()


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    """As the renderer gpg: texts without an age file are unchanged; newlines after one are removed.

    With ``translate_newlines`` a backslash and an n in a text are a newline.
    """
    context: RenderContext = kwargs["render_context"]
    translate = bool(kwargs.get("translate_newlines"))
    return blocks_in_depth(data, _FILE, lambda text: _plain(text, context), translate=translate)


def identities(context: RenderContext) -> tuple[str, ...]:
    """The files of the configuration's ``age_identity``; targets have none of their own."""
    paths = context.private.get("age_identity") or ()
    return (paths,) if isinstance(paths, str) else tuple(map(str, paths))


def _plain(message: bytes, context: RenderContext) -> bytes:
    # armored lines must not have surrounding white space, which indented YAML or Jinja may add
    message = b"\n".join(line.strip() for line in message.replace(rb"\n", b"\n").splitlines() if line.strip()) + b"\n"
    if context.run is None:
        raise SourceError("age is not available here: this source is rendered without outside programs")
    run: RunProgram = context.run
    files = identities(context)
    if not files:
        raise SourceError("no age identity is configured", hint="set age_identity: /path/to/keys.txt")
    plain = plain_texts.get(("age", files, message), lambda: _decrypted(message, files, run))
    context.decrypted(plain)
    return plain if isinstance(plain, bytes) else plain.encode()


def _decrypted(message: bytes, files: tuple[str, ...], run: RunProgram) -> bytes:
    options = [word for file in files for word in ("--identity", file)]
    try:  # in a new session, since it would ask for a passphrase on the terminal and wait
        done = run(["setsid", "--wait", "age", "--decrypt", *options], input=message)
    except FileNotFoundError:
        raise SourceError("age cannot be run: there is no program setsid", hint="install util-linux") from None
    except (OSError, TimeoutError) as exc:
        raise SourceError(f"age cannot be run: {exc}") from None
    if done.code == 0:
        return done.out
    if done.code == 127 or (done.code == 1 and b"failed to execute age" in done.err):
        raise SourceError("there is no program age", hint="install age on this machine")
    errors = [line.removeprefix("age: error: ") for line in done.err.decode("utf-8", "replace").splitlines()]
    words = "; ".join(line for line in errors if line and not line.startswith("age: ")) or f"it ended with {done.code}"
    raise SourceError(
        f"Could not decrypt an age file: {words}",
        hint=f"an identity for it must be in {', '.join(files)} (option age_identity), and ask for no passphrase",
    )
