"""Names of runner functions that are treated in a special way."""

from __future__ import annotations

from typing import Final

#: Runner functions that are orchestrations.
ORCHESTRATIONS: Final = frozenset({"state.orchestrate", "state.orch", "state.sls"})
