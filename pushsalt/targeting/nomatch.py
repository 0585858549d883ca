"""The errors of expressions that select nothing, with suggestions of ids and resources."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any, Final

from pushsalt.errors import NoTargetError, UsageError
from pushsalt.inventory import Inventory
from pushsalt.nearest import nearest
from pushsalt.targeting.compound import Nodegroups, parse
from pushsalt.targeting.fleet import Fleet, ManagedResources

#: Limit for the resources whose ids are compared for suggestions.
_COMPARED: Final = 5000
#: Terms and operators of compound expressions.
_COMPOUND: Final = re.compile(r"(?:^|[\s(])[A-Z]@.|\s(?:and|or)\s|^not\s")


def no_match(
    expr: Any, tgt_type: str, inventory: Inventory, managed: ManagedResources, nodegroups: Nodegroups | None = None
) -> NoTargetError:
    """The error of an expression that selects no target, with suggestions."""
    words = expr if isinstance(expr, str) else ",".join(map(str, expr))
    if not inventory.ids:
        return NoTargetError(f"no target matches {words!r}: the inventory is empty", hint="add hosts to it")
    kind = "" if tgt_type == "glob" else f" ({tgt_type})"
    plain = re.sub(r"\b[A-Z]@|\b(and|or|not)\b", " ", words)
    near = inventory.nearest(plain)
    hints = [f"nearest ids: {', '.join(near)}"] if near else []
    hints = _of_groups(words, tgt_type, inventory, {} if nodegroups is None else nodegroups) + hints
    if managed.has_any():
        hints = _of_resources(words, tgt_type, plain, inventory, managed) + hints
    if tgt_type == "glob" and _COMPOUND.search(words):
        hints = [_compound_hint(words)]
    if words.endswith(".plan"):
        hints = [f"for a plan file: there is no file {words} here", *hints]
    if not hints:
        hints = [f"the inventory has {', '.join(inventory.ids[:5])}{' ...' if len(inventory.ids) > 5 else ''}"]
    return NoTargetError(f"no target matches {words!r}{kind}", "; ".join(hints), words)


def _compound_hint(words: str) -> str:
    """A hint for a compound expression that was given without -C, and so was taken for a glob."""
    name = words[2:]
    short = f"-N {shlex.quote(name)} or " if words.startswith("N@") and name == "".join(name.split()) else ""
    return f"a target without an option is a glob over ids: {short}-C {shlex.quote(words)}"


def _of_groups(words: str, tgt_type: str, inventory: Inventory, nodegroups: Nodegroups) -> list[str]:
    """Hints with the groups whose names were used as ids, or are similar."""
    if tgt_type == "nodegroup":
        groups = {name.lower(): name for name in (*nodegroups, *inventory.groups)}
        if words in groups.values():
            return []
        near = [groups[name] for name in nearest(words.lower(), groups, 3, 0.5)]
        hints = [f"nearest groups: {', '.join(near)}"] if near else []
        return ["'*' selects all targets", *hints] if words == "all" else hints
    how = "N@" if tgt_type == "compound" else "-N "
    hints = []
    for word in dict.fromkeys(words.replace(",", " ").split()):
        if nodegroups.get(word) is not None or word in inventory.groups:
            kind = "group" if word in inventory.groups else "nodegroup"
            hints.append(f"{word} is a {kind}: {how}{word}")
    return hints[:3]


def no_such_ids(
    missing: Sequence[str], inventory: Inventory, managed: ManagedResources, nodegroups: Nodegroups | None = None
) -> NoTargetError:
    """The error of a list with unknown ids, with suggestions."""
    words = " ".join(missing[:10])
    hints = _of_resources(words, "list", words, inventory, managed) if managed.has_any() else []
    hints += _of_groups(words, "list", inventory, {} if nodegroups is None else nodegroups)
    near = inventory.nearest(words)
    hints += [f"nearest ids: {', '.join(near)}"] if near else []
    nor = ", and no such resource" if managed.has_any() else ""
    hint = "; ".join(hints) or "remove it from the list, or add it to the inventory"
    return NoTargetError(f"no such id in the inventory{nor}: {', '.join(missing)}", hint)


def _of_resources(words: str, tgt_type: str, plain: str, inventory: Inventory, managed: ManagedResources) -> list[str]:
    if tgt_type == "glob":
        selected = _keys(words, inventory, managed)
        if selected:
            return [f"a glob does not match names of resources; -C {words!r} selects {selected}"]
    gone = {key: owner for word in plain.replace(",", " ").split() for key, owner in managed.elsewhere(word).items()}
    if gone:
        return [f"{key} is managed by {owner}, which is not in the inventory" for key, owner in list(gone.items())[:3]]
    everything = managed.all()
    if len(everything) > _COMPARED:
        return []
    keys = {key.partition(":")[2].lower(): key for key in everything}
    near = [key for word in plain.replace(",", " ").split() for key in nearest(word.lower(), keys, 3, 0.5)]
    names = ", ".join(dict.fromkeys(keys[id] for id in near))
    return [f"nearest resources: {names}"] if names else []


def _keys(words: str, inventory: Inventory, managed: ManagedResources) -> str:
    """The first keys that a compound expression selects."""
    try:
        keys = Fleet(inventory, None, managed).select(parse(words, "compound"))
    except UsageError:
        return ""
    return ", ".join(sorted(keys)[:3]) + (" ..." if len(keys) > 3 else "")
