"""The options and targets of a step's job, from the arguments of ``salt.state`` and ``salt.function``."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pushsalt.job import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pushsalt.job import JobOptions
    from pushsalt.orchestrate.jobs import Jobs


def options(of_orchestration: JobOptions, given: Mapping[str, Any]) -> JobOptions:
    """The options of a job: those of the orchestration without its pillar and dry run, with the step's batch.

    Whether states run dry is said by the step, by the argument ``test`` of the function.
    """
    batch = str(given["batch"]) if given.get("batch") else None
    return replace(
        of_orchestration,
        test=False,
        pillar=None,
        saltenv=None,
        pillarenv=None,
        batch=batch,
        unknown_states_run=True,
    )


def subset(client: Jobs, selection: Selection, given: Mapping[str, Any]) -> Selection:
    """The selection of ``subset`` targets by chance, as Salt chooses them. Raises NoTargetError."""
    number = given.get("subset")
    if not number:
        return selection
    ids = client.target(selection)
    chosen = random.sample(ids, min(int(number), len(ids)))
    return Selection(",".join(chosen), "list")
