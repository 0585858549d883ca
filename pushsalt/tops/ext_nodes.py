"""Top data of an external node classifier: the command of ``master_tops: {ext_nodes: COMMAND}``, with the target's id.

It prints YAML: ``{classes: [SLS, …] or {SLS: …}, environment: SALTENV}``. It is run without shell. Salt:
salt.tops.ext_nodes.
"""

from __future__ import annotations

import shlex
from typing import Any

from pushsalt.ext_pillar import Outside
from pushsalt.yamlio import load_yaml


def top(*, outside: Outside, **kwargs: Any) -> dict[str, list[Any]]:
    command = str(outside.opts["master_tops"]["ext_nodes"])
    done = outside.run([*shlex.split(command), outside.context.id])
    if done.code:
        message = done.err.decode("utf-8", "replace").strip()
        raise OSError(f"{command} ended with code {done.code}: {message or 'it said nothing'}")
    data = load_yaml(done.out.decode("utf-8"), f"the output of {command}") or {}
    if not isinstance(data, dict):
        raise TypeError(f"the output of {command} is no mapping with `classes`")
    classes = data.get("classes")
    if not isinstance(classes, list | dict):
        return {}
    return {str(data.get("environment", "base")): list(classes)}
