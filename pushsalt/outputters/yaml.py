"""One YAML document, ``{target id: return}``."""

from __future__ import annotations

from typing import Any

import yaml

from pushsalt.display.safe import UNSAFE, plain, unicode_escape

_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Base):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _str(dumper: Any, text: str) -> Any:
    # Double quotes where a character needs an escape; a literal block where lines make it readable.
    style = '"' if UNSAFE.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _str)
_Dumper.add_multi_representer(str, _str)


def output(data: Any, **kw: Any) -> str:
    """The document as text; keys keep their order."""
    text = yaml.dump(
        plain(data), Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=False, width=2**20
    )
    return unicode_escape(text.removesuffix("...\n"))
