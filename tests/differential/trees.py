"""Random state trees: SLS files that refer to each other by all kinds of references that Salt has.

Most references name an existing and mostly an earlier state, so that most trees compile; a few name none, and a few
make cycles.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

WAITING = (
    "require",
    "watch",
    "onchanges",
    "onfail",
    "prereq",
    "require_any",
    "watch_any",
    "onchanges_any",
    "onfail_any",
    "onfail_all",
    "listen",
    "onfail_stop",
)
REVERSED = ("require_in", "watch_in", "onchanges_in", "onfail_in", "prereq_in", "listen_in")
#: requisites, frequent ones repeated
_REQUISITES = [*WAITING[:5], *WAITING, *REVERSED, "use", "use_in"]
SLS = ("a", "b", "c.d", "c.e", "c")
NAMES = ("n1", "n2", "two words", "/path/to", "a1")

#: function -> its possible arguments, each with values
FUNCTIONS: dict[str, dict[str, list[Any]]] = {
    "test.nop": {},
    "test.succeed_without_changes": {"comment": ["so it is"]},
    "test.succeed_with_changes": {},
    "test.fail_without_changes": {"comment": ["no"]},
    "test.fail_with_changes": {},
    "test.configurable_test_state": {
        "changes": [True, False],
        "result": [True, False],
        "comment": ["configured"],
        "allow_test_mode_failure": [True],
        "warnings": ["careful"],
    },
    "test.show_notification": {"text": ["hello", ""]},
    "test.check_pillar": {"present": [["one"], ["two", "three"]], "integer": [["one"]]},
    "probe.said": {
        "result": [True, False, None],
        "changes": [{"a": 1}, {}],
        "skip_watch": [True],
        "skip_req": [True],
        "test_changes": [False],
        "comment": [["a", "list"], "text"],
        "watch_result": [False],
        "sub_state_run": [
            [
                {
                    "low": {"state": "test", "__id__": "inner", "name": "in", "fun": "nop"},
                    "name": "in",
                    "changes": {"i": 1},
                    "result": True,
                    "comment": "inside",
                }
            ]
        ],
    },
    "probe.listed": {"items": [["x"], ["y", "z"]]},
    "probe.inited": {},
    "probe.raises": {},
    "probe.malformed": {},
    "probe.counted": {"until": [1, 2, 3]},
    "probe.dunders": {},
    "plain.done": {"changes": [True]},
    "plain.not_done": {},
    "guarded.own": {},
    "guarded.open": {},
    "cmd.run": {"name": ["true", "false", "exit 3"], "stateful": [True], "success_retcodes": [[3]]},
    "cmd.wait": {"name": ["true", "false"]},
}
_OFTEN = ["test.nop", "test.succeed_with_changes", "test.fail_without_changes", "test.configurable_test_state"]
_FUNCTION_NAMES = [*_OFTEN, *_OFTEN, *FUNCTIONS]

GUARDS = [
    "true",
    "false",
    {"fun": "test.true"},
    {"fun": "test.false"},
    {"fun": "test.echo", "args": ["x"]},
    {"fun": "test.echo", "text": ""},
    5,
    {"fun": "test.arg", "args": ["x"], "get_return": "args:0"},
    "no-such-program-at-all",
]

#: arguments of every state
COMMON: dict[str, list[Any]] = {
    "order": [1, 2, 5, 20000, -1, -5, "first", "last", 1.5],
    "failhard": [True, False],
    "unless": [*GUARDS, ["true", "false"], ["true", {"fun": "test.true"}]],
    "onlyif": [*GUARDS, ["true", "false"], ["true", {"fun": "test.true"}]],
    "creates": ["/", "/no/such/path", ["/", "/no/such"], ["/", "/etc"], []],
    "check_cmd": ["true", "false", ["true", "false"], ["true"]],
    "retry": [
        {"attempts": 2, "interval": 0},
        {"attempts": 3, "interval": 0, "until": False},
        False,
        {"interval": 0, "attempts": "x"},
    ],
    "aggregate": [True, ["probe"], False],
    "reload_modules": [True],
    "reload_grains": [True],
    "fire_event": [True, "some/tag"],
    "no_log": [True],
    "umask": ["022", 77],
    "names": [
        ["k1"],
        ["k1", "k2"],
        ["k2", {"k3": [{"order": 1}]}],
        [{"k4": [{"comment": "own"}, {"result": False}]}, "k1"],
        [{"k5": [{"require": [{"test": "k1"}]}]}, "k1"],
    ],
    "unknown_argument": [1],
    "mod_watch_only": ["__slot__:salt:test.echo(x)"],
    "comment": ["__slot__:salt:test.echo(slotted)", "__slot__:salt:test.arg(x, y=z).kwargs.y ~ /more"],
}
_UNKNOWN = ("aggregate", "unknown_argument", "mod_watch_only", "comment")
_EXACT = ("test.configurable_test_state", "test.check_pillar")
#: some trees have few requisites, some have many
_DENSITIES = [(0, 0, 1), (0, 1), (0, 0, 0, 0, 1), (0, 1, 1, 2, 3)]


@dataclass(frozen=True)
class Tree:
    """A tree: ``files`` maps paths below the file root to data."""

    files: dict[str, Any]
    sls: list[str]
    test: bool = False
    opts: dict[str, Any] = field(default_factory=dict)
    exclude: list[Any] = field(default_factory=list)

    def texts(self) -> dict[str, str]:
        return {path: json.dumps(data, indent=1) + "\n" for path, data in self.files.items()}

    def __str__(self) -> str:
        import yaml

        parts = [f"# {path}\n{yaml.safe_dump(data, sort_keys=False)}" for path, data in self.files.items()]
        head = f"sls: {self.sls}  test: {self.test}  opts: {self.opts}  exclude: {self.exclude}"
        return "\n".join([head, *parts])


class _TreeGenerator:
    """Draws one tree. Rare features are drawn in such a way that hypothesis shrinks them away."""

    def __init__(self, number: Callable[[int, int], int]) -> None:
        self.number = number  #: a number between these two, both included
        self.density: tuple[int, ...] = self.pick(_DENSITIES)  # the number of requisites of a state
        self.declared: list[tuple[str, str]] = []  # (state module, ID), those before the current one first

    def pick(self, items: Any) -> Any:
        items = list(items)
        return items[self.number(0, len(items) - 1)]

    def chance(self, percent: float) -> bool:
        """True with this probability. Shrinks to False."""
        return self.number(0, 999) >= 1000 - percent * 10

    def some(self, keys: Any, counts: tuple[int, ...]) -> list[str]:
        """Some of these, none twice; their number is one of ``counts``."""
        return list(dict.fromkeys(self.pick(keys) for _ in range(self.pick(counts) if keys else 0)))

    # a tree

    def tree(self) -> Tree:
        slss = [SLS[index] for index in range(self.number(1, len(SLS)))] if self.chance(60) else ["a"]
        plan: list[tuple[str, str, list[str]]] = []  # (sls, ID, functions)
        count = 0
        for sls in slss:
            for _ in range(self.pick([3, 5, 8, 1])):
                functions = [self.pick(_FUNCTION_NAMES)]
                if self.chance(8):
                    other = self.pick(_FUNCTION_NAMES)
                    if other.split(".")[0] != functions[0].split(".")[0]:
                        functions.append(other)
                plan.append((sls, f"{'ab'[count % 2]}{count}", functions))
                count += 1
        if self.chance(3):
            plan.append((plan[-1][0], plan[0][1], ["test.nop"]))  # an ID twice
        self.declared = [(fun.split(".")[0], id_) for _, id_, functions in plan for fun in functions]
        self.slss = slss
        self.sls_of = {id_: sls for sls, id_, _ in plan}
        bodies: dict[str, dict[str, Any]] = {sls: {} for sls in slss}
        for sls in slss:
            include = self.include(sls)
            if include:
                bodies[sls]["include"] = include
        position = 0
        for sls, id_, functions in plan:
            bodies[sls][id_] = self.declaration(functions, position)
            position += len(functions)
        for sls in slss:
            if self.chance(12):
                bodies[sls]["extend"] = self.extend()
            if self.chance(5):
                bodies[sls]["exclude"] = [self.excluded() for _ in range(self.number(1, 2))]
        if '"prereq' in json.dumps(bodies):
            # Salt takes the function out of a guard at its first call: after a prereq's check, the run has no guard
            bodies = _without_functions_in_guards(bodies)
        files = {f"{sls.replace('.', '/')}{self.pick(['.sls', '.sls', '/init.sls'])}": bodies[sls] for sls in slss}
        applied = [sls for sls in slss if sls == "a" or self.chance(70)]
        if self.chance(3):
            applied.append(self.pick(["c.*", "no.such", "*"]))
        return Tree(files, applied, self.chance(40), self.opts(), [self.excluded()] if self.chance(4) else [])

    def opts(self) -> dict[str, Any]:
        opts: dict[str, Any] = {}
        if self.chance(5):
            opts["failhard"] = True
        if self.chance(8):
            opts["state_aggregate"] = self.pick([True, ["probe"], ["test"]])
        if self.chance(4):
            opts["state_auto_order"] = False
        if self.chance(3):
            opts["disabled_requisites"] = self.pick(["require", ["watch", "require_in"], ["prereq"], ["listen", "use"]])
        return opts

    def include(self, sls: str) -> list[Any]:
        if len(self.slss) == 1 or not self.chance(35):
            return []
        names = [other for other in self.slss if other != sls]
        if self.chance(15):
            names += [".d", "..a", "c.*", ".", {"base": self.slss[0]}, "no.such", 5, {"nowhere": "a"}]
        return [self.pick(names) for _ in range(self.number(1, 2))]

    def excluded(self) -> Any:
        id_ = self.pick(self.declared)[1]
        return self.pick([{"id": id_}, {"sls": self.pick(self.slss)}, self.pick(self.slss), "c.*", {"id": "no-such"}])

    def extend(self) -> dict[str, Any]:
        extension: dict[str, Any] = {}
        for _ in range(self.number(1, 2)):
            position = self.number(0, len(self.declared) - 1)
            module, id_ = self.declared[position]
            functions = [name for name in FUNCTIONS if name.split(".")[0] == module]
            key = module if self.chance(60) else self.pick(functions)
            if self.chance(4):
                module, id_ = self.pick([("test", "no-such"), ("file", id_)])
            extension[id_] = {key: self.arguments(key if "." in key else functions[0], position)}
        return extension

    # a declaration

    def declaration(self, functions: list[str], at: int) -> Any:
        if len(functions) == 1 and self.chance(20):
            return functions[0]
        body: dict[str, Any] = {}
        for fun in functions:
            arguments = self.arguments(fun, at)
            if self.chance(10):
                body[fun.split(".")[0]] = [fun.split(".")[1], *arguments]
            else:
                body[fun] = arguments
            at += 1
        return body

    def arguments(self, fun: str, at: int) -> list[Any]:
        result: list[Any] = []
        parameters = FUNCTIONS.get(fun, {})
        if fun == "test.configurable_test_state" or fun == "probe.said":
            result += [{key: self.pick(parameters[key])} for key in ("changes", "result")]
        elif fun == "test.show_notification":
            result.append({"text": self.pick(["hello", "hello", "hello", ""])})
        elif fun == "test.check_pillar" or "name" in parameters:
            key = next(iter(parameters))
            result.append({key: self.pick(parameters[key])})
        names = {next(iter(arg)) for arg in result}
        result += [{key: self.pick(parameters[key])} for key in self.some(parameters, (0, 0, 0, 1)) if key not in names]
        if "name" not in parameters and self.chance(10):
            result.append({"name": self.pick(NAMES)})
        # in Salt an unknown argument is an exception for the whole run
        common = [key for key in COMMON if fun not in _EXACT or key not in _UNKNOWN]
        result += [
            {key: self.pick(COMMON[key])} for key in self.some(common, (0, 0, 0, 0, 1, 1, 2)) if key not in parameters
        ]
        for key in self.some(_REQUISITES, self.density):
            # a required state mostly stands before: otherwise almost every tree would have a cycle
            result.append({key: self.references(at, backward=(key in REVERSED) == (key in ("prereq", "prereq_in")))})
        if self.chance(10):
            result.reverse()
        return result

    # requisites

    def references(self, at: int, backward: bool = True) -> Any:
        if self.chance(0.2):
            return self.pick([self.reference(at, backward), "text", None, []])
        return [self.reference(at, backward) for _ in range(self.number(1, 3))]

    def reference(self, at: int, backward: bool) -> Any:
        pool = self.declared[:at] if backward else self.declared[at + 1 :]
        if not pool or self.chance(4):
            pool = self.declared
        module, id_ = self.pick(pool)
        if self.chance(4):
            other = self.pick(NAMES)
            return self.pick(
                [
                    {module: other},
                    {"test": "k1"},
                    other,
                    {module: "no-such"},
                    {f"{module}.x": id_},
                    {"id": "*"},
                    {module: None},
                    {module: "[ab]?"},
                    {module: f"{id_[0]}*"},
                    {"sls": "c*"},
                ]
            )
        if self.chance(30):
            pattern = self.pick([f"{id_}*", f"[{id_[0]}]{id_[1:]}"])
            return self.pick([id_, {"id": id_}, {module: pattern}, {"sls": self.sls_of[id_]}])
        return {module: id_}


def _without_functions_in_guards(data: Any) -> Any:
    """The data with a command of the same outcome in place of each function of an ``onlyif`` or ``unless``."""
    if isinstance(data, list):
        return [_without_functions_in_guards(value) for value in data]
    if not isinstance(data, dict):
        return data
    if "fun" in data and ("args" in data or "text" in data or len(data) == 1):
        return "false" if data in ({"fun": "test.false"}, {"fun": "test.echo", "text": ""}) else "true"
    return {key: _without_functions_in_guards(value) for key, value in data.items()}


@st.composite
def trees(draw: Any) -> Tree:
    """A tree that hypothesis draws, and can shrink."""
    return _TreeGenerator(lambda low, high: int(draw(st.integers(low, high)))).tree()


def tree_of(seed: str) -> Tree:
    """The tree of a seed: the same on every machine, independent of installed and loaded packages."""
    return _TreeGenerator(random.Random(seed).randint).tree()
