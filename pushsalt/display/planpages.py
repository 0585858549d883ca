"""A plan as Markdown, for the comment of a pull request, and as one HTML file.

``shown``: id -> the plan of a target as data, or its error, as ``plan --out json`` has them. Targets with equal plans
are shown together.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pushsalt.display.forecast import WORDS, parts
from pushsalt.display.markdown import cell, fenced

#: Maximum characters of a comment on GitHub.
LIMIT: Final = 65_536
_LEFT: Final = 600
#: Maximum number of ids that are named in a row.
_IDS: Final = 8


def groups(shown: Mapping[str, Any]) -> list[tuple[list[str], Any]]:
    """Ids with equal plans, and their plan; errors and plans with most changes first."""
    by_key: dict[str, tuple[list[str], Any]] = {}
    for id, plan in shown.items():
        key = json.dumps(plan, sort_keys=True, default=repr)
        by_key.setdefault(key, ([], plan))[0].append(id)
    return sorted(by_key.values(), key=lambda group: -_weight(group[1]))


def _weight(plan: Any) -> int:
    if not _is_plan(plan):
        return 1_000_000
    return sum(number for mark, number in plan["counts"].items() if mark != "none")


def _is_plan(plan: Any) -> bool:
    return isinstance(plan, Mapping) and "states" in plan


def changing(plan: Any) -> list[Mapping[str, Any]]:
    """The states of a plan that are not ``none``, or would fail."""
    return [state for state in plan["states"] if state["mark"] != "none" or state["comment"].startswith("It would")]


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - _IDS} more" if len(ids) > _IDS else ""
    return ", ".join(ids[:_IDS]) + more


def _trouble(plan: Any) -> str:
    """The reason why a target has no plan."""
    error = plan.get("error") if isinstance(plan, Mapping) else None
    if isinstance(error, Mapping):
        return f"{error.get('kind')}: {error.get('message')}"
    return "\n".join(map(str, plan)) if isinstance(plan, list) else str(plan)


# Markdown -------------------------------------------------------------------------------------------------------------


def markdown(shown: Mapping[str, Any], about: str, limit: int = LIMIT) -> str:
    """A table of targets, then the states with changes in folded sections. Text above the limit is left out, with a
    note.
    """
    together = groups(shown)
    rows = [f"### Plan: {cell(about)}", "", "| targets | will change | may change | unknown | no change |"]
    rows.append("|---|---|---|---|---|")
    for ids, plan in together:
        numbers = [str(plan["counts"][mark]) for mark in WORDS] if _is_plan(plan) else ["cannot be planned", "", "", ""]
        rows.append(f"| {cell(_named(ids))} | {' | '.join(numbers)} |")
    text = "\n".join(rows) + "\n"
    if len(text) > limit - _LEFT:
        cut = text[: limit - _LEFT].rpartition("\n")[0]
        return f"{cut}\n\n_The rest was left out: a comment has at most {limit} characters._\n"
    left = 0
    for ids, plan in together:
        for piece in _pieces(ids, plan):
            if len(text) + len(piece) <= limit - _LEFT:
                text += piece
            else:
                left += 1
    if left:
        why = f"a comment has at most {limit} characters"
        text += f"\n_{left} states were left out: {why}. `pushsalt plan show` has them._\n"
    return text


def _pieces(ids: list[str], plan: Any) -> Iterator[str]:
    if not _is_plan(plan):
        yield f"\n**{cell(_named(ids))}** cannot be planned\n\n{fenced(_trouble(plan), '')}\n"
        return
    for state in changing(plan):
        function, id, name = parts(state["tag"])
        title = f"{cell(_named(ids))}: {WORDS[state['mark']][0]}: {function} {name}" + (
            f" ({id})" if id != name else ""
        )
        yield f"\n<details><summary>{html.escape(title)}</summary>\n\n{fenced(_body(state), 'diff')}\n\n</details>\n"


def _body(state: Mapping[str, Any]) -> str:
    """The reasons, difference and comment of one state."""
    rows = [f"because of {function} {id}" for function, id, _ in map(parts, state["because"])]
    if state["diff"]:
        rows.append(state["diff"].rstrip("\n"))
    values = {
        key: value for key, value in state["changes"].items() if not (state["diff"] and key in ("diff", "newfile"))
    }
    rows += [json.dumps(values, ensure_ascii=False, default=repr)] if values else []
    if not state["diff"] or state["mark"] == "unknown":
        rows.append(state["comment"])
    return "\n".join(rows)


# HTML -----------------------------------------------------------------------------------------------------------------

_STYLE: Final = """
:root{color-scheme:light dark;--add:#1a7f37;--del:#b3261e;--dim:#59636e;--line:#d1d9e0}
@media (prefers-color-scheme:dark){:root{--add:#57d27d;--del:#ff9a93;--dim:#a0aab4;--line:#3d444d}}
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{border:1px solid var(--line);padding:.3rem .6rem;text-align:left}
pre{overflow-x:auto;padding:.6rem;border:1px solid var(--line)}summary{cursor:pointer;padding:.2rem 0}
.add{color:var(--add)}.del{color:var(--del)}.dim{color:var(--dim)}
@media print{details::details-content{display:block;content-visibility:visible}}
"""


def page(shown: Mapping[str, Any], about: str) -> str:
    """One HTML file without scripts and references to other files."""
    together = groups(shown)
    rows = []
    for ids, plan in together:
        cells = "".join(f"<td>{plan['counts'][mark]}</td>" for mark in WORDS) if _is_plan(plan) else _NO_PLAN
        rows.append(f"<tr><th scope='row'>{html.escape(', '.join(ids))}</th>{cells}</tr>")
    heads = "".join(f"<th scope='col'>{words}</th>" for words, _ in WORDS.values())
    sections = "".join(_section(ids, plan) for ids, plan in together)
    title = f"Plan: {html.escape(about)}"
    policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>{policy}"
        f"<meta name='viewport' content='width=device-width'><title>{title}</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{title}</h1><table><thead><tr><th scope='col'>targets</th>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{sections}</main></body></html>\n"
    )


_NO_PLAN: Final = "<td colspan='4'>cannot be planned</td>"


def _section(ids: list[str], plan: Any) -> str:
    head = f"<h2>{html.escape(', '.join(ids))}</h2>"
    if not _is_plan(plan):
        return f"{head}<pre>{html.escape(_trouble(plan))}</pre>"
    states = changing(plan)
    if not states:
        return f"{head}<p class='dim'>no change</p>"
    return head + "".join(map(_state, states))


def _state(state: Mapping[str, Any]) -> str:
    function, id, name = parts(state["tag"])
    title = f"{WORDS[state['mark']][0]}: {function} {name}" + (f" ({id})" if id != name else "")
    rows = []
    for row in _body(state).split("\n"):
        kind = {"+": "add", "-": "del", "@": "dim"}.get(row[:1], "")
        text = html.escape(row)
        rows.append(f"<span class='{kind}'>{text}</span>" if kind else text)
    body = "\n".join(rows)
    opened = " open" if len(rows) <= 40 else ""
    return f"<details{opened}><summary>{html.escape(title)}</summary><pre>{body}</pre></details>"
