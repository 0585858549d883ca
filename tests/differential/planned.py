"""Plans the runs of a case by pushsalt, does them, and compares both. Needs one machine for a file, and no Salt."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pushsalt.api import Client, JobOptions, Selection
from tests.differential import changed
from tests.differential.casefiles import Case, CaseFile
from tests.differential.pair import NAME, Pair
from tests.differential.sidebyside import SLS, Bench, _json
from tests.planning.agreement import wrong

#: States whose return, as Salt's, does not tell all that they change: that their file is another one proves the plan.
UNTOLD = ("acl.absent", "acl.list_absent", "ini.sections_absent", "user.present")
#: How the plan of a user tells of a home that will be made.
HOME = re.compile(r"homeDoesNotExist: (/\S+)")


class PlanBench(Bench):
    """The machine of a case file."""

    def __init__(self, file: CaseFile, pair: Pair) -> None:
        super().__init__(file, Path("/nonexistent"), pair)
        self._clients = contextlib.ExitStack()
        self._client: Client | None = None
        #: (function, mark) -> number of states, of the current case
        self.marks: Counter[tuple[str, str]] = Counter()

    def close(self) -> None:
        self._clients.close()
        super().close()

    def run(self, case: Case) -> list[str]:
        self.marks.clear()
        return super().run(case)

    def _place(self, case: Case) -> None:
        super()._place(case)
        self._clients.close()
        self._client = self._clients.enter_context(Client(self._settings()))

    def _one(self, run: str, case: Case, test: bool = False) -> list[str]:
        if test:
            return []
        pillar = {**self.file.pillar, **case.pillar}
        options = JobOptions(pillar=pillar or None, timeout=self.timeout)
        planned = self._asked(replace(options, test=True, plan=True))
        before = self._untold(planned)
        returns = self._asked(options)
        if not _has_states(planned):
            return [f"{run}: it runs, and could not be planned: {planned}"] if _has_run(returns) else []
        if not _has_run(returns):
            return [f"{run}: it was planned, and does not run: {returns}"]
        self.marks.update((_function(state["tag"]), state["mark"]) for state in planned["states"])
        after = self._untold(planned)
        planned["states"] = [
            state
            for state in planned["states"]
            if before.get(tag := state["tag"]) == after.get(tag) or returns[tag]["changes"]
        ]
        return [f"{run}: {text}" for text in wrong(planned, returns, self._texts(returns), failures=True)]

    def _asked(self, options: JobOptions) -> Any:
        assert self._client is not None
        logging.disable(logging.CRITICAL)  # log output of failed states would hide the differences
        try:
            ret = self._client.apply(Selection(NAME), [SLS], options)[NAME].ret
        finally:
            logging.disable(logging.NOTSET)
        return json.loads(json.dumps(ret, default=_json))

    def _untold(self, planned: Any) -> dict[str, object]:
        """tag -> what is to be seen of the file, of states of ``UNTOLD``."""
        if not _has_states(planned):
            return {}
        found = {}
        for state in planned["states"]:
            home = HOME.search(state["comment"])
            path = home[1] if home else state["tag"].split("_|-")[2]
            if _function(state["tag"]) in UNTOLD and path.startswith("/"):
                found[state["tag"]] = _seen(self.pair.ours.root, path)
        return found

    def _texts(self, returns: dict[str, Any]) -> dict[str, str | None]:
        """path -> text of the files of states after which nothing else changed."""
        found: dict[str, str | None] = {}
        for ret in sorted(returns.values(), key=lambda ret: -ret.get("__run_num__", 0)):
            changes = ret.get("changes")
            if not changes:
                continue
            paths = [str(ret.get("name")), *(changes if isinstance(changes, dict) else ())]
            for path in paths:
                if path.startswith("/"):
                    found[path] = changed.text(self.pair.ours.root, path)
            break
        return found


def _seen(root: Path, path: str) -> object:
    """Text, mode and ACLs of a file, and of all that is below a folder."""
    place = f"{root}{path}"
    try:
        acls = [(name, os.getxattr(place, name)) for name in os.listxattr(place) if "acl" in name]
        below = [_seen(root, f"{path}/{name}") for name in sorted(os.listdir(place))] if os.path.isdir(place) else []
        return changed.text(root, path), os.stat(place).st_mode, acls, below
    except OSError:
        return None


def _has_states(planned: Any) -> bool:
    return isinstance(planned, dict) and "states" in planned


def _has_run(returns: Any) -> bool:
    return isinstance(returns, dict) and all(isinstance(ret, dict) and "changes" in ret for ret in returns.values())


def _function(tag: str) -> str:
    return f"{tag.partition('_|-')[0]}.{tag.rpartition('_|-')[2]}"


@contextlib.contextmanager
def bench(file: CaseFile) -> Iterator[PlanBench]:
    """A new machine for this file, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="pushsalt-plan-"))
    pair = Pair(folder, file.packages, file.repository, [], file.setup, kinds=("ours",))
    found = PlanBench(file, pair)
    try:
        found.start()
        yield found
    finally:
        found.close()
        pair.close()
