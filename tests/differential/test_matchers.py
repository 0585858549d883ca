"""Target expressions: random expressions match the same random targets as in real Salt.

One test evaluates the matchers for one target; the other one selects from a fleet with resources, out of inventory and
caches, and asks Salt for each id. `EXAMPLES` is the number of targets, each with `EXPRESSIONS_PER_TARGET` expressions;
`EXPRESSIONS` is that of expressions over fleets; `SEED` selects others.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.errors import NoTargetError, UsageError
from pushsalt.targeting import Subject, key_of, matches
from thin.utils import dictupdate

EXPRESSIONS_PER_TARGET = 25
DRIVER = Path(__file__).with_name("match_driver.py")
WORDS = ["os", "a", "b", "web", "Web1", "10", "1", "true", "x:y", "deep", "*", "a*", "ver.1", "None", "ä", "d;e", "[a]"]
IDS = ["web1", "web2", "db1", "db-2.example", "it", "web[1]", "a,b", "M"]
ADDRESSES = ["127.0.0.1", "10.3.1.7", "10.3.2.9", "192.0.2.7", "2001:db8::7", "::1", "fe80::1"]
NETWORKS = [
    *ADDRESSES,
    "10.3.0.0/16",
    "10.3.1.0/24",
    "10.3.1.5/24",
    "0.0.0.0/0",
    "2001:db8::/32",
    "::/0",
    "2001:DB8:0::7",
    "10.3.1.7/32",
    "nonsense",
    "10.3.1",
    "1",
]


class RealMatchers:
    """Salt's matchers in a permanent process."""

    def __init__(self, python: Path, folder: Path) -> None:
        inherited = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        self._log = open(folder / "stderr", "w+", encoding="utf-8", errors="replace")  # noqa: SIM115  (see close)
        self._process = subprocess.Popen(
            [python, "-W", "ignore", DRIVER, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=folder,
            env={**inherited, "HOME": str(folder), "LANG": "C.UTF-8"},
            encoding="utf-8",
        )

    def ask(self, target: dict[str, Any], expressions: list[tuple[str, Any, str | None]]) -> list[Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({**target, "ask": expressions}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise AssertionError(f"Salt's process has ended:\n{self._log.read()[-4000:]}")
        answers: list[Any] = json.loads(line)
        return answers

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()
        self._log.close()


@pytest.fixture(scope="module")
def real(salt_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealMatchers]:
    matchers = RealMatchers(salt_python, tmp_path_factory.mktemp("matchers"))
    yield matchers
    matchers.close()


class RandomTargets:
    """Random targets and expressions, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.keys: list[list[str]] = []

    def target(self) -> dict[str, Any]:
        pick = self.random
        grains = self._mapping(3)
        for family in ("ipv4", "ipv6"):
            if pick.random() < 0.8:
                addresses = [address for address in ADDRESSES if (":" in address) == (family == "ipv6")]
                grains[family] = pick.sample(addresses, pick.randint(0, 3))
        return {
            "id": pick.choice(IDS),
            "grains": grains,
            "pillar": self._mapping(3),
            "resources": {
                kind: pick.sample(IDS, pick.randint(0, 3)) for kind in pick.sample(["ssh", "machine", "x"], 2)
            },
            "nodegroups": self._groups(),
        }

    def _mapping(self, depth: int) -> dict[str, Any]:
        return {self.random.choice(WORDS): self._value(depth - 1) for _ in range(self.random.randint(1, 4))}

    def _value(self, depth: int) -> Any:
        pick = self.random
        kind = pick.random()
        if depth and kind < 0.35:
            return self._mapping(depth)
        if depth and kind < 0.55:
            return [self._value(depth - 1) for _ in range(pick.randint(0, 3))]
        return pick.choice([*WORDS, 1, 10, 1.5, True, False, None, "", "a b", "A", [], {}])

    def _path(self, data: Any) -> list[str]:
        """A path into the data, with a pattern at its end."""
        pick, path = self.random, []
        while isinstance(data, dict | list) and data and pick.random() < 0.9:
            if isinstance(data, list):
                index = pick.randrange(len(data))
                if pick.random() < 0.4:
                    path.append(str(index))
                data = data[index]
            else:
                key = pick.choice(list(data))
                path.append("*" if pick.random() < 0.12 else key)
                data = data[key]
        if pick.random() < 0.7 and not isinstance(data, dict | list):
            path.append(str(data))
        elif pick.random() < 0.8:
            path.append(pick.choice([*WORDS, ".*", "(a|b)", "[", "?", "web.*", "^a", "a$", "[0-9]+", "\\d+", "(?i)A"]))
        return path or [pick.choice(WORDS)]

    def _nested(self, data: Any, delimiter: str) -> str:
        return delimiter.join(self._path(data)).replace(" ", "_")

    def word(self, target: dict[str, Any]) -> str:
        pick = self.random
        letter = pick.choice([*"GPIJ" * 3, *"LESNTM", "", "", "odd"])
        if letter in "GPIJ" and letter:
            delimiter = pick.choice(["", "", "", ";", "|", ":", "@", "%", "x", ".", "a"])
            data = target["grains" if letter in "GP" else "pillar"]
            return f"{letter}{delimiter}@{self._nested(data, delimiter or ':')}"
        if letter == "odd":
            return pick.choice(["G@", "X@a", "L;@it", "E@", "@it", "N@", "web1)", "(it", "G@nothing", "T@", "M@", "Q"])
        body = {
            "L": ",".join(pick.sample(IDS, pick.randint(1, 3))),
            "E": pick.choice(["web.*", ".*1", "(web|db)1", "it$", "[a-z]+$", "^(?!web)", "M"]),
            "S": pick.choice(NETWORKS),
            "N": pick.choice(["one", "two", "three", "four", "five", "none"]),
            "T": pick.choice(["ssh", "machine", "x", "y", "ssh:web1", "machine:it", "x:", "ssh:web1:2", ":"]),
            "M": pick.choice([*IDS, "*"]),
            "": pick.choice([*IDS, "*", "web*", "?t", "[wd]*", "not*", "web[[]1]"]),
        }[letter]
        return f"{letter}@{body}" if letter else body

    def expression(self, target: dict[str, Any], depth: int = 3) -> str:
        pick = self.random
        kind = pick.random()
        if depth == 0 or kind < 0.3:
            return self.word(target)
        if kind < 0.45:
            return f"not {self.expression(target, depth - 1)}"
        if kind < 0.6:
            return f"( {self.expression(target, depth - 1)} )"
        if kind < 0.66:  # any character
            loose = [*["and", "or", "not", "(", ")"] * 2, *(self.word(target) for _ in range(4))]
            return " ".join(pick.choice(loose) for _ in range(pick.randint(1, 7)))
        joint = pick.choice(["and", "or", "and not", "or not", "not"])
        return f"{self.expression(target, depth - 1)} {joint} {self.expression(target, depth - 1)}"

    def _groups(self) -> dict[str, Any]:
        pick = self.random
        empty: dict[str, Any] = {"id": "", "grains": {"a": "b"}, "pillar": {"a": "b"}}
        return {
            "one": pick.choice(["web*", "it or web1", "L@it,db1 and not web1", "", ["it", "web1"]]),
            "two": pick.choice([["web1", "db1"], ["web(1|2)", "it"], ["web*", "or", "it"], ["G@os:a", "it"], [], [10]]),
            "three": pick.choice(["N@one", "N@one or N@two", "not N@two", "( N@one ) and web1", ["N@two", "N@one"]]),
            "four": pick.choice(["N@three and N@one", "N@five or it", {"a": 1}, "N@four or it", 7]),
            "five": pick.choice(["N@four", "it", "N@none or it", self.expression(empty, 1)]),
        }

    def question(self, target: dict[str, Any]) -> tuple[str, Any, str | None]:
        pick = self.random
        kind = pick.random()
        if kind < 0.7:
            text = self.expression(target)
            return "compound", text.split() if pick.random() < 0.1 else text, None
        delimiter = pick.choice([None, ":", ";", "|", "ab"])
        plain = {
            "grain": "grains",
            "grain_pcre": "grains",
            "pillar": "pillar",
            "pillar_pcre": "pillar",
            "pillar_exact": "pillar",
        }
        if kind < 0.9:
            tgt_type = pick.choice(list(plain))
            return tgt_type, self._nested(target[plain[tgt_type]], delimiter or ":"), delimiter
        return pick.choice(
            [
                ("ipcidr", pick.choice(NETWORKS), None),
                ("glob", pick.choice(["*", "web*", *IDS]), None),
                ("pcre", pick.choice([".*", "web", "it$"]), None),
                ("list", pick.choice(["it,web1", "it, web1", "a,b", ["it", "db1"], "web1"]), None),
                ("nodegroup", pick.choice(["one", "two", "three", "four", "five", "none"]), None),
            ]
        )


def ours(target: dict[str, Any], question: tuple[str, Any, str | None]) -> bool | str:
    tgt_type, expression, delimiter = question
    subject = Subject(target["id"], target["grains"], target["pillar"], resources=target["resources"])
    try:
        return matches(expression, tgt_type, subject, delimiter=delimiter or ":", nodegroups=target["nodegroups"])
    except UsageError:
        return False


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(0)
@pytest.mark.usefixtures("quiet")
def test_random_expressions(real: RealMatchers, examples: int) -> None:
    wrong = []
    first = int(os.environ.get("SEED") or 0) * 1_000_000
    for seed in range(first, first + max(1, examples * 2 // 3)):
        generator = RandomTargets(seed)
        target = generator.target()
        questions = [generator.question(target) for _ in range(EXPRESSIONS_PER_TARGET)]
        for question, theirs in zip(questions, real.ask(target, questions), strict=True):
            if isinstance(theirs, str):  # Salt itself failed: any complete answer is accepted
                ours(target, question)
            elif ours(target, question) != theirs:
                wrong.append(f"{seed} {question} of {target}: Salt says {theirs}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:5])


class Fleet(RandomTargets):
    """A random inventory with caches and resources, and expressions about it."""

    TYPES = ("machine", "x", "dummy")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        pick = self.random
        ids = pick.sample(IDS, pick.randint(2, 6))
        self.hosts: dict[str, dict[str, Any]] = {}
        self.discovered: dict[str, dict[str, dict[str, Any]]] = {}
        #: key -> collected grains, or compiled pillar
        self.grains: dict[str, dict[str, Any]] = {}
        self.pillar: dict[str, dict[str, Any]] = {}
        #: key -> the data that Salt receives
        self.subjects: dict[str, dict[str, Any]] = {}
        self.nodegroups = self._groups()
        for id in ids:
            self._host(id, pick.choice([None, *ids]))
        taken: set[str] = set()
        for manager in [*pick.sample(ids, pick.randint(1, 2)), "elsewhere"]:
            self.discovered[manager] = {}
            for type in pick.sample(self.TYPES, pick.randint(1, 3)):
                for id in pick.sample([*IDS, "m1", "m2", "x:y"], pick.randint(0, 3)):
                    if f"{type}:{id}" not in taken:
                        taken.add(f"{type}:{id}")
                        self._resource(type, id, manager)

    def _host(self, id: str, jump: str | None) -> None:
        pick, generated = self.random, self.target()
        host: dict[str, Any] = {"transport": pick.choice(["ssh", "ssh", "local", "offline"])}
        if host["transport"] == "ssh" and jump is not None and self.hosts.get(jump, {}).get("transport") == "ssh":
            host["jump"] = jump
        if pick.random() < 0.4:
            host["grains"] = self._mapping(2)
        if pick.random() < 0.4:
            host["pillar"] = self._mapping(3)
        self.hosts[id] = host
        data = self._cached(id, generated)
        self._subject(
            id,
            id,
            host["transport"],
            host.get("jump") or "controller",
            {
                "grains": {**data["grains"], **host.get("grains", {})},
                "pillar": dictupdate.update(copy.deepcopy(data["pillar"]), copy.deepcopy(host.get("pillar", {}))),
            },
        )

    def _resource(self, type: str, id: str, manager: str) -> None:
        data = self._cached(f"{type}:{id}", self.target())
        data["grains"] = {"id": id, **data["grains"]}  # which every resource has
        self.discovered[manager].setdefault(type, {})[id] = {"grains": data["grains"]}
        if manager in self.hosts:
            self._subject(f"{type}:{id}", id, type, manager, data)

    def _cached(self, key: str, generated: dict[str, Any]) -> dict[str, Any]:
        data: dict[str, Any] = {"grains": {}, "pillar": {}}
        if self.random.random() < 0.9:
            data["grains"] = self.grains[key] = generated["grains"]
        if self.random.random() < 0.8:
            data["pillar"] = self.pillar[key] = generated["pillar"]
        return data

    def _subject(self, key: str, id: str, type: str, manager: str, data: dict[str, Any]) -> None:
        self.subjects[key] = {
            "id": id,
            "manager": manager,
            "resources": {type: [id]},
            "nodegroups": self.nodegroups,
            **data,
        }

    def word(self, target: dict[str, Any]) -> str:
        if self.random.random() < 0.2:
            return self.random.choice(
                [
                    f"T@{self.random.choice([*self.TYPES, 'ssh', 'local', 'offline', 'y'])}",
                    f"T@{self.random.choice([*self.TYPES, 'ssh'])}:{self.random.choice([*IDS, 'm1', 'x:y'])}",
                    f"M@{self.random.choice([*self.hosts, *IDS, 'controller', 'elsewhere', '*'])}",
                ]
            )
        return super().word(self.random.choice(list(self.subjects.values()) or [target]))

    def compound(self) -> str:
        return self.expression({})

    def client(self, folder: Path) -> Client:
        folder.mkdir()
        inventory, settings = folder / "inventory.json", folder / "pushsalt.yaml"
        inventory.write_text(json.dumps({"hosts": self.hosts}))
        settings.write_text(json.dumps({"nodegroups": self.nodegroups}))
        client = Client(Settings(inventories=[inventory], config=settings, cache_dir=folder / "cache"))
        project = client.project
        project.grains.put_many({key: value for key, value in self.grains.items() if key in self.hosts})
        for key, value in self.pillar.items():
            project.pillar_bank.put(key, value)
        for manager, discovered in self.discovered.items():
            project.managed.register(
                manager, discovered, declared={type: list(ids) for type, ids in discovered.items()}
            )
        return client


def selected_keys(client: Client, fleet: Fleet, expression: str) -> set[str]:
    """The selected keys. An expression that a command refuses is evaluated by the matchers."""
    try:
        names = client.target(Selection(expression, "compound"))
    except NoTargetError:
        return set()
    except UsageError:
        return {key for key, subject in fleet.subjects.items() if matches_subject(subject, fleet, expression)}
    assert len(names) == len(set(names)), "two share a name"
    assert all(client.project.target(name).key == (key_of(name) or name) for name in names)
    return {key_of(name) or name for name in names}


def matches_subject(subject: dict[str, Any], fleet: Fleet, expression: str) -> bool:
    [type] = subject["resources"]
    candidate = Subject(subject["id"], subject["grains"], subject["pillar"], type, subject["manager"])
    try:
        return matches(expression, "compound", candidate, nodegroups=fleet.nodegroups)
    except UsageError:
        return False


@pytest.mark.timeout(0)
@pytest.mark.usefixtures("quiet")
def test_random_expressions_over_fleets(
    real: RealMatchers, examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    wrong: list[str] = []
    total = int(os.environ.get("EXPRESSIONS") or examples)
    first = int(os.environ.get("SEED") or 0) * 1_000_000
    count = selecting = 0
    for seed in range(first, first + max(1, total // EXPRESSIONS_PER_TARGET)):
        fleet = Fleet(seed)
        client = fleet.client(tmp_path / str(seed))
        expressions = [fleet.compound() for _ in range(EXPRESSIONS_PER_TARGET)]
        answers = {
            key: real.ask(subject, [("compound", expression, None) for expression in expressions])
            for key, subject in fleet.subjects.items()
        }
        for index, expression in enumerate(expressions):
            count += 1
            theirs = {key for key, matched in answers.items() if matched[index] is True}
            broken = {key for key, matched in answers.items() if isinstance(matched[index], str)}
            ours = selected_keys(client, fleet, expression)
            selecting += bool(ours)
            if ours - broken != theirs:
                wrong.append(f"{seed}: {expression!r}: Salt says {sorted(theirs)}, we say {sorted(ours)}")
    print(f"{count} expressions, of which {selecting} select anything")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:10])
