"""Values that differ from a secret only by their place are hidden too: the former value in a diff or a pair."""

import time

import pytest

from pushsalt import counterparts
from pushsalt.redact import MASK
from tests.test_redact import KEY, redactor

DIFF = """--- old
+++ new
@@ -1,5 +1,5 @@
 [db]
-user = app
-password = former-one
-port = 1
+user = app2
+password = c4nary-new-one
+port = 2
 end
@@ -9,2 +9,2 @@
-token: "gone-token"
+token: c4nary-new-one
 x
"""


def test_the_other_side_of_a_diff_is_hidden():
    shown = redactor("c4nary-new-one").text(DIFF)
    assert "former-one" not in shown and "gone-token" not in shown
    for line in ("-user = app", f"-password = {MASK}", "-port = 1", "+user = app2", f"+password = {MASK}", "+port = 2"):
        assert f"{line}\n" in shown
    other = redactor("former-one").text(DIFF)
    assert f"+password = {MASK}" in other and f"-password = {MASK}" in other and "-user = app" in other
    plain = "2c2,3\n< password former-one\n---\n> password c4nary-new-one\n> more\n"
    assert redactor("c4nary-new-one").text(plain) == f"2c2,3\n< password {MASK}\n---\n> password {MASK}\n> more\n"
    assert redactor("unheard-of").text(DIFF) is DIFF
    bare = "Predicted diff:\n\r\t\t- TOKEN=former-one\n\r\t\t+ TOKEN=c4nary-new-one\n"
    assert redactor("c4nary-new-one").text(bare) == f"Predicted diff:\n\r\t\t- TOKEN={MASK}\n\r\t\t+ TOKEN={MASK}\n"
    assert "former-one" not in redactor("c4nary-new-one").text(str({"diff": bare.partition("\n")[2]}))
    assert "former" not in redactor("c4nary-new-one").text("@@ -1 +1 @@\n--- pw former\n+-- pw c4nary-new-one\n")


def test_a_former_key_is_hidden_line_by_line():
    former = KEY.replace("A", "Z").replace("z", "Y")
    body = ["-" + line for line in former.splitlines()] + ["+" + line for line in KEY.splitlines()]
    shown = redactor(KEY).text("--- old\n+++ new\n@@ -1,5 +1,5 @@\n" + "\n".join(body) + "\n")
    assert not any(line in shown for line in former.splitlines()[1:-1])


def test_the_former_one_of_a_pair_is_hidden():
    hide = redactor("c4nary-new-one")
    assert hide.data({"x": {"old": "former", "new": "c4nary-new-one"}}) == {"x": {"old": MASK, "new": MASK}}
    shown = hide.data({"before": "a=1\npw=former", "after": "a=2\npw=c4nary-new-one"})
    assert shown == {"before": f"a=1\npw={MASK}", "after": f"a=2\npw={MASK}"}
    clean = {"old": "1", "new": "2"}
    assert hide.data(clean) is clean


NEW = "N3wS3cretValue"
OLD = "OldSecret99"


