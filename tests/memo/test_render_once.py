"""A target gets the same results as without memoized renderings, whatever was rendered for other targets."""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pushsalt.api import Client, Selection
from pushsalt.errors import PushsaltError, StateError
from pushsalt.events import Reporter
from pushsalt.job import JobOptions, Settings
from pushsalt.memo.reads import NotAhead, ahead
from pushsalt.minion.filetemplates import prerender
from pushsalt.minion.minion import Minion
from pushsalt.model import Target
from pushsalt.modules.controller import Lowstate
from pushsalt.run.project import Project

pytestmark = pytest.mark.slow

#: Templates, each of which reads data in another way.
READS = [
    "{{ grains['a'] | default('-') }}",
    "{{ grains.a | default('-') }}",
    "{{ grains.get('b', 'none') }}",
    "{{ 'b' in grains }}",
    "{{ grains | length }}",
    "{% for key in grains %}{{ key }}{% endfor %}",
    "{{ grains.items() | list }}",
    "{{ grains | json }}",
    "{{ grains }}",
    "{{ dict(grains) | json }}",
    "{{ dict(grains, more=1) | json }}",
    "{{ opts.grains.c | default('-') }}",
    "{{ '%(b)s' | format(**grains) if 'b' in grains else '' }}",
    "{{ grains == {} }}{{ {'a': 1} == grains }}",
    "{{ grains or 'nothing' }}",
    "{{ salt['grains.get']('d:x', 'none') }}",
    "{{ salt.grains.filter_by({'1': 'one', 'default': 'other'}, grain='a') }}",
    "{{ salt['grains.items']() | json }}",
    "{{ salt['config.get']('c', 'none') }}",
    "{{ salt['config.get']('p', 'none', merge='recurse') | json }}",
    "{{ pillar.p | default('-') }}",
    "{{ pillar | yaml }}",
    "{{ pillar.get('q', {}).get('x', 'none') }}",
    "{{ pillar | dictsort }}",
    "{{ pillar | pprint }}",
    "{{ salt['pillar.get']('q:x', 'none') }}",
    "{{ salt['pillar.get']('q', {'x': 0}, merge=True) | json }}",
    "{{ salt['pillar.items']() | json }}",
    "{{ salt['pillar.keys']('q') | json if pillar.q is mapping else '' }}",
    "{{ salt['pillar.items'](pillar={'p': 9}) | json }}",
    "{{ salt['pillar.get']('p', 'none', pillarenv='base') }}",
    "{{ salt['state.show_sls']('plain') | json }}",
    "{{ salt['state.show_low_sls']('plain', pillar={'p': grains.get('b', 1)}) | json }}",
    "{{ opts.id }}",
    "{{ opts.get('mine') }}",
    "{{ opts['test'] }}",
    "{{ salt['cmd.run']('one') }}",
    "{{ salt['cmd.run']('one') }}{{ salt['cmd.run']('one') }}{{ salt['cmd.run']('two') }}",
    "{{ salt['match.glob']('t1') }}",
    "{{ salt['match.compound']('G@a:1 or I@p:1') }}",
    "{{ salt['cp.get_file_str']('salt://data.yaml') }}",
    "{{ salt['cp.get_file_str']('salt://late.txt') }}",
    "{{ salt['slsutil.file_exists']('late.txt') }}",
    "{{ salt['cp.list_states']() | join(' ') }}",
    "{{ salt['slsutil.renderer']('data.yaml') | json }}",
    "{% import_yaml 'data.yaml' as data %}{{ data | json }}",
    "{% from 'map.jinja' import mapped with context %}{{ mapped }}",
    "{% from 'other.jinja' import mapped with context %}{{ mapped }}",
    "{% do grains.update({'a': 'changed'}) %}{{ grains.a }}",
    "{% set q = pillar.get('q', {}) %}{% do q.update({'x': 'changed'}) if q is mapping %}{{ q }}",
    "{% do salt['grains.get']('d', {}).clear() if grains.d is mapping %}",
    "{% do opts.update({'mine': 'changed'}) %}",
    "{% if grains.get('a') %}{{ grains.get('c') }}{% else %}{{ pillar.p }}{{ salt['cmd.run']('one') }}{% endif %}",
    "{{ raise('refused') if grains.get('a') == 'bad' else '' }}",
    "{{ salt['grains.get']('a') is sameas true }}",
]
#: Values that Python considers equal are among them, and the same keys in another order.
VALUES = st.sampled_from(
    [
        1,
        True,
        1.0,
        "1",
        0,
        False,
        None,
        "",
        "bad",
        [1, 2],
        [2, 1],
        {"x": 1},
        {"x": True, "y": 2},
        {"y": 2, "x": True},
        {},
    ]
)
DATA = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)
PILLAR = st.dictionaries(st.sampled_from("pqr"), VALUES, max_size=3)
PLACES = ["a.sls", "b.sls", "c/init.sls", "map.jinja", "other.jinja", "template"]
TOPS = ["*", "t1", "G@a:1", "I@p:1", "not G@b:*", "t[12]"]


