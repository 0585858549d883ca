"""Keeps the results of renderings, and finds them by the values that they read.

For each thing to render (an SLS, a file's template, a target's pillar or states as a whole) there is a decision tree.
A node has the next read of the rendering, its branches are the values that were read, and a leaf has the result. A
rendering depends on its reads only, so all renderings of one thing begin with the same read, and renderings with the
same values on the path have the same result. A look-up costs one dict access per read.

A look-up that ends at an unknown node renders, and adds the path to the tree; look-ups in other threads that reach this
node meanwhile wait for the result. Before a rendering calls its target, it adds its path so far and releases those that
wait, so that no thread waits for another's target. A wait that would cause a deadlock is not begun.

Results are shared: ``Level.keep`` makes the stored object from a result, ``Level.give`` a target's copy of it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from pushsalt.memo.keys import Key, NoKeyError, key_of
from pushsalt.memo.reads import (
    Answer,
    Asked,
    Read,
    ReadSource,
    Recording,
    answer,
    current,
    recording,
    takes_time,
)

log = logging.getLogger(__name__)

Result = TypeVar("Result")

#: Limits: bytes of all results (by ``Level.size``), and nodes of all trees.
MAX_SIZE: Final = 128 * 1024 * 1024
MAX_NODES: Final = 400_000

#: Seconds that a thread waits for the rendering of another.
PATIENCE: Final = 1.0

#: The result at a leaf where every target must render for itself.
_NEVER: Final = object()
_OPEN: Final = object()


def _itself(result: Any) -> Any:
    return result


def _thousand(kept: Any) -> int:
    return 1000


@dataclass(frozen=True)
class Level(Generic[Result]):
    """A kind of result. ``keep``: result -> stored object; ``give``: the reverse, for a target; ``size``: in bytes."""

    name: str
    keep: Callable[[Result], Any] = _itself
    give: Callable[[Any], Result] = _itself
    size: Callable[[Any], int] = _thousand


class _Node:
    """``read`` is the next read. None if it is unknown; then ``finder`` is the thread that renders, if there is one."""

    __slots__ = ("branches", "finder", "jumps", "parent", "read", "result", "size", "value")

    def __init__(self, parent: _Node | None, value: Key) -> None:
        self.parent = parent
        self.value = value
        self.read: Read | None = None
        self.branches: dict[Key, _Node] = {}
        self.result: Any = _OPEN
        self.size = 0
        self.finder: _Finder | None = None
        self.jumps: dict[Hashable, _Jump] | None = None


class _Jump(NamedTuple):
    """A shortcut over reads that many targets share (``ReadSource.common``). Valid for one ``Once.age``."""

    age: int
    passed: list[tuple[Read, Key]]
    to: _Node


class _Finder:
    """A thread that renders. ``done`` is set when it has added its path, or others must not wait for it any longer."""

    __slots__ = ("done", "node", "thread")

    def __init__(self, node: _Node) -> None:
        self.node = node
        self.thread = threading.get_ident()
        self.done = threading.Event()


@dataclass
class Counts:
    """How many times a result was rendered, and how many times a memoized one was used."""

    rendered: int = 0
    reused: int = 0


class Once:
    """All results of one process, in memory only. Thread-safe."""

    def __init__(self, max_size: int = MAX_SIZE) -> None:
        self.counts: dict[str, Counts] = {}
        #: how many times something was removed from the trees
        self.age = 0
        #: context manager that a thread enters while it waits for another
        self.waits_for_others: Callable[[], AbstractContextManager[object]] = nullcontext
        self._max_size = max_size
        self._size = 0
        self._nodes = 0
        self._roots: dict[Hashable, _Node] = {}
        self._ends: OrderedDict[_Node, None] = OrderedDict()  # leaves with results, least recently used first
        self._lock = threading.Lock()
        self._waiting: dict[int, _Finder] = {}

    def get(self, level: Level[Result], question: Hashable, inputs: ReadSource, render: Callable[[], Result]) -> Result:
        """The result of ``render`` for a target: a memoized one, or rendered now.

        ``question`` identifies what is rendered, and must contain everything besides reads that the result depends on.
        Raises what ``render`` raises; then nothing is stored.
        """
        return _Look(self, level, (level.name, question), inputs).get(render)

    def count(self, level: str, *, reused: bool) -> None:
        counts = self.counts.get(level) or self.counts.setdefault(level, Counts())
        if reused:
            counts.reused += 1
        else:
            counts.rendered += 1

    # the trees; all of these with the lock held ----------------------------------------------------------------------

    def root(self, question: Hashable) -> _Node:
        node = self._roots.get(question)
        if node is None:
            node = self._roots[question] = _Node(None, question)
            self._nodes += 1
        return node

    def branch(self, node: _Node, value: Key) -> _Node:
        below = node.branches.get(value)
        if below is None:
            below = node.branches[value] = _Node(node, value)
            self._nodes += 1
        return below

    def end(self, node: _Node, result: Any, size: int) -> None:
        """Set the result of a leaf, and drop the least recently used results over the limit."""
        if node.result is not _OPEN:
            self._size -= node.size
        node.result, node.size = result, size
        self._size += size
        self._ends[node] = None
        self._ends.move_to_end(node)
        while self._size > self._max_size and len(self._ends) > 1:
            self._drop(next(iter(self._ends)))
        if self._nodes > MAX_NODES:  # paths of renderings that failed are never dropped one by one
            self.age += 1
            self._roots.clear()
            self._ends.clear()
            self._size = self._nodes = 0

    def _drop(self, node: _Node) -> None:
        del self._ends[node]
        self.age += 1
        self._size -= node.size
        node.result, node.size = _OPEN, 0
        current: _Node | None = node
        while current is not None and not current.branches and current.result is _OPEN and current.finder is None:
            above = current.parent
            places = self._roots if above is None else above.branches
            if places.get(current.value) is current:
                del places[current.value]
            self._nodes -= 1
            current = above

    def used(self, node: _Node) -> None:
        if node in self._ends:
            self._ends.move_to_end(node)

    def lock(self) -> threading.Lock:
        return self._lock

    # which threads wait for each other -------------------------------------------------------------------------------

    def may_wait(self, finder: _Finder) -> bool:
        """Whether the current thread can wait for this one without a deadlock."""
        own = threading.get_ident()
        after: _Finder | None = finder
        while after is not None:
            if after.thread == own:
                return False
            after = self._waiting.get(after.thread)
        return True

    def wait(self, finder: _Finder) -> bool:
        """Wait for ``done``, at most PATIENCE seconds, since the rendering may never end; returns whether it is set."""
        with self.waits_for_others():
            done = finder.done.wait(PATIENCE)
        with self._lock:
            self._waiting.pop(threading.get_ident(), None)
        return done

    def waits(self, finder: _Finder) -> None:
        self._waiting[threading.get_ident()] = finder


class _Look(Generic[Result]):
    """One look-up of a result, and the rendering if there is none."""

    def __init__(self, once: Once, level: Level[Result], question: Hashable, inputs: ReadSource) -> None:
        self._once = once
        self._level = level
        self._inputs = inputs
        self._passed: list[tuple[Read, Key]] = []
        self._answers: list[Answer] = []
        with once.lock():
            self._node: _Node | None = once.root(question)
        self._finder: _Finder | None = None
        self._made: Recording | None = None
        self._entered = 0

    def get(self, render: Callable[[], Result]) -> Result:
        around = current()
        if around is not None and around.inputs is not self._inputs:
            around.spoil("renders for another target")
        kept = self._walk()
        if kept is _NEVER:
            takes_time()
        if kept is not _OPEN and kept is not _NEVER:
            self._once.count(self._level.name, reused=True)
            self._tell(around)
            return self._level.give(kept)
        self._once.count(self._level.name, reused=False)
        return self._render(render, around, never=kept is _NEVER)

    def _tell(self, around: Recording | None) -> None:
        """Add the reads of a memoized result to the enclosing recording, which used it."""
        if around is not None and around.inputs is self._inputs:
            for read, key in self._passed:
                around.add(read, key)

    # the look-up -----------------------------------------------------------------------------------------------------

    def _walk(self) -> Any:
        """Look up the result; _OPEN if there is none."""
        node, once, inputs, passed = self._node, self._once, self._inputs, self._passed
        common, age = inputs.common(), once.age
        began: tuple[_Node, int] | None = None  # (node, number of reads before it) where shared reads begin
        while node is not None:
            read = node.read
            shared = common is not None and type(read) is tuple and inputs.is_common(read)
            if shared and began is None:
                jump = node.jumps.get(common) if node.jumps is not None else None
                if jump is not None and jump.age == once.age:
                    passed += jump.passed
                    node = jump.to
                    continue
                began = (node, len(passed))
            elif not shared and began is not None:
                start, before = began
                began = None
                if start.jumps is None or len(start.jumps) > 8:
                    start.jumps = {}
                start.jumps[common] = _Jump(age, passed[before:], node)
            if read is not None:
                try:
                    key = self._ask(read) if type(read) is Asked else inputs.key(read)
                except NoKeyError:
                    takes_time()
                    self._node = None
                    return _OPEN
                passed.append((read, key))
                below = node.branches.get(key)
                if below is None:
                    with once.lock():
                        below = once.branch(node, key)
                node = below
                continue
            if node.result is not _OPEN:
                result = node.result
                if result is not _OPEN:
                    with once.lock():
                        once.used(node)
                    self._node = node
                    return result
            takes_time()
            with once.lock():
                if node.read is not None or node.result is not _OPEN:
                    continue
                finder = node.finder
                if finder is None:
                    node.finder = self._finder = _Finder(node)
                    self._node = node
                    return _OPEN
                if not once.may_wait(finder):
                    self._node = node
                    return _OPEN
                once.waits(finder)
            if not once.wait(finder):
                self._node = node
                return _OPEN
        return _OPEN

    def _ask(self, asked: Asked) -> Key:
        takes_time()
        given = answer(self._inputs, asked)
        self._answers.append(given)
        if given.raised is not None:
            raise NoKeyError(asked.name)
        return key_of(given.value)

    # the rendering ---------------------------------------------------------------------------------------------------

    def _render(self, render: Callable[[], Result], around: Recording | None, *, never: bool) -> Result:
        """Render, add the path to the tree, and set the result at its leaf."""
        recorded = self._made = Recording(self._inputs, around, self._answers, self._go_on_alone)
        if never:
            # The result cannot be used again; the reads so far still belong to the enclosing recording.
            for read, key in self._passed:
                recorded.add(read, key)
            recorded.spoil("it is different each time")
        try:
            with recording(recorded):
                result = render()
            recorded.check_unchanged()
            kept = self._level.keep(result)
            self._enter()
            self._end(kept)
            return self._level.give(kept)
        finally:
            recorded.check_unchanged()
            self._enter()
            with self._once.lock():
                self._release()
            recorded.pass_on()

    def _enter(self) -> None:
        """Add the reads so far to the tree, for look-ups of other threads."""
        recorded = self._made
        if recorded is None or self._node is None:
            return
        sound = recorded.sound()
        if self._entered < len(self._passed):  # the first reads must be those of the look-up
            if sound[: len(self._passed)] != self._passed:
                self._went_elsewhere(sound)
                return
            self._entered = len(self._passed)
        with self._once.lock():
            node: _Node | None = self._node
            for read, key in sound[self._entered :]:
                assert node is not None
                if node.read is None and node.result is _OPEN:
                    node.read = read
                elif node.read != read:
                    self._differs(node)
                    node = None
                    break
                node = self._once.branch(node, key)
            self._entered = len(sound)
            if node is not self._node:
                self._release()
                self._node = node
                if node is not None and node.read is None and node.result is _OPEN and node.finder is None:
                    node.finder = self._finder = _Finder(node)

    def _end(self, kept: Any) -> None:
        node, recorded = self._node, self._made
        if node is None or recorded is None:
            return
        size = self._level.size(kept)
        if recorded.spoiled_at is not None:
            log.debug("%s is rendered each time: %s", self._level.name, recorded.spoiled)
            kept, size = _NEVER, 100
        with self._once.lock():
            if node.read is not None:
                if recorded.spoiled_at is None:
                    self._differs(node)
            elif node.result is _OPEN:
                self._once.end(node, kept, size)

    def _went_elsewhere(self, sound: list[tuple[Read, Key]]) -> None:
        """Handle a rendering whose reads differ from those of the look-up: it failed early, or has other inputs."""
        node, self._node = self._node, None
        for at, ((read, _), (expected, _)) in enumerate(zip(sound, self._passed, strict=False)):
            if read != expected:
                for _ in range(len(self._passed) - at):
                    node = node.parent if node is not None else None
                if node is not None:
                    with self._once.lock():
                        self._differs(node)
                return

    def _differs(self, node: _Node) -> None:
        """Mark a node where renderings with equal reads differ in the next read: its results cannot be used again."""
        log.debug("%s depends on more than its reads: it is rendered each time", self._level.name)
        self._once.age += 1
        node.read = None
        self._once.end(node, _NEVER, 100)

    def _go_on_alone(self) -> None:
        """Called before a call on the target: add the path so far, and release threads that wait for this rendering."""
        recorded = self._made
        if recorded is None:
            return
        recorded.pass_on()
        self._enter()
        with self._once.lock():
            self._release()
        if recorded.outer is not None:
            recorded.outer.on_wait()

    def _release(self) -> None:
        finder, self._finder = self._finder, None
        if finder is not None:
            if finder.node.finder is finder:
                finder.node.finder = None
            finder.done.set()
