"""Compares pushsalt with other tools: ``python benchmarks/run.py`` does everything.

It makes the other tools' environments (below a cache folder), starts the targets, and runs all contenders in turn,
A B C A B C …, so that other load of the machine affects all of them equally. The first round is not counted: it fills
caches on both sides. Results go to ``results.json`` and ``RESULTS.md``. Loopback SSH servers need OpenSSH; the runs on
booted machines need what ``pushsalt demo --machines`` needs. A section whose requirements are missing is left out, with
a message.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import contenders  # noqa: E402
import fleet as fleets  # noqa: E402
import report  # noqa: E402
from contenders import Contender  # noqa: E402
from peers import PEERS, Venvs  # noqa: E402

from pushsalt.demo import machines, sshd  # noqa: E402

SECTIONS = ("startup", "fanout", "states", "memory", "concurrency")
WIDTHS = (5, 10, 25, 50, 100)


@dataclass(frozen=True)
class Plan:
    """Counted rounds, for usual and heavy contenders; ``limit``: seconds for one run; ``only``: chosen contenders."""

    rounds: int
    heavy_rounds: int
    limit: float
    only: tuple[str, ...]
    out: Path


class Bench:
    """Runs contenders and stores their measurements."""

    def __init__(self, plan: Plan, results: report.Results) -> None:
        self.plan = plan
        self.results = results

    def compare(self, section: str, runners: Sequence[Contender], home: Path, rounds: int | None = None) -> None:
        """Run all contenders, interleaved; one that fails is reported and left out."""
        chosen = [
            contender
            for contender in runners
            if not self.plan.only or any(name in contender.name for name in self.plan.only)
        ]
        broken: set[str] = set()
        rounds = self.plan.rounds if rounds is None else rounds
        for number in range(rounds + 1):
            for contender in chosen:
                if contender.name in broken or number > (
                    min(self.plan.heavy_rounds, rounds) if contender.heavy else rounds
                ):
                    continue
                cost, reason = self._run_once(contender, home, first=number == 0)
                if reason:
                    broken.add(contender.name)
                    self.results.failed(section, contender.name, reason)
                    print(f"  {contender.name}: {reason}", file=sys.stderr)
                else:
                    shown = f"{cost['wall']:8.3f} s wall {cost['cpu']:8.3f} s cpu {cost['rss']:6.0f} MiB"
                    print(f"  {number} {shown}  {contender.name}", file=sys.stderr, flush=True)
                    if number:
                        self.results.add(section, contender.name, cost)
                self.results.save(self.plan.out)

    def _run_once(self, contender: Contender, home: Path, *, first: bool) -> tuple[dict[str, float], str]:
        with tempfile.TemporaryDirectory() as folder:
            cost_file, output = Path(folder) / "cost", Path(folder) / "output"
            argv = [sys.executable, HERE / "measure.py", cost_file, str(self.plan.limit), *contender.argv]
            with output.open("wb") as stream:
                subprocess.run(
                    argv,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    cwd=home,
                    check=True,
                    env={**contenders.environment(home), **contender.env},
                )
            cost: dict[str, float] = json.loads(cost_file.read_text())
            text = output.read_text("utf-8", "replace")
        # The first round may change something; later ones must show success in their output.
        if cost["status"] != 0 or not (first or contender.done(text)):
            return cost, f"status {cost['status']:.0f}, and its output ends: {text.strip()[-600:]}"
        return cost, ""


def startup(bench: Bench, venvs: Venvs, work: Path) -> None:
    """The time of a command with almost no work."""
    home = work / "home"
    home.mkdir(parents=True)
    run = [*contenders.PUSHSALT, "run", "localhost", "test.ping"]
    runners = [
        Contender("python -c pass", [sys.executable, "-c", "pass"], lambda output: True),
        Contender("pushsalt --help", [*contenders.PUSHSALT, "--help"], lambda output: "apply" in output),
        Contender("pushsalt run localhost test.ping", run, lambda output: "rue" in output),
    ]
    bench.compare("startup", runners, home, rounds=max(15, bench.plan.rounds))


def fanout(bench: Bench, venvs: Venvs, work: Path, counts: Sequence[int]) -> None:
    """``cmd.run hostname`` on loopback servers."""
    for count in counts:
        with fleets.sshd_fleet(count, work / str(count)) as fleet:
            bench.compare(f"fanout {count}", contenders.commands(fleet, venvs), fleet.home)


def states(bench: Bench, venvs: Venvs, work: Path, counts: Sequence[int]) -> None:
    """Fifty unchanged files on booted machines."""
    with fleets.machine_fleets(list(counts), work) as by_count:
        for fleet in by_count:
            bench.compare(f"states {len(fleet)}", contenders.states(fleet, venvs), fleet.home)


def memory(bench: Bench, venvs: Venvs, work: Path) -> None:
    """The controller's peak memory with a hundred concurrent targets: a command, and a run of fifty states each."""
    with fleets.sshd_fleet(100, work) as fleet:
        options = ("--concurrency", "100", "--out", "json")
        runners = [
            Contender(f"pushsalt {' '.join(command)}", contenders.pushsalt(fleet, *command, *options), bool)
            for command in (("run", "*", "cmd.run", "hostname"), ("apply", "*", "bench", "--test"))
        ]
        bench.compare("memory", runners, fleet.home, rounds=3)


