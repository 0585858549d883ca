"""A webhook: each return is a POST of JSON, signed if there is a ``secret``. pushsalt's own; Salt has none.

::

    returner.http:
      url: https://hooks.example/pushsalt
      secret: sdb://vault/hooks/pushsalt     # X-Pushsalt-Signature: sha256=HEX, the HMAC of the body
      retries: 3                             # after a 5xx or no answer, with back-off: 0.5 s, 1 s, 2 s …

The body is what ``jobs show`` has of this target under ``Result``. ``X-Pushsalt-Delivery`` is the same text each time
that a return is sent, so that a receiver can tell what it has. Events are posted as ``{"events": [...]}``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pushsalt.returners import Outside, Trouble
from pushsalt.returners.posting import Answer, Unanswered, checked, opener, post, shown

OPTIONS: Final = {"url": str, "secret": "", "retries": 3, "timeout": 5.0, "verify": ""}
SECRETS: Final = ("secret",)

#: the first pause; each is twice the one before
_PAUSE: Final = 0.5
_MOST_RETRIES: Final = 10
#: Statuses with which a server rejects a body permanently. Others (401, 404 …) can be fixed in the configuration.
_REFUSED: Final = (400, 405, 406, 409, 410, 411, 413, 414, 415, 422)
#: the keys of a return that are sent; the receiver does not need the profile
_KEYS: Final = ("return", "retcode", "success", "jid", "fun", "fun_args", "id", "phases")


def returner(ret: Mapping[str, Any], *, outside: Outside) -> None:
    _send({key: ret[key] for key in _KEYS if key in ret}, outside)


def event_return(events: Sequence[Mapping[str, Any]], *, outside: Outside) -> None:
    _send({"events": list(events)}, outside)


def signature(secret: str, body: bytes) -> str:
    """The value of the header ``X-Pushsalt-Signature``."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _send(data: Mapping[str, Any], outside: Outside) -> None:
    options = outside.options
    url = checked(options["url"], "returner.http.url")
    opening = outside.context.get("opener")
    if opening is None:
        opening = outside.context["opener"] = opener(options["verify"], "returner.http.verify")
    body = json.dumps(data, allow_nan=False, default=str).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "pushsalt", "X-Pushsalt-Delivery": outside.key}
    if options["secret"]:
        headers["X-Pushsalt-Signature"] = signature(options["secret"], body)
    end = time.monotonic() + outside.limit
    pause = _PAUSE
    for left in range(min(options["retries"], _MOST_RETRIES), -1, -1):
        over = time.monotonic() + pause >= end
        try:
            answer = post(opening, url, body, headers, min(options["timeout"], max(0.1, end - time.monotonic())))
        except Unanswered:
            if not left or over:
                raise
        else:
            if answer.status < 500:
                _check(url, answer)
                return
            if not left or over:
                raise Trouble(f"{shown(url)} answers {answer.status}", "see its log")
        time.sleep(pause)
        pause *= 2


def _check(url: str, answer: Answer) -> None:
    if answer.status >= 300:
        refused = answer.status in _REFUSED
        hint = "see its documentation for what it accepts" if refused else "are `url` and `secret` right?"
        raise Trouble(f"{shown(url)} answers {answer.status}", hint, refused=refused)
