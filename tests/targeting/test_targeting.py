import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.errors import NoTargetError, UsageError
from pushsalt.inventory import Inventory
from pushsalt.model import Target
from pushsalt.targeting import NamedGroups, Subject, matches, select, tgt_types
from pushsalt.targeting.compound import parse, sources
from thin.utils.compound import MEMBERS

IDS = ("web1", "web2", "db1", "db2", "Mail", "web[1]")
INVENTORY = Inventory({id: Target(id) for id in IDS})


@pytest.mark.parametrize(
    "tgt_type, expr, ids",
    [
        ("glob", "web*", "web1 web2 web[1]"),
        ("glob", "*", "web1 web2 db1 db2 Mail web[1]"),
        ("glob", "web[12]", "web1 web2"),
        ("glob", "web[[]1]", "web[1]"),
        ("glob", "mail", ""),
        ("glob", "?b?", "db1 db2"),
        ("pcre", "web", "web1 web2 web[1]"),
        ("pcre", "web[0-9]$", "web1 web2"),
        ("pcre", "b1", ""),
        ("list", "db1,web1", "web1 db1"),
        ("list", ["db1", "Mail"], "db1 Mail"),
        ("list", "web*", ""),
        ("compound", "web* and not web1", "web2 web[1]"),
        ("compound", "web1 or db1 and db2", "web1"),
        ("compound", "( web1 or db1 ) and E@.*1", "web1 db1"),
        ("compound", "( web1 or db1 ) and not ( L@db1,db2 )", "web1"),
        ("compound", "web* not web1", "web2 web[1]"),
        ("compound", "web1 or not ( )", "web1 web2 db1 db2 Mail web[1]"),
        ("compound", "E@(web|db)1", "web1 db1"),
        ("compound", "not web* and not E@(db)(1|2) or Mail", "Mail"),
        ("compound", ["web*", "and", "L@web1"], "web1"),
    ],
)
def test_select(tgt_type, expr, ids):
    found = []
    try:
        found = select(expr, tgt_type, INVENTORY)
    except NoTargetError as exc:
        assert exc.hint
    assert found == ids.split()
    assert found == [id for id in IDS if matches(expr, tgt_type, Subject(id))]


@pytest.mark.parametrize(
    "tgt_type, expr, words",
    [
        ("pcre", "web(", "no regular expression"),
        ("compound", "", "is empty"),
        ("compound", "not not web1", "has 'and' where a target is expected"),
        ("compound", "web* ( db1 )", "has a '\\(' directly after a target"),
        ("compound", "R@x", "there is no R@"),
        ("compound", "web* and", "ends too early"),
        ("compound", "and web*", "begins with 'and'"),
        ("compound", "web* db*", "does not go on with 'db\\*'"),
        ("compound", "( web*", "without '\\)'"),
        ("compound", "web* )", "does not go on"),
        ("compound", 5, "is text"),
        ("compound", "( " * 5000 + "a" + " )" * 5000, "levels of parentheses"),
        ("grain", "os", "has no ':'"),
        ("ipcidr", "192.0.2.0/99", "no address or network"),
        ("gob", "x", "the target type 'gob' cannot be used"),
        ("../glob", "x", "cannot be used"),
    ],
)
def test_expressions_that_make_no_sense(tgt_type, expr, words):
    with pytest.raises(UsageError, match=words) as caught:
        select(expr, tgt_type, INVENTORY)
    assert caught.value.hint


def test_nothing_found_names_the_nearest():
    with pytest.raises(NoTargetError, match="no target matches 'wbe1'") as caught:
        select("wbe1", "glob", INVENTORY)
    assert "web1" in caught.value.hint
    with pytest.raises(NoTargetError) as caught:
        select("L@dbb1 and not web1", "compound", INVENTORY)
    assert "db1" in caught.value.hint
    with pytest.raises(NoTargetError, match="the inventory is empty"):
        select("*", "glob", Inventory({}))


def test_a_list_with_an_unknown_id_is_an_error():
    with pytest.raises(NoTargetError, match=r"no such id in the inventory: dbb1, nope$") as caught:
        select("web1,nope,dbb1", "list", INVENTORY)
    assert "db1" in caught.value.hint


def test_types():
    assert {"glob", "pcre", "list", "grain", "pillar_exact", "ipcidr", "compound"} <= set(tgt_types())


GRAINS = {
    "web1": {
        "os": "Debian",
        "osmajorrelease": 12,
        "roles": ["web", "db"],
        "ipv4": ["127.0.0.1", "192.0.2.7"],
        "systemd": {"version": "252"},
        "url": "http://x",
    },
    "db1": {"os": "Rocky", "osmajorrelease": 9, "roles": [], "ipv4": ["198.51.100.1"], "ipv6": ["2001:db8::1"]},
}
PILLAR = {"web1": {"app": {"name": "shop", "port": 80}}, "db1": {"app": {"name": "shopping"}}}


class Known:
    """Caches that contain these two machines."""

    def grains(self, id):
        return GRAINS.get(id, {})

    def pillar(self, id):
        return PILLAR.get(id, {})


