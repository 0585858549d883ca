"""A target that claims another's id gets none of its data; values of targets become neither structure nor code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.hostile.bed import MARKER, Bed
from tests.hostile.peer import NUMBER, Frame, Script

pytestmark = pytest.mark.slow

RET = {"k": "ret", "re": NUMBER, "retcode": 0}
CLAIMS = {"id": "db1", "role": "db", "master": "evil", "saltenv": "../..", "nodename": "db1", "fqdn": "db1"}
CODE = f"import pathlib\ndef run():\n    pathlib.Path.home().joinpath('{MARKER}').touch()\n    return {{}}\n"
#: a grain that would become a state in ``- name: {{ grains.fqdn }}``
STATE = "x\nevil:\n  file.managed:\n    - name: /nowhere\n    - template: py\n    - contents: " + json.dumps(CODE)


def liar(**kwargs: Any) -> Script:
    return Script(grains={**CLAIMS, **kwargs})


@pytest.mark.parametrize(
    "words, want",
    [
        (("run", "--out", "json", "*", "pillar.items", "unmask=True"), {}),
        (("run", "--out", "json", "*", "grains.items"), None),
        (("run", "--out", "json", "*", "state.show_low_sls", "it"), None),
        (("apply", "--out", "json", "*", "it"), None),
        (("grains", "--out", "json", "*"), None),
    ],
    ids=lambda words: " ".join(words[:1] + words[4:]) if isinstance(words, tuple) else "-",
)
def test_the_id_and_inventory_grains_are_the_inventorys(bed: Bed, words: tuple[str, ...], want: Any) -> None:
    script = liar()
    script.replies["call"] = [("M", {**RET, "ret": CLAIMS})]
    bed.inventory({"web1": script})
    run = bed.run(*words)
    text = json.dumps(run.done.data["web1"])
    assert '"db1"' not in text.replace('"nodename": "db1"', "").replace('"fqdn": "db1"', "")
    assert not bed.leaks([text, *(heard.data for heard in bed.peers.heard.values())])
    if want is not None:
        assert run.done.data["web1"] == want
        assert bed.leaks([json.dumps(run.done.data["db1"])]) == {"by_id", "by_grain", "pillar"}  # these are its own
    if words[0] != "grains":
        return
    for expr in (("G@id:db1",), ("-G", "role:db"), ("-G", "id:db1"), ("-P", "id:db.*"), ("G@role:db and *",)):
        compound = ["-C", *expr] if len(expr) == 1 else list(expr)
        assert json.loads(bed.run("target", "--out", "json", *compound).done.out) in ([], ["db1"]), expr
    assert json.loads(bed.run("target", "--out", "json", "-G", "role:web").done.out) in ([], ["web1"], ["web1", "well"])


def test_the_pillar_that_it_asks_for_is_its_own(bed: Bed) -> None:
    script = liar()

    def reply(asked: dict[str, Any]) -> list[Frame]:
        return [("M", {"k": "pillar", "n": 1})]

    script.replies.update({"call": reply, "answer": [("M", {**RET, "re": 1, "ret": "done"})]})
    bed.inventory({"web1": script})
    run = bed.run("run", "--out", "json", "*", "test.ping")
    bed.check(run, ["web1"])
    assert run.done.data["web1"] == "done"
    [answer] = [message for message in bed.peers.heard["web1"].messages if message["k"] == "answer"]
    assert answer["pillar"] == {}


def test_a_controller_that_believes_it_is_found_out(bed: Bed) -> None:
    """The check above can fail: this controller believes the id that the target claims."""
    script = liar()
    script.replies.update(
        {
            "call": [("M", {"k": "pillar", "n": 1})],
            "answer": [("M", {**RET, "re": 1, "ret": "done"})],
        }
    )
    bed.inventory({"web1": script})
    believing = "import pushsalt.session.intake as i; i.imposed = lambda target, grains, deep=False: dict(grains)"
    run = bed.run("run", "--out", "json", "*", "test.ping", mutant=believing)
    with pytest.raises(AssertionError, match="was told a secret"):
        bed.check(run, ["web1"])
    bed.peers.heard.clear()


@pytest.mark.parametrize("place", ["fqdn", "list", "key", "mapping"])
def test_a_grain_adds_no_state(bed: Bed, place: str) -> None:
    grains = {"fqdn": STATE, "list": [STATE], "key": {STATE: 1}, "mapping": {"x": STATE}}[place]
    name = (
        "{{ grains.get('fqdn', 'none') }}{% for x in grains.get('list', []) %}{{ x }}{% endfor %}"
        "{% for x in grains.get('map', {}) %}{{ x }}{{ grains['map'][x] }}{% endfor %}"
    )
    bed.project.write("salt/named.sls", f"it:\n  test.nop:\n    - name: {name}\n")
    script = liar()
    script.grains = {**CLAIMS, {"key": "map", "mapping": "map"}.get(place, place): grains}
    if place == "list":
        del script.grains["fqdn"]
    bed.inventory({"web1": script})
    run = bed.run("run", "--out", "json", "*", "state.show_low_sls", "named")
    assert [chunk["__id__"] for chunk in run.done.data["web1"]] == ["it"]
    assert "web1: grains are left out" in run.done.err and len(run.done.data["well"]) == 1
    run = bed.run("apply", "--out", "json", "*", "named")
    bed.check(run, ["web1"])
    assert len(run.done.data["web1"]) == 1


def test_a_controller_that_takes_any_grain_is_found_out(bed: Bed) -> None:
    bed.project.write("salt/named.sls", "it:\n  test.nop:\n    - name: {{ grains.get('fqdn', 'none') }}\n")
    script = liar(fqdn=STATE)
    bed.inventory({"web1": script})
    careless = "import pushsalt.session.intake as i; i.fit = lambda text: True"
    run = bed.run("run", "--out", "json", "*", "state.show_low_sls", "named", mutant=careless)
    assert [chunk["__id__"] for chunk in run.done.data["web1"]] == ["it", "evil"]


def test_claimed_resources_are_checked(bed: Bed) -> None:
    """Resources: no id of the inventory, no inventory type, no control characters, and no grain ``id`` of another."""
    found = {
        "thing": {
            "db1": {"grains": {"id": "db1", "role": "db"}},
            "x\ny": {},
            "ok": {"grains": {"id": "db1", "a": STATE}},
            "about": {"about": "a\nb", "grains": {}},
            "\u202eko": {},
            **{f"\x1b{n}": {} for n in range(500)},
        },
        "ssh": {"db1": {}},
        "local": {"well": {}},
    }
    script = liar()
    script.replies["resources"] = [("M", {**RET, "ret": {"found": found, "failed": {"thing\n": "x" * 10_000}}})]
    bed.inventory({"web1": script})
    config = json.loads((bed.project.folder / "pushsalt.yaml").read_text())
    bed.project.write("pushsalt.yaml", json.dumps({**config, "resource_types": ["thing", "ssh", "local"]}))
    try:
        run = bed.run("grains", "--out", "json", "web1")
        assert run.done.code == 0, run.done.err
        assert run.done.err.count("\n") < 40
        assert json.loads(bed.run("target", "--out", "json", "-C", "T@thing").done.out) == ["about", "ok"]
        assert json.loads(bed.run("target", "--out", "json", "-C", "M@web1").done.out) == ["about", "ok"]
        for expr in ("G@id:db1", "G@role:db"):
            assert json.loads(bed.run("target", "--out", "json", "-C", expr).done.out) in ([], ["db1"])
        assert json.loads(bed.run("target", "--out", "json", "-C", "G@id:ok").done.out) == ["ok"]
    finally:
        bed.project.write("pushsalt.yaml", json.dumps(config))


def test_the_mine_says_its_own_id(bed: Bed) -> None:
    config = json.loads((bed.project.folder / "pushsalt.yaml").read_text())
    mine = {"grains.items": [], "who": [{"mine_function": "grains.get"}, "id"]}
    bed.project.write("pushsalt.yaml", json.dumps({**config, "mine_functions": mine}))
    script = liar()

    def reply(asked: dict[str, Any]) -> list[Frame]:
        return [("M", {**RET, "ret": CLAIMS if asked["fun"] == "grains.items" else "db1"})]

    script.replies["call"] = reply
    bed.inventory({"web1": script})
    try:
        assert bed.run("grains", "--out", "json", "web1").done.code == 0
        told = bed.run("run", "--out", "json", "well", "mine.get", "web1", "grains.items,who").done.data["well"]
        assert told["grains.items"]["web1"]["id"] == "web1" and told["grains.items"]["web1"]["role"] == "web"
        assert told["who"] == {"web1": "web1"}
    finally:
        bed.project.write("pushsalt.yaml", json.dumps(config))
