"""Records what a rendering reads.

A ``Recording`` is open while something is rendered for one target. It lists, in order, everything that can differ
between targets: keys of grains, pillar and options, files, and answers of functions. A rendering with the same values
for all reads has the same result, so the result can be used again (``pushsalt.memo.tree``). An input that cannot be
recorded (time, random numbers, users' Python code, data that was changed in place) spoils the recording: then the
result is not used again.

A read is a tuple whose first item is its kind, or an ``Asked``:

    ("grains", key) ("pillar", key) ("opts", key)    the value of a top-level key, or MISSING; WHOLE: all
    ("compiled", WHOLE)                              the compiled pillar
    ("match", tgt_type, expression)                  whether a target expression matches the target
    ("find", tree, saltenv, path) ("read", ...)      the file of a path; its content
    ("list", tree, question, ...)                    a list of the file server
    Asked(function, arguments, earlier calls)        the answer of a function

Values are compared by ``key_of``: types count (True, 1 and 1.0 differ), and so does the order of keys.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NoReturn, Protocol, TypeVar

from yaml.representer import SafeRepresenter

from pushsalt.memo.keys import Key, NoKeyError, key_of
from thin.utils.dictupdate import InOrder

Read = Hashable
Result = TypeVar("Result")

#: In place of a key: the whole mapping.
WHOLE: Final = ("the whole",)


class ReadSource(Protocol):
    """One target: returns the present value of each read, as a key."""

    def key(self, read: Read) -> Key:
        """The key of a read's present value. Raises NoKeyError."""
        ...

    def ask(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function for this target without recording it. Raises what the function raises."""
        ...

    def common(self) -> Hashable:
        """A key of everything that this target may share with others at present; None if it shares nothing."""
        ...

    def is_common(self, read: Read) -> bool:
        """Whether ``common`` covers this read: targets with the same ``common`` have the same key for it."""
        ...


class Asked:
    """A function call: name, arguments, and the number of equal calls before."""

    __slots__ = ("args", "before", "kwargs", "name", "same")

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], same: Key, before: int) -> None:
        self.name = name
        self.args = args
        self.kwargs = kwargs
        self.same = same
        self.before = before

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Asked) and (self.name, self.same) == (other.name, other.same)
        return same and self.before == other.before  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.name, self.same, self.before))

    def __repr__(self) -> str:
        return f"Asked({self.name})"

    def nth(self, before: int) -> Asked:
        return self if before == self.before else Asked(self.name, self.args, self.kwargs, self.same, before)


class Recording:
    """The reads of one rendering so far, in order.

    ``spoiled`` is the reason why the result cannot be used again, else ""; ``spoiled_at`` the number of reads before.
    """

    __slots__ = (
        "_asked",
        "_seen",
        "answers",
        "inputs",
        "log",
        "on_wait",
        "outer",
        "passed_on",
        "spoiled",
        "spoiled_at",
    )

    def __init__(
        self, inputs: ReadSource, outer: Recording | None, answers: Iterable[Answer], on_wait: Callable[[], None]
    ) -> None:
        self.inputs = inputs
        self.outer = outer
        self.log: list[tuple[Read, Key]] = []
        self.spoiled = ""
        self.spoiled_at: int | None = None
        self.passed_on = 0
        #: answers of functions during the look-up in the tree: these calls are not repeated
        self.answers = deque(answers)
        #: called before a call that may take long
        self.on_wait = on_wait
        self._seen: set[Read] = set()
        self._asked: dict[Any, int] = {}

    def note(self, read: Read) -> None:
        if read not in self._seen:
            try:
                key = self.inputs.key(read)
            except NoKeyError as exc:
                self.spoil(f"cannot compare {exc}")
                return
            self.add(read, key)

    def add(self, read: Read, key: Key) -> None:
        """Add a read whose key was computed."""
        if isinstance(read, Asked):
            same = (read.name, read.same)
            before = self._asked.get(same, 0)
            self._asked[same] = before + 1
            self.log.append((read.nth(before), key))
        elif read not in self._seen:
            self._seen.add(read)
            self.log.append((read, key))

    def calls_like(self, name: str, same: Key) -> int:
        return self._asked.get((name, same), 0)

    def spoil(self, why: str) -> None:
        """Mark that from here on the rendering depends on something that is not recorded."""
        if self.spoiled_at is None:
            self.spoiled, self.spoiled_at = why, len(self.log)

    def sound(self) -> list[tuple[Read, Key]]:
        """The reads before the recording was spoiled."""
        return self.log if self.spoiled_at is None else self.log[: self.spoiled_at]

    def check_unchanged(self) -> None:
        """Spoil the recording if a value was changed in place after it was read: a memoized result would lack that."""
        for read, key in self.log:
            if type(read) is tuple and read[0] in _DATA and type(key) is not str:
                try:
                    same = self.inputs.key(read) == key
                except NoKeyError:
                    same = False
                if not same:
                    self.spoil(f"changes {read[0]}")
                    return

    def pass_on(self) -> None:
        """Add the new reads to the enclosing recording."""
        if self.outer is not None and self.outer.inputs is self.inputs:
            sound = self.sound()
            for read, key in sound[self.passed_on :]:
                self.outer.add(read, key)
            self.passed_on = len(sound)
            if self.spoiled_at is not None:
                self.outer.spoil(self.spoiled)


#: Kinds of reads that return mutable objects.
_DATA: Final = ("grains", "pillar", "opts")


class _Thread(threading.local):
    """The recordings of a thread: a target is rendered in one thread at a time."""

    top: Recording | None = None
    hurried = False
    ahead = False


_thread = _Thread()


def current() -> Recording | None:
    """The innermost recording of this thread."""
    return _thread.top


def spoil(why: str) -> None:
    """Declare that the rendering uses an input that cannot be recorded (``why``). Raises NotAhead within ``ahead``."""
    if _thread.top is not None:
        not_ahead()
        _thread.top.spoil(why)


@contextmanager
def muted() -> Iterator[None]:
    """A context in which reads are not recorded: they do not depend on the target, or are recorded by the caller."""
    before, _thread.top = _thread.top, None
    try:
        yield
    finally:
        _thread.top = before


class NotMemoized(BaseException):
    """The result is not memoized, and ``memoized_only`` forbids to render, call or wait."""


@contextmanager
def memoized_only() -> Iterator[None]:
    """A context in which only memoized results are used: rendering, calling or waiting raises NotMemoized."""
    _thread.hurried = True
    try:
        yield
    finally:
        _thread.hurried = False


def takes_time() -> None:
    """Declare that something slow follows. Raises NotMemoized within ``memoized_only``."""
    if _thread.hurried:
        raise NotMemoized


class NotAhead(BaseException):
    """Ends a rendering ahead before it has an effect. No Exception, so that templates cannot catch it."""


@contextmanager
def ahead() -> Iterator[None]:
    """A context in which something is rendered for its memoized result only: it must not have any other effect."""
    _thread.ahead = True
    try:
        yield
    finally:
        _thread.ahead = False


def not_ahead() -> None:
    """Raises NotAhead within ``ahead``. Called before an effect: a log line, a call on the target, code of users."""
    if _thread.ahead:
        raise NotAhead


@contextmanager
def recording(reads: Recording) -> Iterator[None]:
    """A context in which reads are recorded in ``reads``."""
    before, _thread.top = _thread.top, reads
    try:
        yield
    finally:
        _thread.top = before


# functions -----------------------------------------------------------------------------------------------------------


class Answer:
    """The answer of a function: a value, or an exception."""

    __slots__ = ("asked", "raised", "value")

    def __init__(self, asked: Asked, value: Any, raised: Exception | None = None) -> None:
        self.asked = asked
        self.value = value
        self.raised = raised

    def give(self) -> Any:
        if self.raised is not None:
            raise self.raised
        return self.value


def answer(inputs: ReadSource, asked: Asked, call: Callable[[], Any] | None = None) -> Answer:
    """The answer of a call. The look-up in the tree may have made the same call just before; it is not repeated."""
    top = _thread.top
    around = top
    while around is not None and around.inputs is inputs:
        if around.answers:
            first = around.answers[0]
            if (first.asked.name, first.asked.same) == (asked.name, asked.same):
                return around.answers.popleft()
            around.answers.clear()  # its reads differ from those of the look-up
        around = around.outer
    if top is not None:
        top.on_wait()
    with muted():
        try:
            return Answer(asked, call() if call else inputs.ask(asked.name, *_copied(asked.args, asked.kwargs)))
        except Exception as exc:
            return Answer(asked, None, exc)


def ask(inputs: ReadSource, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function for a template, and record the call and its answer."""
    top = _thread.top
    if top is None or top.inputs is not inputs:
        spoil(f"calls {name} of another target")
        return inputs.ask(name, args, kwargs)
    try:
        plain_args, plain_kwargs = without_recorders(args), without_recorders(kwargs)
        same = key_of([plain_args, plain_kwargs])
        asked = Asked(name, *_copied(plain_args, plain_kwargs), same, top.calls_like(name, same))
    except (NoKeyError, RecursionError):
        top.spoil(f"calls {name} with arguments that cannot be compared")
        with muted():
            return inputs.ask(name, args, kwargs)
    given = answer(inputs, asked, lambda: inputs.ask(name, args, kwargs))
    if given.raised is not None:
        top.spoil(f"{name} raised")
    elif not _is_still([args, kwargs], same):
        top.spoil(f"{name} changes its arguments")
    else:
        try:
            top.add(asked, key_of(given.value))
        except NoKeyError:
            top.spoil(f"{name} returns a value that cannot be compared")
    return given.give()


def _copied(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not kwargs and all(type(arg) is str for arg in args):
        return args, {}
    import copy

    return copy.deepcopy(args), copy.deepcopy(kwargs)


def _is_still(now: Any, same: Key) -> bool:
    """Whether the arguments still have the key ``same``."""
    try:
        with muted():
            return key_of(without_recorders(now)) == same
    except NoKeyError:
        return False


# mappings ------------------------------------------------------------------------------------------------------------


class Recorded(dict[Any, Any]):
    """A target's grains, pillar or options, as a dict that records reads.

    Reads of top-level keys are recorded separately; values are plain objects. An operation on the whole dict records
    WHOLE; a change spoils the recording. ``private`` are keys whose values record their own reads. Tests whether the
    dict is empty are not recorded, since CPython tests that without calling a method: emptiness is part of the memo's
    question (``tree.Once.get``).
    """

    __slots__ = ("_inputs", "_kind", "_private", "_same")

    def __init__(
        self, kind: str, inputs: ReadSource, data: Mapping[Any, Any], private: frozenset[str] = frozenset()
    ) -> None:
        #: a plain dict of the same items, which can be copied fast; None after a change
        self._same: dict[Any, Any] | None = plain(data)
        super().__init__(self._same)
        self._kind = kind
        self._inputs = inputs
        self._private = private

    def _note(self, name: Any) -> None:
        top = _thread.top
        if top is not None and name not in self._private:
            if top.inputs is self._inputs:
                top.note((self._kind, name))
            else:
                top.spoil(f"reads {self._kind} of another target")

    def _note_all(self) -> None:
        top = _thread.top
        if top is not None:
            if top.inputs is self._inputs:
                top.note((self._kind, WHOLE))
            else:
                top.spoil(f"reads {self._kind} of another target")

    def __getitem__(self, name: Any) -> Any:
        if _thread.top is not None:
            self._note(name)
        return dict.__getitem__(self, name)

    def get(self, name: Any, default: Any = None, /) -> Any:
        if _thread.top is not None:
            self._note(name)
        return dict.get(self, name, default)

    def __contains__(self, name: object) -> bool:
        if _thread.top is not None:
            self._note(name)
        return dict.__contains__(self, name)

    def __bool__(self) -> bool:
        return dict.__len__(self) > 0

    def copy(self) -> dict[Any, Any]:
        self._note_all()
        return plain(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        import copy

        self._note_all()
        return copy.deepcopy(plain(self), memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        self._note_all()
        return dict, (plain(self),)

    def __or__(self, other: Any) -> Any:
        self._note_all()
        return plain(self) | other

    def __ror__(self, other: Any) -> Any:
        self._note_all()
        return other | plain(self)

    def __repr__(self) -> str:
        self._note_all()
        return repr(plain(self))

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec) if not spec else self._no_format()

    def _no_format(self) -> NoReturn:
        raise TypeError("unsupported format string passed to dict.__format__")


def _looking(name: str) -> Callable[..., Any]:
    original = getattr(dict, name)

    def method(self: Recorded, *args: Any, **kwargs: Any) -> Any:
        if _thread.top is not None:
            self._note_all()
        return original(self, *args, **kwargs)

    method.__name__ = name
    return method


def _changing(name: str) -> Callable[..., Any]:
    original = getattr(dict, name)

    def method(self: Recorded, *args: Any, **kwargs: Any) -> Any:
        if _thread.top is not None:
            self._note_all()
            _thread.top.spoil(f"changes {self._kind}")
        self._same = None
        return original(self, *args, **kwargs)

    method.__name__ = name
    return method


Recorded.__module__, Recorded.__name__, Recorded.__qualname__ = "builtins", "dict", "dict"  # the name in messages
for _name in ("__iter__", "__reversed__", "__len__", "__eq__", "__ne__", "keys", "values", "items"):
    setattr(Recorded, _name, _looking(_name))
for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(Recorded, _name, _changing(_name))
for _kind in (Recorded, InOrder):  # users' code may dump these objects
    SafeRepresenter.add_representer(_kind, SafeRepresenter.represent_dict)


def plain(mapping: Mapping[Any, Any]) -> dict[Any, Any]:
    """A mapping's items as a new dict; the read of a Recorded one is not recorded."""
    if isinstance(mapping, Recorded):
        return dict(dict.items(mapping)) if mapping._same is None else dict(mapping._same)
    return dict(mapping)


def put(mapping: dict[Any, Any], data: Mapping[Any, Any]) -> None:
    """Update a mapping; a Recorded one without spoiling the recording."""
    if isinstance(mapping, Recorded):
        mapping._same = None
    dict.update(mapping, data)


def without_recorders(value: Any) -> Any:
    """The value with plain dicts in place of Recorded ones, all read as a whole; for code that needs plain dicts."""
    if isinstance(value, Recorded):
        return value.copy()
    if type(value) is dict:
        return {key: without_recorders(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(without_recorders(item) for item in value)
    return value
