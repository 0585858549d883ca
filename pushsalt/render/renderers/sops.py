"""Decrypts a whole YAML or JSON file that sops has encrypted, with the program sops of the controller: ``#!sops|yaml``.

sops finds the keys itself (its environment, the user's key files, clouds); if they are set, it uses the first file of
``age_identity`` and the key ring in ``gpg_keydir``. A file is decrypted once per process. The first line
``#!sops|yaml`` must be added above the encrypted file by hand; it is not passed to sops.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from pushsalt.render.context import RenderContext, RunProgram
from pushsalt.render.decrypt import PlainTexts
from pushsalt.render.problems import SourceError
from pushsalt.render.renderers.age import identities
from pushsalt.render.source import as_content
from pushsalt.yamlio import YamlError, load_yaml

_SEALED: Final = "ENC["

plain_texts = PlainTexts()


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> str:
    """The decrypted text. Values that were encrypted are added to the redactor."""
    context: RenderContext = kwargs["render_context"]
    content = as_content(data) if hasattr(data, "read") else data
    if isinstance(content, bytes):
        content = content.decode("utf-8", "replace")
    if not isinstance(content, str):
        raise SourceError("sops decrypts text, not data", hint="put it first: #!sops|yaml")
    if context.run is None:
        raise SourceError("sops is not available here: this source is rendered without outside programs")
    run: RunProgram = context.run
    text = content.partition("\n")[2] if content.startswith("#!") else str(content)
    kind = "json" if text.lstrip().startswith("{") else "yaml"
    places = []
    files = identities(context)
    if files:
        places.append(f"SOPS_AGE_KEY_FILE={files[0]}")
    if context.option("gpg_keydir"):
        places.append(f"GNUPGHOME={context.option('gpg_keydir')}")
    key = ("sops", tuple(places), text)
    plain = plain_texts.get(key, lambda: _decrypted(text, kind, places, run))
    assert isinstance(plain, str)
    for secret in _secrets(_read(text, kind), _read(plain, kind)):
        context.decrypted(secret)
    return plain


def _decrypted(text: str, kind: str, places: list[str], run: RunProgram) -> str:
    argv = ["env", *places, "sops", "--decrypt", "--input-type", kind, "--output-type", kind, "/dev/stdin"]
    try:
        done = run(argv, input=text.encode())
    except (OSError, TimeoutError) as exc:
        raise SourceError(f"sops cannot be run: {exc}") from None
    if done.code == 0:
        return done.out.decode("utf-8", "replace")
    if done.code == 127:
        raise SourceError("there is no program sops", hint="install sops on this machine")
    message = " ".join(done.err.decode("utf-8", "replace").split())[:600]
    raise SourceError(
        f"Could not decrypt with sops: {message or f'it ended with code {done.code}'}",
        hint="was the file encrypted for a key that this machine has? age_identity and gpg_keydir name keys",
    )


def _read(text: str, kind: str) -> Any:
    try:
        return json.loads(text) if kind == "json" else load_yaml(text, "sops")
    except (YamlError, ValueError, RecursionError):  # the next renderer reports an invalid text
        return None


def _secrets(sealed: Any, plain: Any) -> Iterator[str]:
    """The decrypted texts at the places of ciphertexts."""
    if isinstance(sealed, dict) and isinstance(plain, dict):
        for key, value in sealed.items():
            if key in plain:
                yield from _secrets(value, plain[key])
    elif isinstance(sealed, list) and isinstance(plain, list):
        for value, item in zip(sealed, plain, strict=False):
            yield from _secrets(value, item)
    elif isinstance(sealed, str) and sealed.startswith(_SEALED) and plain is not None:
        yield str(plain)