@st.composite
def templates(draw: st.DrawFn, path: str, pool: list[str]) -> str:
    reads = draw(st.lists(st.sampled_from(pool), max_size=3, unique=True))
    if path.endswith(".jinja"):  # an order prevents endless includes
        reads = [read for read in reads if "import mapped" not in read]
        return "{% set mapped %}" + "".join(reads) + "{% endset %}"
    if path == "template":
        return "\n".join(reads)
    lines = []
    included = draw(st.sampled_from(["", "", "b", "c"]))
    if included and path.startswith("a"):
        lines.append(f"include: [{included}]")
    lines.append(f"{path[0]}:\n  test.nop:\n    - template: 1")
    lines += [
        f"    - read{number}: {{% set v %}}{read}{{% endset %}}{{{{ v | json }}}}" for number, read in enumerate(reads)
    ]
    return "\n".join(lines) + "\n"


@dataclass
class World:
    """A tree, and targets that differ in every input."""

    folder: Path
    project: Project = field(init=False)
    grains: dict[str, dict] = field(default_factory=dict)
    pillar: dict[str, dict] = field(default_factory=dict)
    opts: dict[str, dict] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    arguments: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        config = self.folder / "pushsalt.yaml"
        roots = {name: {"base": [str(self.folder / name)]} for name in ("salt", "pillar")}
        config.write_text(json.dumps({"file_roots": roots["salt"], "pillar_roots": roots["pillar"]}))
        self.project = Project.open(Settings(config=config, cache_dir=self.folder / "cache"), Reporter())

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.project.shared.look_again()  # as a new job does

    def minion(self, id: str, render_cache: bool | None = None, test: bool = False) -> Minion:
        target = Target(id, "offline", minion_opts=self.opts.get(id, {}), pillar=self.pillar.get(id, {}))
        options = JobOptions(render_cache=render_cache, test=test)

        def remote(fun: str, args: list, kwargs: dict) -> str:
            self.calls.append(f"{id} {fun} {args[0]}")
            return f"{args[0]}: {self.answers.get(id, '')}"

        return Minion(self.project, target, options, copy.deepcopy(self.grains.get(id, {})), remote)

    def outcome(self, minion: Minion, function: str) -> object:
        """The result of a function, in a form that keeps types and orders."""
        try:
            if function == "template":
                chunk = {"state": "file", "fun": "managed", "name": "/x", "__id__": "x", **self.arguments}
                context = {"list": [1]}
                prerendered = prerender(minion, "salt://template", "base", "jinja", context, None, chunk)
                return repr(prerendered and prerendered[1])
            value = minion.call(function, [["a", "b"]] if function.endswith("sls") else [], {})
            if isinstance(value, Lowstate):
                value = [value.chunks, value.test, value.disabled]
            return repr(value)
        except StateError as exc:
            return "\n".join(exc.errors)
        except PushsaltError as exc:
            return f"{type(exc).__name__}: {exc}"

    def count(self, level: str) -> int:
        counts = self.project.shared.once.counts.get(level)
        return counts.rendered if counts else 0


