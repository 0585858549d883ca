"""Plans the runs of a case by pushsalt, executes them, and compares both. Needs one machine per file, and no Salt."""

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

#: States whose return, like Salt's, does not contain all changes: if their file has changed, the plan was right.
UNREPORTED = ("acl.absent", "acl.list_absent", "ini.sections_absent", "user.present")
#: The part of a planned user's comment that names the home that will be created.
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

    def _run_once(self, run: str, case: Case, test: bool = False) -> list[str]:
        if test:
            return []
        pillar = {**self.file.pillar, **case.pillar}
        options = JobOptions(pillar=pillar or None, timeout=self.timeout)
        planned = self._apply(replace(options, test=True, plan=True))
        before = self._unreported_files(planned)
        returns = self._apply(options)
        if not _has_states(planned):
            return [f"{run}: it runs, and could not be planned: {planned}"] if _has_run(returns) else []
        if not _has_run(returns):
            return [f"{run}: it was planned, and does not run: {returns}"]
        self.marks.update((_function(state["tag"]), state["mark"]) for state in planned["states"])
        after = self._unreported_files(planned)
        planned["states"] = [
            state
            for state in planned["states"]
            if before.get(tag := state["tag"]) == after.get(tag) or returns[tag]["changes"]
        ]
        return [f"{run}: {text}" for text in wrong(planned, returns, self._texts(returns), failures=True)]

    def _apply(self, options: JobOptions) -> Any:
        assert self._client is not None
        logging.disable(logging.CRITICAL)  # log output of failed states would hide the differences
        try:
            ret = self._client.apply(Selection(NAME), [SLS], options)[NAME].ret
        finally:
            logging.disable(logging.NOTSET)
        return json.loads(json.dumps(ret, default=_json))

    def _unreported_files(self, planned: Any) -> dict[str, object]:
        """tag -> the state of the file, for states of ``UNREPORTED``."""
        if not _has_states(planned):
            return {}
        file_states = {}
        for state in planned["states"]:
            home = HOME.search(state["comment"])
            path = home[1] if home else state["tag"].split("_|-")[2]
            if _function(state["tag"]) in UNREPORTED and path.startswith("/"):
                file_states[state["tag"]] = _file_state(self.pair.ours.root, path)
        return file_states

    def _texts(self, returns: dict[str, Any]) -> dict[str, str | None]:
        """path -> text of the files of states after which nothing else changed."""
        texts: dict[str, str | None] = {}
        for ret in sorted(returns.values(), key=lambda ret: -ret.get("__run_num__", 0)):
            changes = ret.get("changes")
            if not changes:
                continue
            paths = [str(ret.get("name")), *(changes if isinstance(changes, dict) else ())]
            for path in paths:
                if path.startswith("/"):
                    texts[path] = changed.text(self.pair.ours.root, path)
            break
        return texts


def _file_state(root: Path, path: str) -> object:
    """Text, mode and ACLs of a file, and of all files below a folder."""
    full_path = f"{root}{path}"
    try:
        acls = [(name, os.getxattr(full_path, name)) for name in os.listxattr(full_path) if "acl" in name]
        children = (
            [_file_state(root, f"{path}/{name}") for name in sorted(os.listdir(full_path))]
            if os.path.isdir(full_path)
            else []
        )
        return changed.text(root, path), os.stat(full_path).st_mode, acls, children
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
    plan_bench = PlanBench(file, pair)
    try:
        plan_bench.start()
        yield plan_bench
    finally:
        plan_bench.close()
        pair.close()