@pytest.mark.parametrize(
    "old, new, shown_old, shown_new",
    [
        ({"v": OLD, "w": "same"}, {"v": NEW, "w": "same"}, {"v": MASK, "w": "same"}, {"v": MASK, "w": "same"}),
        ({"v": NEW}, {"v": OLD, "n": 1}, {"v": MASK}, {"v": MASK, "n": 1}),
        (["a", OLD, 3], ["a", NEW, 4], ["a", MASK, 3], ["a", MASK, 4]),
        (
            {"a": [{"b": f"x\npw={OLD}"}]},
            {"a": [{"b": f"y\npw={NEW}"}]},
            {"a": [{"b": f"x\npw={MASK}"}]},
            {"a": [{"b": f"y\npw={MASK}"}]},
        ),
        ([OLD, "a", 1], ["a", NEW], [MASK, "a", 1], ["a", MASK]),
        ([{"v": OLD}], [{"v": NEW}, {"v": "x"}], [MASK], [{"v": MASK}, {"v": "x"}]),
        (OLD, ["x", {"v": NEW}], MASK, ["x", {"v": MASK}]),
        ({"v": [OLD]}, {"v": NEW}, {"v": MASK}, {"v": MASK}),
        (
            {"v": None, "w": "", "x": []},
            {"v": NEW, "w": NEW, "x": [NEW]},
            {"v": None, "w": "", "x": []},
            {"v": MASK, "w": MASK, "x": [MASK]},
        ),
        (None, {"v": NEW}, None, {"v": MASK}),
        ({OLD}, {NEW}, {MASK}, {MASK}),
        (
            {"v": "left", "w": ["x"]},
            {"v": "right", "w": ["y", "z"], "x": NEW},
            {"v": "left", "w": ["x"]},
            {"v": "right", "w": ["y", "z"], "x": MASK},
        ),
    ],
)
@pytest.mark.parametrize("sides", [("old", "new"), ("before", "after"), ("Previous", "New")])
def test_the_former_one_within_the_sides_of_a_pair_is_hidden(old, new, shown_old, shown_new, sides):
    data = {"changes": dict(zip(sides, (old, new), strict=True))}
    given = repr(data)
    assert redactor(NEW).data(data) == {"changes": dict(zip(sides, (shown_old, shown_new), strict=True))}
    assert repr(data) == given


def test_pairs_within_each_other():
    many: object = [f"word {number}" for number in range(10_000)]
    for _ in range(60):
        many = {"old": many, "new": "x"}
    shown = redactor(NEW).data([many, {"old": many, "new": NEW}])
    assert shown[0] == many
    assert shown[1] == {"old": MASK, "new": MASK}


def test_a_diff_of_any_length_takes_no_time():
    hide, began = redactor("c4nary-new-one"), time.perf_counter()
    for line in ("+c4nary-new-one\n", "+{0} ********** c4nary-new-one\n"):
        text = "@@ -1 +1 @@\n" + "-x\n" * 30_000 + "".join(line.format(number) for number in range(30_000))
        assert "-x\n" not in hide.text(text)
    assert time.perf_counter() - began < 10


class CountedLine(str):
    """A line that counts how often a line is compared with another."""

    compared = 0

    def startswith(self, *args):
        CountedLine.compared += 1
        return super().startswith(*args)


@pytest.fixture
def counted_lines(monkeypatch):
    hidden_lines = counterparts._hidden

    def counted(lines, *others):
        return hidden_lines([CountedLine(line) for line in lines], *others)

    monkeypatch.setattr(CountedLine, "compared", 0)
    monkeypatch.setattr(counterparts, "_hidden", counted)


@pytest.mark.parametrize("hunks", [1, 40])
def test_a_text_of_many_diffs_is_compared_no_more_than_one(monkeypatch, counted_lines, hunks):
    added = [f"+{number}c4nary-new-one\n" for number in range(99)]
    hunk = "@@ -1 +1 @@\n" + "-former is a line of common length\n" * 400 + "".join(added)
    text = hunk * hunks
    monkeypatch.setattr(counterparts, "MOST_COMPARISONS", 50_000)
    shown = redactor("c4nary-new-one").text(text)
    assert "former" not in shown and "c4nary" not in shown
    assert 0 < CountedLine.compared <= counterparts.MOST_COMPARISONS


def test_small_diffs_are_compared_no_more_than_their_size(counted_lines):
    text = "@@ -1 +1 @@\n" + "-line\n" * 2000 + "".join(f"+{number}{MASK}\n" for number in range(499))
    texts = [f"{text}{number} c4nary-new-one\n" for number in range(3)]
    shown = redactor("c4nary-new-one").data(texts)
    assert not any("-line" in each for each in shown)
    assert CountedLine.compared <= 4 * sum(map(len, texts))


def test_a_place_after_a_costly_one_is_hidden():
    costly = "-a\n" * 2000 + "".join(f"+{number}{MASK}\n" for number in range(2000))
    pair = "-pw = former-one\n+pw = c4nary-new-one\n"
    for text in (f"{costly} x\n{pair}", f"{pair} x\n{costly}"):
        shown = redactor("c4nary-new-one").text(text)
        assert f"-pw = {MASK}\n+pw = {MASK}\n" in shown and "-a\n" not in shown