FUNCTIONS = ["state.show_low_sls", "state.sls", "state.show_lowstate", "state.show_sls", "pillar.items", "template"]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, str], list[tuple]]:
    pool = draw(st.lists(st.sampled_from(READS), min_size=1, max_size=4, unique=True))  # few, so that they overlap
    files = {f"salt/{path}": draw(templates(path, pool)) for path in PLACES}
    files["salt/data.yaml"] = "x: 1"
    top = {draw(st.sampled_from(TOPS)): ["a"], "t2": ["c"]}
    files["salt/top.sls"] = json.dumps({"base": top})
    files["pillar/top.sls"] = json.dumps({"base": {"*": ["one"], draw(st.sampled_from(TOPS[:3])): ["two"]}})
    files["salt/plain.sls"] = "plain: {test.nop: [{a: {{ grains.a | json }}}, {p: {{ pillar.get('p') | json }}}]}"
    excluded = ("mapped", "data.yaml", "pillar.items", "pillarenv", "plain")
    read = draw(st.sampled_from([text for text in READS if not any(word in text for word in excluded)]))
    files["pillar/one.sls"] = f"p: {{% set v %}}{read}{{% endset %}}{{{{ v | json }}}}"
    files["pillar/two.sls"] = draw(
        st.sampled_from(["q: {x: {{ grains.get('a', 0) | json }}}", "include: [one]", "r: 1"])
    )
    ids = st.sampled_from(["t1", "t2"])
    step = st.one_of(
        st.tuples(st.just("grains"), ids, DATA),
        st.tuples(st.just("pillar"), ids, PILLAR),
        st.tuples(st.just("opts"), ids, st.fixed_dictionaries({"mine": VALUES})),
        st.tuples(st.just("answers"), ids, st.sampled_from(["", "yes", "no"])),
        st.sampled_from(PLACES).flatmap(lambda path: st.tuples(st.just("file"), st.just(path), templates(path, pool))),
        st.tuples(st.just("file"), st.just("data.yaml"), st.sampled_from(["x: 1", "x: 2", "{a: 1, b: 2}"])),
    )
    return files, draw(
        st.lists(st.tuples(step, ids, st.sampled_from(FUNCTIONS), st.booleans()), min_size=3, max_size=8)
    )


def same_as_fresh(warm: World, id: str, function: str, test: bool = False) -> str:
    fresh = warm.outcome(warm.minion(id, render_cache=False, test=test), function)
    fresh_calls, warm.calls[:] = list(warm.calls), []
    assert warm.outcome(warm.minion(id, test=test), function) == fresh
    # no call is repeated or left out
    assert warm.calls == fresh_calls
    warm.calls.clear()
    return str(fresh)


TREE = {
    "salt/top.sls": "base: {'*': [a]}",
    "salt/a.sls": "include: [b]\na: {test.nop: [{name: {{ grains.a }}}, {like: {{ salt['pillar.get']('p:x') }}}]}",
    "salt/b.sls": "{% import_yaml 'data.yaml' as data %}\nb: {test.nop: [{name: b{{ data.x }}}]}",
    "salt/data.yaml": "x: 1",
    "salt/template": "{{ grains.a }}",
    "pillar/top.sls": "base: {'*': [one]}",
    "pillar/one.sls": "p: {x: {{ grains.get('d', 0) }}}\nname: {{ opts.id }}",
}

#: Changes that are made one after the other, each compared with earlier results.
CHANGES = [
    ("grains", {}),
    *(("grains", {"a": value, "b": 1, "c": 2, "d": {"x": value}}) for value in (1, True, 1.0, "1", 0, None, [1])),
    ("grains", {"b": 1, "a": 1, "c": 2, "d": {"x": 1}}),
    ("grains", {"a": 1, "b": 1, "c": 2, "d": {"x": 1}, "e": 3}),
    ("grains", {"a": 1, "c": 2, "d": {"x": 1, "y": 2}}),
    ("grains", {}),
    ("grains", {"a": 1, "b": 1, "c": 3, "d": {"y": 2, "x": 1}}),
    *(("pillar", {"p": value, "q": {"x": value}}) for value in (1, True, "", {"x": 1})),
    ("pillar", {"q": {"x": 1, "y": 2}, "p": 1}),
    ("pillar", {"p": 1, "q": {"y": 2, "x": 1}, "r": []}),
    ("pillar", {}),
    *(("opts", {"mine": value}) for value in (1, True, [1, 2])),
    *(("answers", value) for value in ("yes", "no", "yes")),
    *(("data.yaml", text) for text in ("x: 2", "{y: 1, x: 2}", "x: 1")),
    *(("map.jinja", f"{{% set mapped = {text} %}}") for text in ("1", "grains.get('a')", "pillar.get('p')")),
    ("late.txt", "there"),
    ("new.sls", "x: test.nop"),
    ("test", True),
]


