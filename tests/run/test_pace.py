"""Which targets may begin: sizes, windows, batches, and values that keep targets apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.errors import UsageError
from pushsalt.run.pace import Size, Window, batches, parse_steps


@pytest.mark.parametrize(
    "text, total, at_most, at_least",
    [
        ("5", 100, 5, 5),
        ("20%", 10, 2, 2),
        ("25%", 10, 2, 3),  # Salt rounds batches down
        ("1%", 10, 1, 1),
        ("2.5%", 200, 5, 5),
        ("2.5%", 201, 5, 6),
        ("100%", 7, 7, 7),
        ("33%", 3, 1, 1),
        ("34%", 3, 1, 2),
        ("50%", 1, 1, 1),
        (" 10 % ", 50, 5, 5),
    ],
)
def test_sizes(text, total, at_most, at_least):
    size = Size(text, "--batch", "x")
    assert (size.of(total), size.at_least(total)) == (at_most, at_least)


@pytest.mark.parametrize("text", ["", "x", "-1", "5.5", "1,2", "%", "5%%", "1e3", "٣", "9999999999", "+3"])
def test_invalid_sizes(text):
    with pytest.raises(UsageError, match=r"--max-fail: .* is neither a number of targets nor a percentage"):
        Size(text, "--max-fail", "x")


@pytest.mark.parametrize("text", ["0", "0%", "0.0%", "120%", "100.1%"])
def test_sizes_out_of_range(text):
    with pytest.raises(UsageError, match=r"--max-fail: .* is out of range"):
        Size(text, "--max-fail", "x")


@pytest.mark.parametrize("text", ["", "1,", ",1", "1,,2", "1;2", "1,0", "1,10%,x"])
def test_bad_steps(text):
    with pytest.raises(UsageError, match="--batch") as caught:
        parse_steps(text)
    assert "1,10%,50%" in caught.value.hint


def test_steps_repeat_the_last():
    ids = [f"t{number:02}" for number in range(20)]
    sizes = [size.of(20) for size in parse_steps("1, 10%,40%")]
    found = batches(ids, sizes)
    assert [len(batch) for batch in found] == [1, 2, 8, 8, 1]
    assert [id for batch in found for id in batch] == ids


def test_a_window_goes_in_order():
    window = Window("abcd", 2)
    assert [window.next(), window.next(), window.next()] == ["a", "b", None]
    window.free("b")
    assert [window.next(), window.next()] == ["c", None]
    assert window.rest() == ["d"] and window.waiting == 0 and window.rest() == []
    window.free("a")
    assert window.next() is None


RACKS = {"a1": ["a"], "a2": ["a"], "b1": ["b"], "b2": ["b"], "ab": ["a", "b"]}


def test_no_two_targets_with_the_same_value_run_at_once():
    window = Window(RACKS, 10, RACKS)
    assert [window.next(), window.next(), window.next()] == ["a1", "b1", None]
    window.free("b1")
    assert [window.next(), window.next()] == ["b2", None]
    window.free("a1")
    assert [window.next(), window.next()] == ["a2", None]
    window.free("a2")
    assert window.next() is None  # `ab` waits for b2
    window.free("b2")
    assert [window.next(), window.next()] == ["ab", None]


def test_no_batch_has_two_targets_with_the_same_value():
    assert batches([*RACKS], [4], RACKS) == [["a1", "b1"], ["a2", "b2"], ["ab"]]


@given(
    st.lists(st.frozensets(st.sampled_from("abcd"), max_size=3), max_size=30),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_any_values(values, width, chance):
    """In any order of ends: each target begins once, within the size, and no two with the same value run at once."""
    of = {str(number): each for number, each in enumerate(values)}
    window, at_work, begun = Window(of, width, of), [], []
    while True:
        while (id := window.next()) is not None:
            at_work.append(id)
            begun.append(id)
            together = [value for each in at_work for value in of[each]]
            assert len(at_work) <= width and len(together) == len(set(together))
        if not at_work:
            break
        window.free(at_work.pop(chance.randrange(len(at_work))))
    assert sorted(begun) == sorted(of) and window.waiting == 0
    if not any(values):
        assert begun == [*of]


def test_many_targets_are_looked_at_once():
    """5,000 targets of 100 racks, one at a time of each rack: the time is linear in the number of targets."""
    of = {f"t{number}": [f"rack={number // 50}"] for number in range(5000)}
    steps = 0

    class Counted(Window):
        def _requeue(self, key):
            nonlocal steps
            steps += 1
            super()._requeue(key)

    window, at_work = Counted(of, 50, of), []
    done = 0
    while window.waiting or at_work:
        while (id := window.next()) is not None:
            at_work.append(id)
        window.free(at_work.pop(0))
        done += 1
    assert done == 5000
    assert steps <= 3 * 5000
