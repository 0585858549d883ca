"""A message in a Slack channel for each return, by an incoming webhook. Salt: salt.returners.slack_webhook_return.

::

    returner.slack_webhook:
      webhook: sdb://vault/slack/webhook     # what is behind https://hooks.slack.com/services/, or a whole URL
      success_title: '{id} | Succeeded'      # {id}, {fun} and {jid} of the return
      failure_title: '{id} | Failed'
      author_icon: https://example.org/icon.png
      show_tasks: true                       # the IDs of changed and failed states

Texts of returns are escaped: no target can mention a channel, or hide a link behind other words.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pushsalt.returners import Outside, Trouble
from pushsalt.returners.posting import checked, opener, post, shown

OPTIONS: Final = {
    "webhook": str,
    "success_title": "{id} | Succeeded",
    "failure_title": "{id} | Failed",
    "author_icon": "",
    "show_tasks": False,
}
SECRETS: Final = ("webhook",)

_SERVICES: Final = "https://hooks.slack.com/services/"
#: maximum characters of one text, and maximum tasks of one list
_LONGEST: Final = 1000
_MOST_TASKS: Final = 50


def returner(ret: Mapping[str, Any], *, outside: Outside) -> None:
    options = outside.options
    webhook = options["webhook"]
    url = webhook if "://" in webhook else _SERVICES + webhook.lstrip("/")
    checked(url, "returner.slack_webhook.webhook")
    opening = outside.context.get("opener")
    if opening is None:
        opening = outside.context["opener"] = opener("", "")
    body = urllib.parse.urlencode({"payload": json.dumps(payload(ret, options))}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "User-Agent": "pushsalt"}
    answer = post(opening, url, body, headers, outside.limit)
    if answer.status >= 300:
        raise Trouble(
            f"{shown(url)} answers {answer.status}: {_words(answer.text)}",
            "is the webhook still there?" if answer.status in (403, 404, 410) else "Slack's status page may say why",
            refused=answer.status == 400,
        )


def payload(ret: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The message: a head, then how many states are unchanged, changed and failed."""
    good = bool(ret.get("success"))
    title = _filled(options["success_title"] if good else options["failure_title"], ret)
    lines = [f"Function: {_words(ret.get('fun'))}", f"JID: {_words(ret.get('jid'))}"]
    if ret.get("fun_args"):
        lines.insert(1, f"Function Args: {_words(json.dumps(ret['fun_args'], default=str))}")
    head = {
        "fallback": title,
        "color": "#272727",
        "author_name": _words(ret.get("id")),
        "author_icon": options["author_icon"],
        "title": f"Success: {good}",
        "pretext": title,
    }
    states = list(_states(ret.get("return")))
    if not states:
        text = json.dumps(ret.get("return"), default=str)
        return {"attachments": [{**head, "text": "\n".join([*lines, f"Return: {_words(text)}"])}]}
    seconds = sum(_number(state.get("duration")) for _, state in states) / 1000
    lines += [f"Total: {len(states)}", f"Duration: {seconds:.2f} secs"]
    failed = [name for name, state in states if state.get("result") is False]
    changed = [name for name, state in states if state.get("changes") and state.get("result") is not False]
    unchanged = {"color": "good", "title": f"Unchanged: {len(states) - len(changed) - len(failed)}"}
    tasks = bool(options["show_tasks"])
    return {
        "attachments": [
            {**head, "text": "\n".join(lines)},
            unchanged,
            _listed("warning", "Changed", changed, tasks),
            _listed("danger", "Failed", failed, tasks),
        ]
    }


def _listed(color: str, word: str, names: list[str], tasks: bool) -> dict[str, Any]:
    fields = [{"value": name, "short": False} for name in names[:_MOST_TASKS]] if tasks else []
    if tasks and len(names) > _MOST_TASKS:
        fields.append({"value": f"and {len(names) - _MOST_TASKS} more", "short": False})
    return {"color": color, "title": f"{word}: {len(names)}", **({"fields": fields} if fields else {})}


def _states(returned: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each state's return with its name for people, in the order of the run."""
    if not isinstance(returned, Mapping):
        return
    states = {tag: state for tag, state in returned.items() if isinstance(state, Mapping) and "_|-" in str(tag)}
    for tag, state in sorted(states.items(), key=lambda each: _number(each[1].get("__run_num__"))):
        parts = str(tag).split("_|-")
        yield _words(f"{state.get('__sls__')}.sls | {parts[1]}"), state


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _filled(title: str, ret: Mapping[str, Any]) -> str:
    for word in ("id", "fun", "jid"):
        title = title.replace(f"{{{word}}}", _words(ret.get(word)))
    return title


def _words(value: Any) -> str:
    """A text of a return: shortened, and without Slack's markup."""
    text = str(value)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
    text = "".join(char if char.isprintable() or char == "\n" else " " for char in text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