@pytest.mark.parametrize("changing", [False, True])
def test_each_change_of_an_input_is_noticed(tmp_path: Path, changing: bool) -> None:
    """Each read is an SLS. Changes by an SLS are visible to all later ones."""
    warm = World(tmp_path)
    for name, text in {
        **TREE,
        "salt/map.jinja": "{% set mapped = 0 %}",
        "salt/other.jinja": "{% set mapped = 1 %}",
    }.items():
        warm.write(name, text)
    warm.write("salt/plain.sls", "plain: {test.nop: [{a: {{ grains.get('a') | json }}}]}")
    reads = sorted(READS, key=lambda read: "{% do" not in read)
    reads = [read for read in reads if changing or "{% do" not in read]
    for number, read in enumerate(reads):
        text = f"{{% set v %}}{read}{{% endset %}}\na{number}: {{test.nop: [{{v: {{{{ v | json }}}}}}]}}"
        warm.write(f"salt/r{number}.sls", text)
    warm.write("salt/a.sls", json.dumps({"include": [f"r{number}" for number in range(len(reads))]}))
    test = False
    for kind, value in CHANGES:
        if "." in kind:
            warm.write(f"salt/{kind}", value)
        elif kind == "test":
            test = not test
        else:
            getattr(warm, kind)["t1"] = value
        assert same_as_fresh(warm, "t1", "state.show_low_sls", test).startswith("[{")
    assert warm.project.shared.once.counts["SLS"].reused > len(reads) * len(CHANGES) / 3


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds())
def test_memoized_and_fresh_results_are_equal(tmp_path_factory: pytest.TempPathFactory, world: tuple) -> None:
    files, steps = world
    warm = World(tmp_path_factory.mktemp("world"))
    for name, text in files.items():
        warm.write(name, text)
    for (kind, key, value), id, function, test in steps:
        if kind == "file":
            warm.write(f"salt/{key}", value)
        else:
            getattr(warm, kind)[key] = value
        for target_id in dict.fromkeys((key if kind != "file" else "t1", id)):
            same_as_fresh(warm, target_id, function, test)


# that results are shared ---------------------------------------------------------------------------------------------


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    for name, text in TREE.items():
        world.write(name, text)
    for id in ("t1", "t2"):
        world.grains[id] = {"a": "x", "b": 1, "id": id}
    return world


def rendered(world: World, id: str, function: str, **kwargs: object) -> list[int]:
    """The number of pillars, states and SLS that a call rendered."""
    before = [world.count(level) for level in ("pillar", "states", "SLS")]
    world.outcome(world.minion(id, **kwargs), function)
    return [world.count(level) - was for level, was in zip(("pillar", "states", "SLS"), before, strict=True)]


@pytest.mark.parametrize("function", ["state.show_lowstate", "state.highstate", "state.show_low_sls", "state.show_sls"])
def test_equal_inputs_are_rendered_once(world: World, function: str) -> None:
    assert rendered(world, "t1", function)[1] == 1
    assert rendered(world, "t1", function) == [0, 0, 0]
    world.grains["t1"]["b"] = 2  # which no template reads
    assert rendered(world, "t1", function) == [0, 0, 0]
    # the pillar contains the id, so its SLS is rendered; the states do not read that
    assert rendered(world, "t2", function) == [1, 0, 1]


def test_a_target_uses_what_was_rendered_ahead(world: World) -> None:
    with ahead():
        assert rendered(world, "t1", "state.show_low_sls")[1] == 1
    assert rendered(world, "t1", "state.show_low_sls") == [0, 0, 0]
    world.grains["t1"]["a"] = "another"
    assert rendered(world, "t1", "state.show_low_sls")[1] == 1


def test_what_cannot_be_memoized_is_not_rendered_to_its_end_ahead(world: World) -> None:
    world.write("salt/a.sls", "a:\n  test.nop:\n    - n: {{ [1, 2] | random }}\n")
    with ahead(), pytest.raises(NotAhead):
        world.outcome(world.minion("t1"), "state.show_low_sls")
    assert "test" in str(world.outcome(world.minion("t1"), "state.show_low_sls"))


