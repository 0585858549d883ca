"""The JSON output of a command on the controller, run without shell; ``%s`` is the target's id.

Invalid output is an error; Salt ignores it. Salt: salt.pillar.cmd_json.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from pushsalt.ext_pillar import Outside


def ext_pillar(minion_id: str, pillar: dict[str, Any], command: str, *, outside: Outside) -> Any:
    output = outside.output([word.replace("%s", minion_id) for word in shlex.split(command)])
    try:
        return json.loads(output) if output.strip() else {}
    except ValueError as exc:
        raise ValueError(f"the output of {command} is not JSON: {exc}") from None
