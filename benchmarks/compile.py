"""Measures compiling: rendering and low data of formulas, compared with Salt; without start-up, connections and output.

    python benchmarks/compile.py                                       clones the formulas of FORMULAS
    python benchmarks/compile.py mysql=~/mysql-formula template=URL    these, from a folder or a git repository

For each formula, with its own ``pillar.example`` for every target and the grains that Salt finds on this machine:
the first call of ``state.show_low_sls`` in a fresh process, and later ones; pushsalt also for a target that differs
in what the formula reads. Then the formula of ``--fleet`` for one target and for a thousand, equal and all different.
Modules that either tool loads at its start are loaded before. Both must give the same low data. Results are stored with
those of ``run.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import report  # noqa: E402
from peers import PEERS, Venvs, cache_dir  # noqa: E402

#: Formula -> its SLS. The slowest ones of those whose pillar.example is valid on any machine.
FORMULAS = {
    "mysql": "mysql",
    "openvpn": "openvpn",
    "firewalld": "firewalld",
    "openssh": "openssh,openssh.config",
    "salt": "salt.minion,salt.master",
    "template": "TEMPLATE",
    "logrotate": "logrotate",
}
FLEET = "logrotate"
TOP = "base:\n  '*':\n    - formula\n"


@dataclass(frozen=True)
class Case:
    """A formula in a folder; ``work`` has its pillar."""

    name: str
    sls: str
    folder: Path
    work: Path
    rounds: int

    def prepare(self) -> None:
        pillar = self.work / "pillar"
        pillar.mkdir(parents=True)
        (pillar / "top.sls").write_text(TOP)
        (pillar / "formula.sls").write_text((self.folder / "pillar.example").read_text())

    def run(self, python: str, script: str, **kwargs: Any) -> dict[str, Any]:
        """The output of a child process: seconds by kind, and the low data. Raises RuntimeError with its error."""
        request = {"sls": self.sls, "roots": str(self.folder), "work": str(self.work), "rounds": self.rounds, **kwargs}
        argv = [python, str(HERE / script), json.dumps(request)]
        env = {**os.environ, "XDG_CACHE_HOME": str(self.work / "cache")}  # has compiled templates of earlier runs
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=self.work, env=env)
        if done.returncode:
            raise RuntimeError(f"{script}: {done.stderr.strip()[-600:]}")
        output: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return output


def compile_one(case: Case, salt: str, results: report.Results) -> None:
    """One formula: Salt first, since all targets use its grains."""
    section = f"compile {case.name}"
    case.prepare()
    theirs = case.run(salt, "compile_salt.py")
    grains = case.work / "grains.json"
    grains.write_text(json.dumps(theirs["grains"]))
    ours = case.run(sys.executable, "compile_pushsalt.py", grains=str(grains))
    again = case.run(sys.executable, "compile_pushsalt.py", grains=str(grains))
    if _comparable(ours["low"]) != _comparable(theirs["low"]):
        results.failed(section, "all", "the low data are not the same")
    for name, output, kind in (
        ("Salt, first call", theirs, "first"),
        ("Salt, later calls", theirs, "later"),
        ("pushsalt, first call, empty cache", ours, "first"),
        ("pushsalt, first call, templates kept", again, "first"),
        ("pushsalt, later calls", ours, "later"),
        ("pushsalt, other grains and pillar", ours, "different"),
        ("pushsalt, --no-render-cache", ours, "off"),
    ):
        _add(results, section, name, output[kind])


def fleet(case: Case, targets: int, results: report.Results) -> None:
    """One target, many equal, many different: each in a separate process."""
    grains = str(case.work / "grains.json")
    for name, count, different in (
        ("1 target", 1, False),
        (f"{targets} targets alike", targets, False),
        (f"{targets} targets, all different", targets, True),
    ):
        shutil.rmtree(case.work / "cache", ignore_errors=True)
        output = case.run(sys.executable, "compile_pushsalt.py", grains=grains, fleet=count, different=different)
        _add(results, f"fleet {case.name}", name, output["fleet"])


def _add(results: report.Results, section: str, name: str, seconds: list[dict[str, float]]) -> None:
    for cost in seconds:
        results.add(section, name, cost)
    wall, cpu = (report.median(seconds, key) * 1000 for key in ("wall", "cpu"))
    print(f"  {wall:9.2f} ms wall {cpu:9.2f} ms cpu  {name}", file=sys.stderr, flush=True)


def _comparable(low: Any) -> Any:
    """Low data without possible differences: order numbers, and keys that Salt omits."""
    if not isinstance(low, list) or not all(isinstance(chunk, dict) for chunk in low):
        return low
    return json.loads(json.dumps([{k: v for k, v in chunk.items() if k not in ("order", "__env__")} for chunk in low]))


def source(name: str, given_source: str | None) -> Path:
    """The folder of a formula; a repository is cloned into the cache."""
    location = given_source or f"https://github.com/saltstack-formulas/{name}-formula"
    if "://" not in location:
        return Path(location).expanduser().resolve()
    folder = cache_dir() / "formulas" / name
    if not folder.exists():
        subprocess.run(["git", "clone", "-q", "--depth", "1", "--", location, str(folder)], check=True)
    return folder


def main() -> None:
    options = _options()
    sources = dict(text.split("=", 1) for text in options.formulas)
    venvs = Venvs({"salt": options.salt} if options.salt else {})
    [salt] = [peer for peer in PEERS if peer.name == "salt"]
    venvs.make(salt)
    results = report.Results.load(options.out)
    results.forget("compile")
    results.forget("fleet")
    results.about = results.about or report.about([venvs.versions(salt)])
    with tempfile.TemporaryDirectory(prefix="pushsalt-benchmark-") as folder:
        for name in sources or FORMULAS:
            print(name, file=sys.stderr, flush=True)
            work = Path(folder) / name
            case = Case(name, FORMULAS.get(name, name), source(name, sources.get(name)), work, options.rounds)
            try:
                compile_one(case, venvs.bin("salt", "python"), results)
                if name == options.fleet:
                    fleet(case, options.targets, results)
            except (OSError, RuntimeError) as exc:
                results.failed(f"compile {name}", "all", str(exc))
                print(f"  {exc}", file=sys.stderr)
            results.save(options.out)
    print(results.table())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formulas", nargs="*", metavar="FORMULA=FOLDER|URL", help="instead of the default ones")
    parser.add_argument("--salt", type=Path, help="an environment that has Salt, instead of making one")
    parser.add_argument("--rounds", type=int, default=7, help="later calls that are measured (default: %(default)s)")
    parser.add_argument("--targets", type=int, default=1000, help="targets of a fleet (default: %(default)s)")
    parser.add_argument("--fleet", default=FLEET, help="the formula of the fleet (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE / "results.json", help="results, and their table beside it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