def test_only_files_with_different_inputs_are_rendered(world: World) -> None:
    rendered(world, "t1", "state.show_lowstate")
    world.grains["t1"]["a"] = "y"
    assert rendered(world, "t1", "state.show_lowstate") == [0, 1, 1]  # a.sls, not b.sls
    world.write("salt/data.yaml", "x: 2")
    assert rendered(world, "t1", "state.show_lowstate") == [0, 1, 1]  # b.sls, not a.sls
    world.write("salt/data.yaml", "x: 1")
    assert rendered(world, "t1", "state.show_lowstate") == [0, 0, 0]
    world.pillar["t1"] = {"p": {"x": 5}}
    assert rendered(world, "t1", "state.show_lowstate") == [1, 1, 1]


def test_inputs_of_a_top_file_are_noticed(world: World) -> None:
    world.write("salt/top.sls", json.dumps({"base": {"G@c:1": ["one"], "t1 or I@name:t3": ["two"]}}))
    for name in ("one", "two"):
        world.write(f"salt/{name}.sls", f"{name}: test.nop")
    for id, grains, ids in (("t1", {}, "two"), ("t2", {"c": 1}, "one"), ("t1", {"c": 1}, "one two"), ("t3", {}, "two")):
        world.grains[id] = {"a": 1, **grains}
        low = world.minion(id).call("state.show_lowstate", [], {})
        assert " ".join(chunk["__id__"] for chunk in low) == ids
    before = world.count("states")
    world.grains["t4"] = {"a": 5, "c": 1}  # the states read only the id
    assert len(world.minion("t4").call("state.show_lowstate", [], {})) == 1
    assert world.count("states") == before


def test_a_new_file_with_a_higher_priority_is_used(world: World) -> None:
    rendered(world, "t1", "state.show_lowstate")
    world.write("salt/b/init.sls", "other: test.nop")
    assert rendered(world, "t1", "state.show_lowstate") == [0, 0, 0]
    (world.folder / "salt/b.sls").unlink()
    world.project.shared.look_again()
    assert "other" in world.outcome(world.minion("t1"), "state.show_lowstate")


def test_file_templates_are_rendered_once(world: World) -> None:
    assert world.outcome(world.minion("t1"), "template") == world.outcome(world.minion("t2"), "template") == repr(b"x")
    assert world.count("file template") == 1
    world.write("salt/template", "{{ salt['cmd.run']('one') }}")
    assert [world.outcome(world.minion(id), "template") for id in ("t1", "t2")] == ["None", "None"]
    assert world.count("file template") == 2 and not world.calls


def test_a_file_template_depends_on_the_arguments_of_its_state(world: World) -> None:
    world.write("salt/template", "{{ extra }}{{ list }}")
    for number, (extra, shown) in enumerate([("x", b"x[1]"), ("y", b"y[1]"), ("x", b"x[1]"), ([1, 2], b"[1, 2][1]")]):
        world.arguments = {"extra": extra}
        assert world.outcome(world.minion(f"t{number % 2 + 1}"), "template") == repr(shown)
    assert world.count("file template") == 3


@pytest.mark.parametrize(
    "text",
    [
        "{{ range(9) | random }}",
        "{{ None | strftime }}",
        "{{ 'x' | gen_mac }}",
        "{{ 8 | random_str }}",
        "{{ lipsum(1) }}",
        "{% do grains.update({'a': 1}) %}",
        "{% do grains.l.append(1) %}",
        "#!py\ndef run(): return {'a': 'test.nop'}",
        "#!mako|yaml\na: test.nop",
        "#!stateconf\na: test.nop",
    ],
)
def test_nondeterministic_templates_are_rendered_each_time(world: World, text: str) -> None:
    world.write("salt/a.sls", text)
    world.grains["t1"]["l"] = []
    rendered(world, "t1", "state.show_lowstate")
    for _ in range(2):
        assert rendered(world, "t1", "state.show_lowstate")[1:] == [1, 1]


def test_memoization_can_be_disabled(world: World) -> None:
    rendered(world, "t1", "state.show_lowstate", render_cache=False)
    assert not world.project.shared.once.counts
    world.project.config.opts["render_cache"] = False
    rendered(world, "t1", "state.show_lowstate")
    assert not world.project.shared.once.counts
    rendered(world, "t1", "state.show_lowstate", render_cache=True)
    assert world.count("states") == 1