@pytest.mark.parametrize(
    "tgt_type, expr, ids",
    [
        ("grain", "os:Debian", "web1"),
        ("grain", "os:deb*", "web1"),
        ("grain", "osmajorrelease:9", "db1"),
        ("grain", "roles:db", "web1"),
        ("grain", "systemd:version:25?", "web1"),
        ("grain", "systemd:version", "web1"),
        ("grain", "url:http://x", "web1"),
        ("grain", "nope:x", ""),
        ("grain_pcre", "os:(Debian|Rocky)", "web1 db1"),
        ("grain_pcre", "os:ebian", ""),
        ("pillar", "app:name:shop*", "web1 db1"),
        ("pillar_exact", "app:name:shop", "web1"),
        ("pillar_exact", "app:name:shop*", ""),
        ("pillar_pcre", "app:port:[0-9]+$", "web1"),
        ("ipcidr", "192.0.2.0/24", "web1"),
        ("ipcidr", "198.51.100.1", "db1"),
        ("ipcidr", "2001:db8::/32", "db1"),
        ("compound", "G@os:Debian or I@app:name:shopping", "web1 db1"),
        ("compound", "* and not P@os:D.* and S@198.51.100.0/24", "db1"),
        ("compound", "G|@systemd|version|252", "web1"),
        ("compound", "G@nonsense or db1", "db1"),
        ("compound", "not S@192.0.2.0/99 and web1", "web1"),
    ],
)
def test_selection_by_cached_data(tgt_type, expr, ids):
    try:
        assert select(expr, tgt_type, INVENTORY, Known()) == ids.split()
    except NoTargetError:
        assert ids == ""


def test_without_caches_the_inventory_answers():
    inventory = Inventory({"a": Target("a", grains={"os": "Rocky"}), "b": Target("b", pillar={"x": "y"})})
    assert select("os:Rocky", "grain", inventory) == ["a"]
    assert select("x:y", "pillar", inventory) == ["b"]


words = st.recursive(
    st.sampled_from(["web*", "L@db1,web1", "E@.*2"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"( {t[0]} {t[1]} {t[2]} )"),
        inner.map(lambda text: f"not ( {text} )"),
    ),
    max_leaves=8,
)


@given(words, st.sampled_from(IDS))
def test_compound_is_python_logic_over_its_words(expr, id):
    python = " ".join(
        word if word in ("and", "or", "not", "(", ")") else str(matches(word, "compound", Subject(id)))
        for word in expr.split()
    )
    assert matches(expr, "compound", Subject(id)) == eval(python)


GROUPS = {
    "one": "web1",
    "dbs": "L@db1,db2",
    "both": "N@one or N@dbs",
    "words": ["web1", "or", "N@dbs"],
    "ids": ["web1", "db2"],
    "only": ["web2"],
    "twice": "N@both or N@one",
    "a": "N@b",
    "b": "web2 N@a",
    "loose": "web1 or db1",
    "wrong": {"a": 1},
    "broken": "web1 and",
}


@pytest.mark.parametrize(
    "expr, ids",
    [
        ("one", "web1"),
        ("both", "web1 db1 db2"),
        ("words", "web1 db1 db2"),
        ("ids", "web1 db2"),
        ("only", "web2"),
        ("twice", "web1 db1 db2"),
        ("none", ""),
        ("a", "web2"),
        ("wrong", ""),
    ],
)
def test_nodegroups(expr, ids, caplog):
    assert [id for id in IDS if matches(expr, "nodegroup", Subject(id), nodegroups=GROUPS)] == ids.split()
    assert [id for id in IDS if matches(f"N@{expr}", "compound", Subject(id), nodegroups=GROUPS)] == ids.split()
    assert (" nodegroup '" in caplog.text) == (expr in ("none", "a", "wrong"))


def test_nodegroups_in_expressions():
    assert select("web* and not N@one", "compound", INVENTORY, nodegroups=GROUPS) == ["web2", "web[1]"]
    assert select("web2 and N@loose", "compound", INVENTORY, nodegroups=GROUPS) == ["db1"]  # words, no parentheses
    assert select("both", "nodegroup", INVENTORY, nodegroups=GROUPS) == ["web1", "db1", "db2"]
    with pytest.raises(NoTargetError):
        select("none", "nodegroup", INVENTORY, nodegroups=GROUPS)
    with pytest.raises(UsageError):
        select("broken", "nodegroup", INVENTORY, nodegroups=GROUPS)


def test_groups_of_an_inventory_and_nodegroups():
    inventory = Inventory({"a": Target("a", groups=("one", "x")), "b": Target("b", groups=("x",)), "c": Target("c")})
    named = NamedGroups({"one": "c", "more": "N@x and not a"}, lambda: inventory.groups)
    assert dict(named) == {"one": "c", "more": "N@x and not a", "x": MEMBERS} and len(named) == 3
    for expr, ids in {"x": "a b", "one": "c", "more": "b"}.items():
        assert select(expr, "nodegroup", inventory, nodegroups=named) == ids.split()
        subjects = [Subject(id, groups=target.groups) for id, target in inventory.targets.items()]
        assert [each.id for each in subjects if matches(expr, "nodegroup", each, nodegroups=named)] == ids.split()


@pytest.mark.parametrize("expr, words", [("N@gone", "no nodegroup 'gone'"), ("(web1 or web2", "parentheses")])
def test_doubtful_expressions_are_reported_once(expr, words, caplog):
    parse(expr, "compound")
    sources(expr, "compound")
    assert [words in text for text in caplog.messages] == [True]
