"""Runs a case by real Salt in one machine and by pushsalt over SSH in its twin, and describes the differences."""

from __future__ import annotations

import difflib
import fnmatch
import json
import logging
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pushsalt.api import Client, JobOptions, Selection, Settings
from tests.differential import alike, changed
from tests.differential.casefiles import Call, Case, CaseFile
from tests.differential.pair import NAME, REFERENCE, ROOTS, RUNTIME, Pair

SLS = "case"


class SetupError(Exception):
    """A case could not be prepared, so it was not compared; ``lines`` say what failed."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class SaltInMachine:
    """The process in the machine that answers as `salt-call --local` does."""

    def __init__(self, pair: Pair, python: Path) -> None:
        self._log = open(pair.folder / "salt.log", "w+", encoding="utf-8", errors="replace")  # noqa: SIM115  (see close)
        self._process = subprocess.Popen(
            pair.salt.inside(str(python), "-B", "-W", "ignore", REFERENCE),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            encoding="utf-8",
            start_new_session=True,
        )
        opts = {
            "id": NAME,
            "file_client": "local",
            "local": True,
            "file_roots": {"base": [ROOTS]},
            "pillar_roots": {"base": []},
            "fileserver_list_cache_time": 0,
            "state_events": False,
        }
        self.ask(opts)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise RuntimeError(f"Salt's process has ended:\n{self._log.read()[-4000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()


class Bench:
    """The machines of a case file, and both programs, ready to run its cases."""

    #: time limit of a run of pushsalt, in seconds
    timeout = 280

    def __init__(self, file: CaseFile, salt_python: Path, pair: Pair) -> None:
        self.file, self.pair, self._python = file, pair, salt_python
        self._project = pair.folder / "project"
        self._salt: SaltInMachine | None = None
        self._dirty = False
        self._reported: dict[str, list[str]] = {}

    def start(self, fresh: bool = True) -> None:
        """Boot, or (not fresh) use existing machines."""
        if fresh:
            self.pair.start()
        else:
            self._dirty = True
        self._project.mkdir(exist_ok=True)
        host = {"host": self.pair.address, "user": "root", "priv": str(self.pair.key), "thin_dir": RUNTIME}
        host["ssh_options"] = [f"UserKnownHostsFile={self.pair.known_hosts}"]
        (self._project / "inventory.json").write_text(json.dumps({"hosts": {NAME: host}}))

    def close(self) -> None:
        if self._salt:
            self._salt.close()
            self._salt = None

    @property
    def salt(self) -> SaltInMachine:
        if self._salt is None:
            self._salt = SaltInMachine(self.pair, self._python)
        return self._salt

    def run(self, case: Case) -> list[str]:
        """The differences of this case, run by run; empty if there are none. Raises SetupError."""
        if self._dirty:
            self._reset()
        self._dirty = True
        self._place(case)
        if failed := self._script("setup", case.setup):
            raise SetupError(failed)
        differences: list[str] = []
        for run in case.runs:
            if run == "drift":
                differences += self._script("drift", case.drift)
                differences += self._run_once("drift-test", case, test=True)
                differences += self._run_once("drift", case)
            else:
                differences += self._run_once(run, case, test=run == "test")
        if case.cleanup:
            self.pair.shell(case.cleanup)
        self._reported = {}
        return differences

    def _section_lines(self, section: str, lines: list[str]) -> list[str]:
        """These lines, or a reference to the previous run if they are the same."""
        if lines and self._reported.get(section) == lines:
            return [f"{section}: as in the run before"]
        self._reported[section] = lines
        return [f"{section}:", *(f"  {line}" for line in lines)] if lines else []

    def _reset(self) -> None:
        if not all(side.alive() for side in self.pair.sides.values()):
            self.close()
        if self.pair.reset():
            self.close()

    def _place(self, case: Case) -> None:
        for path in self.pair.roots.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        texts = {**self.file.files, **case.files}
        if case.sls:
            texts[f"{SLS}.sls"] = case.sls
        for path, text in texts.items():
            target = self.pair.roots / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text if isinstance(text, bytes) else text.encode())
        self._configure({"file_roots": {"base": [str(self.pair.roots)]}, "pillar_roots": {"base": []}, **case.opts})

    def _configure(self, config: dict[str, Any]) -> None:
        (self._project / "pushsalt.yaml").write_text(json.dumps(config))

    def _script(self, name: str, script: str) -> list[str]:
        """Run a script in both machines; a failure in both is an error of the case, one in a single machine a
        difference.
        """
        if not script:
            return []
        done = self.pair.shell("set -e\n" + script)
        return [f"{name} failed for {kind}: exit {code}\n{out}" for kind, (code, out) in done.items() if code]

    # -- one run

    def _run_once(self, run: str, case: Case, test: bool = False) -> list[str]:
        pillar = {**self.file.pillar, **case.pillar}
        if case.sls:
            lines = self._states(case, pillar, test)
        else:
            lines = [line for call in case.call for line in self._call(case, call, pillar, test)]
        lines += self._files(case)
        lines += self._look_lines(case)
        return [f"{run}: {line}" if not line.startswith(" ") else line for line in lines]

    def _states(self, case: Case, pillar: dict[str, Any], test: bool) -> list[str]:
        want, got, low = self._both(case.opts, pillar, test)
        return alike.returns(want, got, low, case.blank, case.refused)

    def _both(self, opts: dict[str, Any], pillar: dict[str, Any], test: bool) -> tuple[Any, Any, list[dict[str, Any]]]:
        """The returns of Salt (with these minion options) and of pushsalt, and the chunks that Salt ran."""
        request = {"fun": "state.apply", "args": [SLS], "kwargs": {"test": test, "pillar": pillar}, "opts": opts}
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(self.salt.ask, request)
            ours = self._ours("state.apply", [SLS], {}, pillar, test)
            theirs = future.result()
        want = theirs["ret"] if "ret" in theirs else {"raised": f"{theirs['error']}: {theirs['message']}"}
        got = ours["ret"] if "ret" in ours else {"raised": f"{ours['error']}: {ours['message']}"}
        return want, got, theirs.get("low") or []

    def _call(self, case: Case, call: Call, pillar: dict[str, Any], test: bool) -> list[str]:
        kwargs = {**call.kwargs, **({"test": True} if test else {})}
        request = {"fun": call.fun, "args": call.args, "kwargs": kwargs, "opts": {**case.opts, "pillar": pillar}}
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(self.salt.ask, request)
            ours = self._ours(call.fun, call.args, call.kwargs, pillar, test)
            theirs = future.result()
        lines = alike.answers(theirs, ours, case.blank)
        return [f"{call.fun} {call.args or ''} {call.kwargs or ''}", *lines] if lines else []

    def _settings(self) -> Settings:
        return Settings(
            inventories=[self._project / "inventory.json"],
            config=self._project / "pushsalt.yaml",
            cache_dir=self._project / "cache",
        )

    def _ours(
        self, fun: str, args: list[Any], kwargs: dict[str, Any], pillar: dict[str, Any], test: bool
    ) -> dict[str, Any]:
        options = JobOptions(test=test, pillar=pillar or None, timeout=self.timeout)
        logging.disable(logging.CRITICAL)  # log output of failed states would hide the differences
        try:
            ret = Client(self._settings()).run(Selection(NAME), fun, args, kwargs, options)[NAME].ret
        finally:
            logging.disable(logging.NOTSET)
        ret = json.loads(json.dumps(ret, default=_json))
        if isinstance(ret, dict) and set(ret) == {"error"} and isinstance(ret["error"], dict):
            error = ret["error"]
            return {"error": error.get("exception", error.get("kind")), "message": error.get("message")}
        return {"ret": ret}

    def _files(self, case: Case) -> list[str]:
        return self._section_lines("other files", self._other_files(case))

    def _other_files(self, case: Case) -> list[str]:
        paths: set[str] = set()
        for side in self.pair.sides.values():
            paths |= changed.changed_paths(side.baseline, changed.snapshot(side.upper))
        lines: list[str] = []
        for path in sorted(paths):
            ignored = any(fnmatch.fnmatchcase(path, pattern) for pattern in case.ignore)
            want, got = (changed.entry(side.root, path, not ignored) for side in (self.pair.salt, self.pair.ours))
            if want != got and not (want.kind == got.kind == "file" and self._same_text(case, path, want, got)):
                lines += [f"{path}", f"    Salt  {want}", f"    ours  {got}", *self._text_diff(path)]
        return lines

    def _same_text(self, case: Case, path: str, want: changed.Entry, got: changed.Entry) -> bool:
        if want._replace(content="") != got._replace(content=""):
            return False
        texts = [changed.text(side.root, path) for side in (self.pair.salt, self.pair.ours)]
        return None not in texts and len({case.blank(text) for text in texts if text is not None}) == 1

    def _text_diff(self, path: str) -> list[str]:
        texts = [changed.text(side.root, path) for side in (self.pair.salt, self.pair.ours)]
        if texts[0] is None or texts[1] is None or texts[0] == texts[1]:
            return []
        lines = difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines(), "Salt", "ours", lineterm="", n=2)
        return [f"      {line}" for line in list(lines)[:60]]

    def _look_lines(self, case: Case) -> list[str]:
        return self._section_lines("look", self._other_look(case, case.look)) if case.look else []

    def _other_look(self, case: Case, script: str) -> list[str]:
        done = {kind: (code, case.blank(out)) for kind, (code, out) in self.pair.shell(script).items()}
        if done["salt"] == done["ours"]:
            return []
        lines = difflib.unified_diff(
            [*done["salt"][1].splitlines(), f"exit {done['salt'][0]}"],
            [*done["ours"][1].splitlines(), f"exit {done['ours'][0]}"],
            "Salt",
            "ours",
            lineterm="",
            n=2,
        )
        return [f"    {line}" for line in lines]


def _json(value: Any) -> Any:
    """The form of Salt's side: bytes and sets become text."""
    return str(value)
