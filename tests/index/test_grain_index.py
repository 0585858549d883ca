"""GrainIndex: the same answers as Salt's matcher for each id, and the additions of ``View`` for targeting."""

import ipaddress
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pushsalt.index import GrainIndex, columns, grains, part
from pushsalt.targeting.matchers import grain, grain_pcre, ipcidr
from thin.utils import data

WORDS = ["a", "B", "ab", "Foo", "foo", "x:y", "1", "10", "10.3.1.7", "Ä", "", "*", "eth0", "q\0r", "\2a", "[a]", "%s"]
own = st.integers(0, 60).map("w{}".format)
leaves = st.one_of(st.sampled_from(WORDS), own, own, st.sampled_from([1, 0, 10, -3, 1.5, True, False, None, 2**70]))
keys = st.one_of(st.sampled_from(["os", "k1", "k2", "k3"]), st.sampled_from(WORDS), st.sampled_from([1, 10]))
values = st.recursive(
    leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)), max_leaves=6
)
docs = st.dictionaries(keys, values, max_size=5)
ids = st.one_of(st.integers(0, 30).map("h{}".format), st.sampled_from(["", "h\0", "h\2b", "\1", "é", "\udc80"]))
batches = st.lists(st.tuples(ids, docs), min_size=1, max_size=12)
globs = ["*", "*o*", "?", "w*", "w1?", "10.*", "[", "[a-w]*", "*:*", "*:foo", "*'a'*", "none", "true"]
patterns = st.sampled_from([*WORDS, *globs, "(", "a|b", ".*", r"\d+", r"\D"])
parts = st.one_of(st.sampled_from(["os", "k1", "k2", "*", "0"]), st.sampled_from(WORDS), patterns, own)
manners = st.sampled_from(["glob", "regex", "exact"])
asked = st.tuples(st.lists(parts, min_size=2, max_size=4), st.sampled_from([":", ":", ";"]), manners)
writes = st.one_of(batches, st.sampled_from(["compact", "maintain", "h3", "h5"]))


def tame(value):
    """The value after msgpack."""
    if isinstance(value, dict):
        return {key: tame(item) for key, item in value.items()}
    if isinstance(value, list):
        return [tame(item) for item in value]
    return str(value) if value == 2**70 else value


@settings(max_examples=30)
@given(st.lists(writes, max_size=8), st.lists(asked, max_size=12))
def test_as_salts_matcher(steps, questions):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        # Low limits, so that a few ids have every layout.
        patch.setattr(grains, "MOST_ENTRIES", 4)
        patch.setattr(grains, "MOST_PARTS", 2)
        patch.setattr(columns, "FEW", 3)
        patch.setattr(part, "FEW", 3)
        model = {}
        with GrainIndex(folder) as index, GrainIndex(folder) as other:
            for step in steps:
                if step in ("compact", "maintain"):
                    getattr(index, step)()
                elif isinstance(step, str):
                    assert other.delete(step) == (model.pop(step, None) is not None)
                else:
                    index.put_many(step)
                    model.update({id: tame(doc) for id, doc in step})
            assert index.ids() == other.ids() == sorted(model)
            for words, delimiter, manner in questions:
                expr = delimiter.join(words)
                flags = {"regex": manner == "regex", "exact": manner == "exact"}
                want = [
                    id
                    for id in sorted(model)
                    if data.subdict_match(model[id], expr, delimiter, flags["regex"], flags["exact"])
                ]
                assert other.match(expr, delimiter=delimiter, **flags) == want, expr
            assert index.verify() == []


def ipv6(n):
    """Addresses in all their spellings."""
    return [
        f"2001:db8::{n:x}",
        f"2001:0DB8:0:1::{n:x}",
        f"2001:db8:0:1:1:1:1.2.3.{n % 256}",
        f"fe80::{n:x}%e",
        f"no{n}",
    ][n % 5]


