"""Renderings with equal inputs have one result, and no thread waits for an answer that may not come."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pushsalt.memo import tree as module
from pushsalt.memo.keys import key_of
from pushsalt.memo.reads import Recorded, ask, plain, spoil
from pushsalt.memo.tree import Level, Once

LEVEL = Level("thing")


class ReadSource:
    """A target with a pillar and one function."""

    def __init__(self, pillar, answer=lambda *args: None):
        self.pillar = Recorded("pillar", self, pillar)
        self.answer = answer
        self.calls = 0

    def key(self, read):
        name = read[1]
        return key_of(dict.get(self.pillar, name, "nothing") if isinstance(name, str) else plain(self.pillar))

    def common(self):
        return None

    def ask(self, name, args, kwargs):
        self.calls += 1
        return self.answer(*args)


class CountedRendering:
    """A rendering that counts its runs. Its result is that of ``read(inputs)``."""

    def __init__(self, read):
        self.read = read
        self.times = 0

    def __call__(self, once, inputs, question="x", level=LEVEL):
        def render():
            self.times += 1
            return self.read(inputs)

        return once.get(level, question, inputs, render)


def test_only_inputs_that_were_read_cause_a_new_rendering():
    render = CountedRendering(lambda inputs: inputs.pillar["b"] if inputs.pillar["a"] == 1 else "other")
    once = Once()
    assert render(once, ReadSource({"a": 1, "b": 1})) == 1
    assert render(once, ReadSource({"a": 1, "b": 1, "c": 1})) == 1
    assert render.times == 1
    assert render(once, ReadSource({"a": 1, "b": True})) is True
    assert render(once, ReadSource({"a": 2})) == render(once, ReadSource({"a": 2, "b": 5})) == "other"
    assert render.times == 3
    assert render(once, ReadSource({"a": 1, "b": 1}), question="y") == 1
    assert render.times == 4


def test_each_target_gets_its_own_copy():
    level = Level("list", keep=tuple, give=list)
    once = Once()
    render = CountedRendering(lambda inputs: [inputs.pillar["a"]])
    first = render(once, ReadSource({"a": 1}), level=level)
    first.append(2)
    assert render(once, ReadSource({"a": 1}), level=level) == [1]
    assert render.times == 1


def test_a_spoiled_rendering_is_repeated_only_after_equal_reads():
    render = CountedRendering(lambda inputs: spoil("chance") if inputs.pillar["a"] else "known")
    once = Once()
    for a in (1, 1, 0, 0, 1):
        render(once, ReadSource({"a": a}))
    assert render.times == 4
    assert once.counts["thing"].reused == 1


def test_errors_are_not_stored():
    def fail(inputs):
        raise ValueError(inputs.pillar["a"])

    once, render = Once(), CountedRendering(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="1"):
            render(once, ReadSource({"a": 1}))
    assert render.times == 2
    render.read = lambda inputs: inputs.pillar["a"] + 1
    assert render(once, ReadSource({"a": 1})) == render(once, ReadSource({"a": 1})) == 2
    assert render.times == 3


def test_a_rendering_with_unrecorded_inputs_is_not_reused():
    hidden = iter("abab")
    render = CountedRendering(lambda inputs: inputs.pillar[next(hidden)])
    once = Once()
    results = [render(once, ReadSource({"a": a, "b": b})) for a, b in ((1, 0), (2, 3), (1, 0), (1, 4))]
    assert results == [1, 3, 1, 4] and render.times == 4


def test_reads_of_an_inner_rendering_count_for_both():
    once = Once()
    inner = CountedRendering(lambda inputs: inputs.pillar["b"])
    outer = CountedRendering(lambda inputs: (inputs.pillar["a"], inner(once, inputs, "inner")))
    assert outer(once, ReadSource({"a": 1, "b": 1})) == (1, 1)
    assert outer(once, ReadSource({"a": 2, "b": 1})) == (2, 1)
    assert (outer.times, inner.times) == (2, 1)
    assert outer(once, ReadSource({"a": 2, "b": 2})) == (2, 2)
    assert (outer.times, inner.times) == (3, 2)
    assert outer(once, ReadSource({"a": 1, "b": 2})) == (1, 2)
    assert (outer.times, inner.times) == (4, 2)


def test_functions_are_called_once_per_target():
    once = Once()
    render = CountedRendering(
        lambda inputs: [ask(inputs, "f", (number,), {}) for number in (1, 1, 2)] + [inputs.pillar["a"]]
    )
    first, second, third = (ReadSource({"a": 1}, lambda number, base=base: base + number) for base in (0, 0, 10))
    assert render(once, first) == [1, 1, 2, 1] == render(once, second)
    assert render.times == 1 and first.calls == second.calls == 3
    assert render(once, third) == [11, 11, 12, 1]
    assert render.times == 2 and third.calls == 3
    counting = iter(range(10))
    fourth = ReadSource({"a": 1}, lambda number: 1 if number == 1 else next(counting))
    assert render(once, fourth) == [1, 1, 0, 1] and fourth.calls == 3


def test_a_function_that_raises_is_called_once():
    def refuse(number):
        raise ValueError("no")

    once = Once()
    render = CountedRendering(lambda inputs: ask(inputs, "f", (1,), {}))
    render(once, ReadSource({}))
    inputs = ReadSource({}, refuse)
    with pytest.raises(ValueError, match="no"):
        render(once, inputs)
    assert inputs.calls == 1


def test_unused_results_are_dropped_first():
    level = Level("big", size=lambda result: 100)
    once = Once(max_size=1000)
    render = CountedRendering(lambda inputs: inputs.pillar["a"])
    for a in range(50):
        render(once, ReadSource({"a": a}), level=level)
        render(once, ReadSource({"a": 0}), level=level)
    assert render.times == 50
    assert len(once._ends) <= 10 and once._nodes <= 12
    render(once, ReadSource({"a": 1}), level=level)
    assert render.times == 51


def test_unfinished_paths_are_dropped(monkeypatch):
    monkeypatch.setattr(module, "MAX_NODES", 100)

    def fail(inputs):
        if inputs.pillar["a"] % 10:
            raise ValueError(inputs.pillar["a"])

    once, render = Once(), CountedRendering(fail)
    for a in range(1, 500):
        try:
            render(once, ReadSource({"a": a}))
        except ValueError:
            pass
    assert once._nodes <= 120


# threads -------------------------------------------------------------------------------------------------------------


def in_threads(functions, seconds=20):
    """The return values of the threads; fails if one does not end."""
    with ThreadPoolExecutor(len(functions)) as pool:
        return [future.result(seconds) for future in [pool.submit(function) for function in functions]]


def test_equal_renderings_wait_for_the_first_one():
    started = threading.Barrier(8)

    def slow(inputs):
        value = inputs.pillar["a"]
        time.sleep(0.05)
        return value

    once, render = Once(), CountedRendering(slow)

    def start_rendering():
        started.wait(10)
        return render(once, ReadSource({"a": 1}))

    assert in_threads([start_rendering] * 8) == [1] * 8
    assert render.times == 1


def test_no_thread_waits_for_another_targets_answer():
    """The answer for the first target arrives only after all others have ended."""
    others = threading.Semaphore(0)

    def wait(*args):
        for _ in range(4):
            assert others.acquire(timeout=10)
        return "answer"

    once = Once()
    asking = threading.Event()
    render = CountedRendering(lambda inputs: (inputs.pillar["a"], ask(inputs, "f", (), {})))

    def first():
        return render(once, ReadSource({"a": 1}, lambda *args: asking.set() or wait()))

    def other():
        assert asking.wait(10)
        result = render(once, ReadSource({"a": 1}, lambda *args: "answer"))
        others.release()
        return result

    assert in_threads([first, *[other] * 4]) == [(1, "answer")] * 5
    assert render.times <= 3


def test_threads_that_wait_for_each_other_do_not_deadlock():
    """No deadlock: two threads render two files, each of which includes the other."""
    once = Once()
    barrier = threading.Barrier(2)
    inputs = [ReadSource({"a": 1}), ReadSource({"a": 1})]

    def render_file(own, question, inner):
        def render():
            barrier.wait(10)
            return once.get(LEVEL, inner, own, lambda: own.pillar["a"])

        return once.get(LEVEL, question, own, render)

    assert in_threads([lambda: render_file(inputs[0], "x", "y"), lambda: render_file(inputs[1], "y", "x")]) == [1, 1]


def test_a_rendering_may_include_itself():
    once = Once()
    inputs = ReadSource({"a": 1})
    depth = iter(range(3))

    def render():
        return once.get(LEVEL, "x", inputs, render) if next(depth) < 2 else inputs.pillar["a"]

    assert once.get(LEVEL, "x", inputs, render) == 1


def test_waiting_ends_when_the_first_fails():
    started = threading.Event()

    def fail(inputs):
        started.set()
        time.sleep(0.05)
        if inputs.pillar["first"]:
            raise ValueError
        return "done"

    once = Once()

    def first():
        with pytest.raises(ValueError):
            once.get(LEVEL, "x", own, lambda: fail(own))

    own, other = ReadSource({"first": True}), ReadSource({"first": False})

    def second():
        started.wait(10)
        return once.get(LEVEL, "x", other, lambda: fail(other))

    assert in_threads([first, second]) == [None, "done"]


def test_many_threads_render_many_values():
    once = Once(max_size=20_000)
    render = CountedRendering(lambda inputs: (inputs.pillar["a"], ask(inputs, "f", (), {}), inputs.pillar["b"]))

    def work(factor):
        for number in range(100):
            a, b, c = number % 3, (number * factor) % 4, number % 2
            assert render(once, ReadSource({"a": a, "b": b}, lambda c=c: c)) == (a, c, b)

    in_threads([lambda factor=factor: work(factor) for factor in range(6)], 60)
    assert not once._waiting
