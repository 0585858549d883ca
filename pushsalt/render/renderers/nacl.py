"""Decrypts the values ``NACL[…]`` in data (or a text that is one). Salt: salt.renderers.nacl, salt.utils.nacl.

Options: ``nacl.config`` with ``sk`` or ``sk_file``, ``pk`` or ``pk_file`` for some boxes, ``box_type``: ``sealedbox``
(the default) or ``secretbox``. Each value is decrypted once per process. Needs PyNaCl.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

import nacl.exceptions
import nacl.public
import nacl.secret

from pushsalt import regular
from pushsalt.render.context import RenderContext
from pushsalt.render.decrypt import PlainTexts, in_depth
from pushsalt.render.problems import SourceError

_VALUE: Final = re.compile(r"^NACL\[(.*)\]$")

plain_texts = PlainTexts()


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    context: RenderContext = kwargs["render_context"]
    config: dict[str, Any] = {}

    def decrypt(value: str | bytes) -> str | bytes:
        match = _VALUE.search(value) if isinstance(value, str) else None
        if match is None:
            return value
        if not config:
            config.update(_config(context, kwargs))
        key, sealed, box = _secret_key(config), match.group(1), str(config["box_type"])
        plain = plain_texts.get((box, key, sealed), lambda: _opened(sealed, key, box))
        context.decrypted(plain)
        return plain

    return in_depth(data, decrypt)


def _config(context: RenderContext, given: Mapping[str, Any]) -> dict[str, Any]:
    folder = str(context.setting("pki_dir") or "/etc/salt/pki").removesuffix("/minion").removesuffix("/master")
    config = {"box_type": "sealedbox", "sk": None, "sk_file": f"{folder}/master/nacl"}
    configured = context.option("nacl.config")
    config.update(configured if isinstance(configured, Mapping) else {})
    config.update({name: given[name] for name in config if name in given})
    return config


def _secret_key(config: Mapping[str, Any]) -> bytes:
    text, source = config.get("sk"), "the option nacl.config: sk"
    if not text:
        source = str(config["sk_file"])
        try:
            text = regular.read_bytes(source).decode("ascii")
        except (OSError, UnicodeDecodeError) as exc:
            hint = "set nacl.config: {sk_file: …} in the configuration"
            raise SourceError(f"no NaCl key: {source}: {exc}", hint=hint) from None
    try:
        return base64.b64decode(str(text).strip())
    except (ValueError, binascii.Error):
        raise SourceError(f"the NaCl key in {source} is not base64") from None


def _opened(sealed: str, key: bytes, box: str) -> str | bytes:
    try:
        content = base64.b64decode(sealed)
        if box == "secretbox":
            plain = nacl.secret.SecretBox(key).decrypt(content)
        else:
            plain = nacl.public.SealedBox(nacl.public.PrivateKey(key)).decrypt(content)
    except (nacl.exceptions.CryptoError, ValueError, TypeError) as exc:
        hint = "was it made for another key (nacl.config)?"
        raise SourceError(f"Could not decrypt a NACL value: {exc}", hint=hint) from None
    try:
        return plain.decode()
    except UnicodeDecodeError:  # a binary secret
        return plain