FLEET = {
    f"host-{n:03}": {
        "os": ["Debian", "Ubuntu", "Rocky"][n % 3],
        "roles": [["web", "db"], ["db"], [], ["Web"]][n % 4],
        "nodename": f"host-{n:03}",
        "uuid": f"0000-{n * 7919 % 1000:04}",
        "ipv4": [f"10.3.{n % 7}.{n % 250}", "127.0.0.1"],
        "ipv6": ["::1", f"fe80::{n:x}", ipv6(n)],
        "ip_interfaces": {("ens1", "eth0")[n % 2]: [f"10.3.{n % 7}.{n % 250}", f"fe80::{n:x}"], "lo": ["127.0.0.1"]},
        "kernelparams": [["quiet", None], ["root", f"UUID={n}"]],
        "mem_total": 1024 * n,
        "efi": n % 5 == 0,
        "disks": {"sda": {"size": n, "label": f"d{n}"}},
    }
    for n in range(400)
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A segment, a younger one above it, and a few entries of the log."""
    with GrainIndex(tmp_path_factory.mktemp("grains") / "index") as index:
        items = list(FLEET.items())
        index.put_many([(id, {"os": "old"}) for id, _ in items[:100]], seen=1.0)
        index.put_many(items[:390], seen=2.0)
        index.compact()
        index.put_many(items[100:250], seen=3.0)
        index.put_many(items[390:], seen=4.0)
        yield index


@pytest.mark.parametrize(
    "expr",
    [
        "os:debian",
        "os:deb*",
        "os:(debian|ubuntu)",
        "roles:web",
        "roles:*",
        "roles:0:web",
        "nodename:host-00?",
        "uuid:*7",
        "uuid:.*7$",
        "ipv4:10.3.1.*",
        "ipv4:0:10.3.1.*",
        r"ipv4:10\.3\.\d\.1\d",
        "ip_interfaces:eth0:10.3.*",
        "*:eth0",
        "ip_interfaces:*:10.3.1.*",
        "ip_interfaces:lo",
        "ip_interfaces:eth*",
        "ip_interfaces:*",
        "kernelparams:*quiet*",
        "kernelparams:*uuid=7'*",
        r"kernelparams:.*UUID=\d'\]",
        "mem_total:1024",
        "mem_total:10*",
        "efi:true",
        "efi:True",
        "disks:sda:size:17",
        "disks:*:label:d3*",
        "disks:sda:*",
        "*:10.3.1.8",
        "*:*",
        "*:web",
        "nothing:here",
        "os:[",
        "os:(",
        "nodename:HOST-001",
        "uuid:[0-9]*1",
        "os",
        "os:",
    ],
)
@pytest.mark.parametrize("matcher", [grain, grain_pcre], ids=["glob", "regex"])
def test_as_our_matchers(fleet, expr, matcher):
    want = [id for id, grains in FLEET.items() if ":" in expr and matcher.match(expr, grains)]
    assert fleet.match(expr, regex=matcher is grain_pcre) == want


@pytest.mark.parametrize(
    "expr",
    [
        "10.3.1.0/24",
        "10.3.1.8",
        "127.0.0.1",
        "10.0.0.0/8",
        "10.3.1.64/26",
        "10.2.0.0/15",
        "8.0.0.0/6",
        "0.0.0.0/0",
        "10.3.1.8/31",
        "fe80::/64",
        "fe80::1f",
        "192.0.2.1",
        "fe80::/10",
        "fe80::/16",
        "::/0",
        "::1",
        "2001:db8::/32",
        "2001:db8:0:1::/64",
        "2001:db8:0:1:1:1:102:300/120",
        "2001:db8::/31",
    ],
)
def test_addresses(fleet, expr):
    view = fleet.view()
    assert view.ids(view.subnet(expr)) == [id for id, grains in FLEET.items() if ipcidr.match(expr, grains)]


@pytest.mark.parametrize("expr", ["10.3.1.1/24", "host", ""])
def test_no_addresses(fleet, expr):
    with pytest.raises(ValueError, match=r"."):
        fleet.view().subnet(expr)


def test_terms_are_combined_as_bits(fleet):
    view = fleet.view()
    found = view.grain("roles:db") & ~view.grain("os:(debian|rocky)", regex=True) | view.bits(["host-000", "nobody"])
    want = [id for id, of in FLEET.items() if ("db" in of["roles"] and of["os"] == "Ubuntu") or id == "host-000"]
    assert view.ids(found) == want
    assert view.ids(view.everything & ~found) == [id for id in FLEET if id not in want]
    assert view.ids(view.where("mem_total", lambda value: value > 300_000)) == list(FLEET)[293:]
    assert view.ids(view.where("os", "Rocky".__eq__)) == [id for id, of in FLEET.items() if of["os"] == "Rocky"]


def test_values_and_their_age(fleet):
    view = fleet.view()
    assert view.oldest(view.everything) == 2.0
    assert view.oldest(view.bits(["host-120", "host-395"])) == 3.0
    assert view.oldest(view.bits(["host-395"])) == 4.0
    assert view.oldest(0) is None
    for id in ("host-000", "host-120", "host-395"):
        assert {name: view.value(id, name) for name in FLEET[id]} == FLEET[id]
    for id, name in (("host-000", "nothing"), ("nobody", "os")):
        with pytest.raises(KeyError):
            view.value(id, name)


def test_a_view_stays_as_it_is(tmp_path):
    with GrainIndex(tmp_path) as index:
        index.put_many([("a", {"os": "Debian"}), ("b", {"os": "Debian"})])
        view = index.view()
        index.put_many([("a", {"os": "Ubuntu"})])
        index.compact()
        index.delete("b")
        assert view.ids(view.grain("os:Debian")) == ["a", "b"]
        assert index.match("os:Debian") == []
        assert index.match("os:*") == ["a"]


def test_a_write_during_a_merge_is_not_lost(tmp_path, monkeypatch):
    """Ids that are being merged get new grains, or are removed, before the new part is in place."""
    index, other = GrainIndex(tmp_path), GrainIndex(tmp_path)
    index.put_many([(f"h{n}", {"n": n}) for n in range(100)])
    index.put_many([(f"h{n}", {"n": n}) for n in range(100, 110)])
    merge = part.merge

    def merge_while_others_write(parts, dead):
        merged = merge(parts, dead)
        other.put_many([("h3", {"n": "new"}), ("h105", {"n": "new"}), ("x", {"n": "new"})])
        other.put_many([(f"h{n}", {"n": "newer"}) for n in range(20, 90)])
        other.put_many([("h106", {"n": "newer"}), *((f"y{n}", {}) for n in range(70))])
        assert other.delete("h7") and other.delete("h107")
        return merged

    monkeypatch.setattr(part, "merge", merge_while_others_write)
    index.compact()
    monkeypatch.undo()
    for one in (index, other):
        assert one.match("n:new") == ["h105", "h3", "x"]
        assert one.match("n:newer") == sorted(["h106", *(f"h{n}" for n in range(20, 90))])
        assert not {"h7", "h107"} & set(one.ids())
        assert len(one.ids()) == 179
    index.compact()
    assert other.match("n:new") == ["h105", "h3", "x"]
    assert index.verify() == []


def test_parts_are_merged_by_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(grains, "AT_ONCE", 100_000)
    with GrainIndex(tmp_path) as index:
        for n in range(40):
            index.put_many([(f"h{n}-{m}", {"n": n, "m": m}) for m in range(70)])
        assert len(list(tmp_path.glob("seg-*"))) <= grains.MOST_PARTS + 1
        assert len(index.match("m:3")) == 40
        for _ in range(20):  # the same ids again and again: dead entries are removed
            index.put_many([(f"h1-{m}", {"n": 1, "m": m}) for m in range(70)])
        assert len(index.ids()) == 2800
        assert sum(part.rows for part in index._parts.values()) < 2 * 2800


def test_what_an_index_can_not_keep(tmp_path):
    with GrainIndex(tmp_path) as index:
        with pytest.raises(TypeError):
            index.put_many([(1, {})])
        with pytest.raises(ValueError, match=r"separator"):
            index.match("os:Debian", delimiter="")
        index.put_many([("a", {"t": (1, "two"), "s": {"x"}, "ip": ipaddress.ip_address("::1"), "big": 2**80})])
        for expr in ("t:two", "s:x", "ip:::1", f"big:{2**80}"):
            assert index.match(expr) == ["a"], expr
