"""Answers in JSON or YAML, depending on what the client accepts, and refusals; all with the same headers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from pushsalt.display.safe import plain
from pushsalt.yamldump import dump_yaml

if TYPE_CHECKING:
    from starlette.requests import Request

#: Headers of every answer. Pages have a policy of their own.
HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send forms with the origin null
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_YAML: Final = ("application/x-yaml", "text/yaml", "application/yaml")


class Refused(Exception):
    """A request is refused. ``status``: that of HTTP; ``text``: the reason, for people."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = dict(headers or {})


def denied(text: str = "Authorization error occurred.") -> Refused:
    """The account lacks a permission. Salt: the status is 401 in this case, too."""
    return Refused(401, text)


def answer(request: Request, data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Data as JSON, or as YAML for a client that prefers it."""
    data = plain(data)
    if prefers(request, _YAML, ("application/json",)):
        text, kind = dump_yaml(data, default_flow_style=False), "application/x-yaml"
    else:
        text, kind = json.dumps(data, ensure_ascii=False, allow_nan=False), "application/json"
    return Response(text, status, {**HEADERS, **(headers or {})}, kind)


def refusal(request: Request, refused: Refused) -> Response:
    """The answer to a refused request: ``status`` and ``return``, in the form of Salt's ``/login``."""
    return answer(request, {"status": refused.status, "return": refused.text}, refused.status, refused.headers)


def wants_page(request: Request) -> bool:
    """Whether the client is a browser that requests a page."""
    return prefers(request, ("text/html",), ("application/json", *_YAML))


def prefers(request: Request, kinds: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether the client accepts one of ``kinds``, and prefers none of ``others`` to it."""
    weights = _weights(request.headers.get("accept", ""))
    best = max((weights.get(kind, 0.0) for kind in kinds), default=0.0)
    return best > 0 and all(weights.get(kind, 0.0) < best for kind in others)


def _weights(accept: str) -> dict[str, float]:
    """The types of an ``Accept`` header with their weights; of types with equal weights, the first one wins."""
    weights: dict[str, float] = {}
    for at, row in enumerate(accept[:1000].split(",")):
        kind, *parameters = (word.strip().lower() for word in row.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        weights[kind] = weight - at * 1e-6
    return weights
