"""The YAML output of a shell command on the controller; ``%s`` is the target's id. Salt: salt.pillar.cmd_yaml.

Invalid output is an error; Salt ignores it.
"""

from __future__ import annotations

import shlex
from typing import Any

from pushsalt.ext_pillar import Outside
from pushsalt.yamlio import load_yaml


def ext_pillar(minion_id: str, pillar: dict[str, Any], command: str, *, outside: Outside) -> Any:
    output = outside.output(["/bin/sh", "-c", command.replace("%s", shlex.quote(minion_id))])
    return load_yaml(output.decode("utf-8"), f"the output of {command}")