def concurrency(bench: Bench, venvs: Venvs, work: Path) -> None:
    """The effect of the number of connections on a hundred targets."""
    with fleets.sshd_fleet(100, work) as fleet:
        options = ("run", "*", "cmd.run", "hostname", "--out", "json", "--concurrency")
        runners = [
            Contender(f"--concurrency {width}", contenders.pushsalt(fleet, *options, str(width)), bool)
            for width in WIDTHS
        ]
        bench.compare("concurrency", runners, fleet.home)


def main() -> None:
    options = _options()
    venv_paths = dict(text.split("=", 1) for text in options.venv)
    venvs = Venvs({name: Path(path).resolve() for name, path in venv_paths.items()})
    plan = Plan(options.rounds, options.heavy_rounds, options.limit, tuple(options.only), options.out)
    results = report.Results.load(options.out) if options.keep else report.Results()
    if not options.only or set(options.only) - {"pushsalt", "loop", "xargs"}:
        for peer in PEERS:
            venvs.make(peer)
    results.about = report.about([text for peer in PEERS if (text := venvs.versions(peer))])
    bench = Bench(plan, results)
    missing = dict.fromkeys(("fanout", "memory", "concurrency"), sshd.missing()) | {"states": machines.missing()}
    with tempfile.TemporaryDirectory(prefix="pushsalt-benchmark-") as folder:
        for section in options.section or SECTIONS:
            if missing.get(section):
                print(f"{section}: left out: {missing[section]}", file=sys.stderr)
                results.failed(section, "all", f"left out: {missing[section]}")
                continue
            print(section, file=sys.stderr, flush=True)
            results.forget(section)
            work = Path(folder) / section
            if section == "fanout":
                fanout(bench, venvs, work, options.targets)
            elif section == "states":
                work.mkdir()
                states(bench, venvs, work, options.machines)
            else:
                {"startup": startup, "memory": memory, "concurrency": concurrency}[section](bench, venvs, work)
    results.save(options.out)
    print(results.table())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="*", help=f"some of: {', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count (default: %(default)s)")
    parser.add_argument("--heavy-rounds", type=int, default=3, help="of the slow tools (default: %(default)s)")
    parser.add_argument("--targets", type=int, nargs="+", default=[1, 10, 100], help="fan-out sizes")
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 8], help="machines for the states")
    only_help = "contenders whose name has this text; repeatable"
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help=only_help)
    venv_help = "use this environment for a peer instead of making one; repeatable"
    parser.add_argument("--venv", action="append", default=[], metavar="PEER=FOLDER", help=venv_help)
    parser.add_argument("--limit", type=float, default=900, help="seconds for one run (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE / "results.json", help="results, and their table beside it")
    parser.add_argument("--keep", action="store_true", help="keep the results of sections that are not run now")
    options = parser.parse_args()
    unknown = set(options.section) - set(SECTIONS)
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    main()