def test_a_changed_result_does_not_affect_later_ones(world: World) -> None:
    first = world.minion("t1").call("state.show_lowstate", [], {})
    pillar = world.minion("t1").pillar
    pillar["p"]["x"] = "changed"
    first[0]["name"] = "changed"
    first.clear()
    assert "changed" not in world.outcome(world.minion("t1"), "state.show_lowstate")
    assert "changed" not in world.outcome(world.minion("t1"), "pillar.items")


def test_a_failing_pillar_fails_for_each_target(world: World) -> None:
    world.write("pillar/one.sls", "p: {{ grains.a }}\n{{ raise('no') if grains.id == 't2' else '' }}")
    for _ in range(2):
        assert world.outcome(world.minion("t1"), "state.show_lowstate").startswith("[{")
        assert "no (TemplateError" in world.outcome(world.minion("t2"), "state.show_lowstate")


def test_a_fleet_is_rendered_once(world: World) -> None:
    hosts = {f"h{number}": {"transport": "offline", "grains": {"a": "x", "b": number}} for number in range(40)}
    (world.folder / "inventory.yaml").write_text(json.dumps({"hosts": hosts}))
    world.write("pillar/one.sls", "p: {x: 1}")
    client = Client(Settings([world.folder / "inventory.yaml"], world.folder / "pushsalt.yaml", cache_dir=world.folder))
    returns = client.run(Selection("*"), "state.show_lowstate")
    [low] = {json.dumps(result.ret) for result in returns.values()}
    assert len(returns) == 40 and '"name": "x"' in low
    project = client.project
    for id, target in project.inventory.targets.items():  # as each render process does it for its share
        minion = Minion(project, target, JobOptions(), dict(target.grains), None)
        assert json.dumps(minion.call("state.show_lowstate", [], {})) == low, id
    counts = project.shared.once.counts
    assert (counts["pillar"].rendered, counts["states"].rendered, counts["SLS"].rendered) == (1, 1, 5)
    world.write("salt/data.yaml", "x: 7")  # between two jobs of one process
    assert '"name": "x"' in json.dumps(client.run(Selection("h1"), "state.show_lowstate")["h1"].ret)
    assert "b7" in json.dumps(client.run(Selection("h1"), "state.show_lowstate")["h1"].ret)


def test_targets_are_queried_during_rendering(world: World) -> None:
    """Each is asked separately, at the same time as the others, and they share equal results."""
    hosts = {f"h{number}": {"transport": "local", "grains": {"half": number % 2}} for number in range(6)}
    (world.folder / "inventory.yaml").write_text(json.dumps({"hosts": hosts}))
    world.write("salt/b.sls", "b: {test.nop: [{six: {{ salt['cmd.run']('echo $((2*3))') }}}]}")
    world.write("salt/a.sls", "include: [b]\na{{ salt['cmd.run']('echo ' ~ grains.half) }}: test.nop")
    client = Client(Settings([world.folder / "inventory.yaml"], world.folder / "pushsalt.yaml", cache_dir=world.folder))
    returns = client.run(Selection("*"), "state.show_lowstate")
    for number in range(6):
        low = returns[f"h{number}"].ret
        assert [chunk["__id__"] for chunk in low] == ["b", f"a{number % 2}"], low
        assert low[0]["six"] == 6
    again = client.run(Selection("*"), "state.show_lowstate")
    assert {id: result.ret for id, result in again.items()} == {id: result.ret for id, result in returns.items()}


def test_a_users_function_is_called_for_each_target(world: World) -> None:
    """Its reads are not recorded, unlike those of ours."""
    value = world.folder / "value"
    world.write(
        "salt/_wrapper/grains.py",
        f"from pathlib import Path\ndef get(key):\n    return Path({str(value)!r}).read_text()\n",
    )
    world.write("salt/a.sls", "a{{ salt['grains.get']('x') }}: test.nop")
    world.write("salt/b.sls", "{}")
    outcomes = []
    for id in ("t1", "t2"):
        value.write_text(id)
        outcomes.append(world.outcome(world.minion(id), "state.show_sls"))
    assert "at1" in outcomes[0] and "at2" in outcomes[1], outcomes
