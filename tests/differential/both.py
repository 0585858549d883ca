"""Runs one state tree by real Salt and by pushsalt, and compares the returns."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from pathlib import Path
from typing import Any

from pushsalt.api import Client, JobOptions, Selection, Settings
from tests.differential.real_salt import RealSalt
from tests.differential.trees import Tree

#: How many random examples a test tries.
EXAMPLES = int(os.environ.get("EXAMPLES") or 300)

STATES = Path(__file__).with_name("states")

#: keys of each of our returns; Salt omits them if a return is malformed or no function was called
EVERY = ("__id__", "__sls__", "__run_num__", "name")

#: differ from run to run
TIMES = ("start_time", "duration")
FAILED = "One or more requisite failed: "
RAISED = "An exception occurred in this state: Traceback"
CYCLE = "Recursive requisites were found: "

#: an unknown argument is an error before the run in pushsalt; in Salt it is one when it calls the state, if it does
UNKNOWN_ARGUMENT = re.compile(r"'\w+' is an invalid keyword argument for '(\w+)\.(\w+)' \(ID '(.+)' in SLS '.+'\)")
#: an init.sls that includes itself by a relative name is one error in pushsalt; Salt renders it as ``a.``, ``a..``
#: until the path is too long, and reports a conflict for each
INCLUDES_ITSELF = re.compile(r"SLS '.+' includes itself: ")
INCLUDED_AGAIN = re.compile(r"\bSLS '?(base:)?[\w.]+\.'? ?")
#: Salt removes the function from a guard when it calls it: at a listener's turn the same guard is empty
EMPTIED = "An exception occurred in this state: 'Changes' should be a dictionary."
GUARDED = ("onlyif condition ", "unless condition ")
NOT_CALLED = ("State was not run because ", FAILED, "Not called: ")


class Both:
    """A file root, real Salt in a permanent process, and a project whose only target is this machine."""

    def __init__(self, salt_python: Path, folder: Path) -> None:
        self.root = folder / "states"
        self._project = folder / "project"
        self._project.mkdir()
        # others may run states on this machine at the same time
        host = {"transport": "local", "thin_dir": str(folder / "thin")}
        (self._project / "inventory.json").write_text(json.dumps({"hosts": {"it": host}}))
        self._place({})
        self.salt = RealSalt(salt_python, folder / "salt", self.root)
        self.salt.call("saltutil.sync_states")

    def run(self, tree: Tree) -> tuple[Any, Any]:
        """The answers of Salt and of pushsalt for the tree; ``{"raised": text}`` if a call itself failed."""
        self._place(tree.texts())
        self.salt.send(
            "state.apply", ",".join(tree.sls), test=tree.test, exclude=tree.exclude or None, opts=tree.opts or None
        )
        ours = self._pushsalt(tree)
        answer = self.salt.receive()
        theirs = answer["ret"] if "ret" in answer else {"raised": f"{answer['error']}: {answer['message']}"}
        return theirs, ours

    def close(self) -> None:
        self.salt.close()

    def _place(self, files: dict[str, str]) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(STATES, self.root / "_states", ignore=shutil.ignore_patterns("__pycache__"))
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    def _pushsalt(self, tree: Tree) -> Any:
        config = {"file_roots": {"base": [str(self.root)]}, "pillar_roots": {"base": []}, **tree.opts}
        (self._project / "pushsalt.yaml").write_text(json.dumps(config))
        client = Client(
            Settings(
                inventories=[self._project / "inventory.json"],
                config=self._project / "pushsalt.yaml",
                cache_dir=self._project / "cache",
            )
        )
        kwargs = {"exclude": tree.exclude} if tree.exclude else {}
        options = JobOptions(test=tree.test)
        logging.disable(logging.CRITICAL)  # log output of failed states would hide the differences
        try:
            ret = client.run(Selection("it"), "state.apply", [",".join(tree.sls)], kwargs, options)["it"].ret
        finally:
            logging.disable(logging.NOTSET)
        ret = json.loads(json.dumps(ret, default=str))
        if isinstance(ret, dict) and "error" in ret:
            return {"raised": f"{ret['error'].get('exception', ret['error']['kind'])}: {ret['error']['message']}"}
        return ret


def comparable(answer: Any) -> Any:
    """The answer without volatile parts, in the order of the run."""
    if isinstance(answer, list):
        return [CYCLE if text.startswith(CYCLE) else text for text in answer]
    if not isinstance(answer, dict) or "raised" in answer:
        return answer
    compared = {tag: _state(ret) for tag, ret in answer.items()}
    return dict(sorted(compared.items(), key=lambda item: item[1].get("__run_num__", 0)))


def _state(ret: dict[str, Any]) -> dict[str, Any]:
    compared = {key: value for key, value in ret.items() if key not in TIMES}
    comment = compared["comment"]
    if isinstance(comment, str):
        if comment.startswith(FAILED):  # Salt uses a set
            compared["comment"] = FAILED + ", ".join(sorted(comment[len(FAILED) :].split(", ")))
        elif RAISED in comment:  # stack frames differ
            compared["comment"] = re.sub(
                r"Traceback.*?^(\w+\.)*(\w+(: [^\n]*)?)$", r"... \2", comment, flags=re.S | re.M
            )
    if isinstance(compared["changes"], dict) and "pid" in compared["changes"]:
        compared["changes"] = {**compared["changes"], "pid": 0}
    return compared


def difference(theirs: Any, ours: Any) -> str:
    """The differences as text; empty if there are none."""
    theirs, ours = comparable(theirs), comparable(ours)
    if isinstance(theirs, dict) and "raised" in theirs:
        # Salt itself failed: any complete answer is accepted
        return ""
    if isinstance(theirs, list):
        # Salt stops at the first error in places where pushsalt continues: each error of Salt's must be among ours
        if not isinstance(ours, list):
            return f"Salt refuses it:\n  {theirs}\npushsalt does not:\n  {_brief(ours)}"
        reported = {_without_place(text) for text in ours}
        missing = [text for text in theirs if text not in reported]
        if any(INCLUDES_ITSELF.match(text) for text in ours):
            missing = [text for text in missing if not INCLUDED_AGAIN.search(text)]
        return f"missing errors: {missing}\n        errors: {ours}" if missing else ""
    if isinstance(ours, list) and all(_never_called(text, theirs) for text in ours):
        return ""
    if not isinstance(ours, dict) or "raised" in ours:
        return f"Salt runs it:\n  {_brief(theirs)}\npushsalt does not:\n  {ours}"
    lines = []
    order = [[tag for tag in side if "__run_num__" in theirs.get(tag, side[tag])] for side in (theirs, ours)]
    if order[0] != order[1]:
        lines = ["another order of the run:", *(f"  Salt  {tag}" for tag in theirs)]
        lines += (f"  ours  {tag}" for tag in ours)
    for tag, want in theirs.items():
        if want["comment"] == EMPTIED and str(ours[tag]["comment"]).startswith(GUARDED) and "_|-listener_" in tag:
            continue
        got = {key: value for key, value in ours.get(tag, want).items() if key in want or key not in EVERY}
        if want != got:
            lines.append(tag)
            for key in sorted({*want, *got}):
                values = [side.get(key, "(none)") for side in (want, got)]
                if values[0] != values[1]:
                    lines += [f"  {key}", f"    Salt  {values[0]!r}", f"    ours  {values[1]!r}"]
    return "\n".join(lines)


def _without_place(text: str) -> str:
    """The text of our error without the lines that name its place; Salt names none."""
    return re.sub(r"(\n  in \S.*:\d+)+\Z", "", text)


def _never_called(refusal: str, theirs: dict[str, Any]) -> bool:
    """Whether the error is about an argument of a state that Salt did not call."""
    about = UNKNOWN_ARGUMENT.fullmatch(_without_place(refusal))
    if not about:
        return False
    state, fun, id_ = about.groups()
    rets = [ret for tag, ret in theirs.items() if tag.startswith(f"{state}_|-{id_}_|-") and tag.endswith(f"_|-{fun}")]
    return any(str(ret["comment"]).startswith(NOT_CALLED) for ret in rets)


def _brief(answer: Any) -> str:
    if not isinstance(answer, dict) or "raised" in answer:
        return str(answer)
    return "\n  ".join(f"{tag}: {ret.get('result')} {ret.get('comment')!r}" for tag, ret in answer.items())
