"""Any requisites: required states come first; otherwise a real cycle is reported."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pushsalt.compile.graph import DependencyGraph, aggregate_groups
from pushsalt.compile.low import tag_of

IDS = [f"s{number}" for number in range(7)]
EDGES = st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(["require", "watch", "onfail"]), st.sampled_from(IDS)))


def build(edges, orders=(), aggregate=False):
    graph = DependencyGraph()
    chunks = {id_: {"state": "test", "fun": "nop", "name": id_, "__id__": id_, "__sls__": "a"} for id_ in IDS}
    for chunk, order in zip(chunks.values(), orders, strict=False):
        chunk["order"] = order
    for chunk in chunks.values():
        graph.add_chunk(chunk, aggregate=aggregate)
    for required, requisite, requiring in edges:
        assert graph.require(chunks[requiring], requisite, "test", required)
    return graph


@given(EDGES, st.lists(st.one_of(st.integers(-5, 50), st.sampled_from(["first", "last", "odd"])), max_size=7))
def test_required_first_or_a_cycle(edges, orders):
    graph = build(edges, orders)
    tags = graph.sorted_tags(100)
    cycle = graph.find_cycle()
    assert bool(cycle) == (len(tags) < len(graph.nodes))
    place = {tag: index for index, tag in enumerate(tags)}
    for required, _, requiring in edges:
        before, after = (f"test_|-{id_}_|-{id_}_|-nop" for id_ in (required, requiring))
        if after in place:
            assert place[before] < place[after]
    if cycle:
        assert [edge[0] for edge in cycle[1:]] + [cycle[0][0]] == [edge[1] for edge in cycle]
        names = {(tag.split("_|-")[1], requisite, after.split("_|-")[1]) for tag, after, requisite in cycle}
        assert names <= set(edges)


@given(EDGES)
def test_no_member_of_a_group_waits_for_another(edges):
    graph = build(edges, aggregate=True)
    tags = graph.sorted_tags(1)
    for group in aggregate_groups(graph, tags):
        for tag in group:
            reached, stack = set(), [tag]
            while stack:
                fresh = set(graph.nodes[stack.pop()].after) - reached
                reached |= fresh
                stack.extend(fresh)
            assert not reached & set(group) - ({tag} if tag in reached else set())


def test_a_tag_is_salt_s():
    assert tag_of({"state": "pkg", "fun": "installed", "name": "n", "__id__": "i"}) == "pkg_|-i_|-n_|-installed"
