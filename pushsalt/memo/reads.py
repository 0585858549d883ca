"""What a rendering reads, noted while it reads.

A ``Recording`` is open while something is rendered for one target; everything that the target can make different is
noted in it, in order: keys of grains, pillar and options, files, and what functions answered. Who reads all of the
same gets the same, so the result may be used again (``pushsalt.memo.tree``). What cannot be noted (time, chance,
somebody's Python, data that was changed in place) spoils the recording instead: then nothing is used again.

A read is a tuple whose first item is its kind, or an ``Asked``:

    ("grains", key) ("pillar", key) ("opts", key)    the value of a top-level key, or that there is none; WHOLE: all
    ("compiled", WHOLE)                              the pillar as it was compiled
    ("match", tgt_type, expression)                  whether a target expression means the target
    ("find", tree, saltenv, path) ("read", ...)      which file that is; what it holds
    ("list", tree, question, ...)                    what the file server lists
    Asked(function, arguments, how often before)     the answer of a function

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

#: In the place of a key: the mapping as a whole.
WHOLE: Final = ("the whole",)


class ReadSource(Protocol):
    """One target as it answers reads."""

    def key(self, read: Read) -> Key:
        """The key of what is there now. Raises NoKeyError."""
        ...

    def ask(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function for this target; nothing of it is noted. Raises what the function raises."""
        ...

    def common(self) -> Hashable:
        """What stands for all that this target has in common with others now; None when it has nothing."""
        ...

    def is_common(self, read: Read) -> bool:
        """Whether ``common`` stands for this read too: those who have the same there have the same key."""
        ...


class Asked:
    """A function that was called: its name, its arguments, and how many calls alike came before."""

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
    """The reads of one rendering so far, in order. ``spoiled`` says why, and ``spoiled_at`` after how many of them."""

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
        #: what functions answered when it was looked whether this rendering is known: they are not asked twice
        self.answers = deque(answers)
        #: called before a function is asked, which may take long
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
        """Take over a read whose key is known."""
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
        """Nothing that follows can be known beforehand."""
        if self.spoiled_at is None:
            self.spoiled, self.spoiled_at = why, len(self.log)

    def sound(self) -> list[tuple[Read, Key]]:
        """The reads up to where it was spoiled."""
        return self.log if self.spoiled_at is None else self.log[: self.spoiled_at]

    def check_unchanged(self) -> None:
        """Spoil it if what was read was then changed in place: whoever renders later must see the same change."""
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
        """Give what is new to the recording around this one."""
        if self.outer is not None and self.outer.inputs is self.inputs:
            sound = self.sound()
            for read, key in sound[self.passed_on :]:
                self.outer.add(read, key)
            self.passed_on = len(sound)
            if self.spoiled_at is not None:
                self.outer.spoil(self.spoiled)


#: Kinds of reads that give somebody an object that can be changed.
_DATA: Final = ("grains", "pillar", "opts")


class _Thread(threading.local):
    """A target is rendered in one thread at a time; what is noted belongs to the thread that reads."""

    top: Recording | None = None
    hurried = False


_thread = _Thread()


def current() -> Recording | None:
    """The innermost recording of this thread."""
    return _thread.top


def spoil(why: str) -> None:
    """Say that what is being rendered used something that cannot be noted."""
    if _thread.top is not None:
        _thread.top.spoil(why)


@contextmanager
def muted() -> Iterator[None]:
    """What happens in here is not noted: it says nothing about the target, or is noted as a whole."""
    before, _thread.top = _thread.top, None
    try:
        yield
    finally:
        _thread.top = before


class NotMemoized(BaseException):
    """Something would have to be rendered, asked or waited for, and there is no time for that."""


@contextmanager
def memoized_only() -> Iterator[None]:
    """What is not known without rendering, asking and waiting raises NotMemoized in here: nothing takes long."""
    _thread.hurried = True
    try:
        yield
    finally:
        _thread.hurried = False


def takes_time() -> None:
    """Say that something that takes time follows. Raises NotMemoized where there is none."""
    if _thread.hurried:
        raise NotMemoized


@contextmanager
def recording(made: Recording) -> Iterator[None]:
    """Note what happens in here in ``made``."""
    before, _thread.top = _thread.top, made
    try:
        yield
    finally:
        _thread.top = before


# functions -----------------------------------------------------------------------------------------------------------


class Answer:
    """What a function answered: a value, or what it raised."""

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
    """What the function answers now; or what it answered a moment ago, when the same walk got there before."""
    top = _thread.top
    around = top
    while around is not None and around.inputs is inputs:
        if around.answers:
            first = around.answers[0]
            if (first.asked.name, first.asked.same) == (asked.name, asked.same):
                return around.answers.popleft()
            around.answers.clear()  # it goes another way than expected
        around = around.outer
    if top is not None:
        top.on_wait()
    with muted():
        try:
            return Answer(asked, call() if call else inputs.ask(asked.name, *_copied(asked.args, asked.kwargs)))
        except Exception as exc:
            return Answer(asked, None, exc)


def ask(inputs: ReadSource, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function for a template, and note the call and its answer."""
    top = _thread.top
    if top is None or top.inputs is not inputs:
        spoil(f"calls {name} of another target")
        return inputs.ask(name, args, kwargs)
    try:
        plain_args, plain_kwargs = without_recorders(args), without_recorders(kwargs)
        same = key_of([plain_args, plain_kwargs])
        asked = Asked(name, *_copied(plain_args, plain_kwargs), same, top.calls_like(name, same))
    except (NoKeyError, RecursionError):
        top.spoil(f"calls {name} with what cannot be compared")
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
            top.spoil(f"{name} answers what cannot be compared")
    return given.give()


def _copied(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not kwargs and all(type(arg) is str for arg in args):
        return args, {}
    import copy

    return copy.deepcopy(args), copy.deepcopy(kwargs)


def _is_still(now: Any, same: Key) -> bool:
    """Whether arguments are what they were when ``same`` was made."""
    try:
        with muted():
            return key_of(without_recorders(now)) == same
    except NoKeyError:
        return False


# mappings ------------------------------------------------------------------------------------------------------------


class Recorded(dict[Any, Any]):
    """A target's grains, pillar or options, as a dict that notes what is read of it.

    Top-level keys are told apart; the values below them are plain. Whatever looks at all of it notes all of it; what
    changes it spoils the recording. ``private`` are keys whose values note for themselves. Whether it is empty is not
    noted: some of Python's own code looks at that directly, so it belongs to the question (see ``once.Once.get``).
    """

    __slots__ = ("_inputs", "_kind", "_private", "_same")

    def __init__(
        self, kind: str, inputs: ReadSource, data: Mapping[Any, Any], private: frozenset[str] = frozenset()
    ) -> None:
        #: a plain dict of the same items, as long as nothing was changed: it can be copied fast
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

    def _whole(self) -> None:
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
        self._whole()
        return plain(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        import copy

        self._whole()
        return copy.deepcopy(plain(self), memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        self._whole()
        return dict, (plain(self),)

    def __or__(self, other: Any) -> Any:
        self._whole()
        return plain(self) | other

    def __ror__(self, other: Any) -> Any:
        self._whole()
        return other | plain(self)

    def __repr__(self) -> str:
        self._whole()
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
            self._whole()
        return original(self, *args, **kwargs)

    method.__name__ = name
    return method


def _changing(name: str) -> Callable[..., Any]:
    original = getattr(dict, name)

    def method(self: Recorded, *args: Any, **kwargs: Any) -> Any:
        if _thread.top is not None:
            self._whole()
            _thread.top.spoil(f"changes {self._kind}")
        self._same = None
        return original(self, *args, **kwargs)

    method.__name__ = name
    return method


Recorded.__module__, Recorded.__name__, Recorded.__qualname__ = "builtins", "dict", "dict"  # as messages call it
for _name in ("__iter__", "__reversed__", "__len__", "__eq__", "__ne__", "keys", "values", "items"):
    setattr(Recorded, _name, _looking(_name))
for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(Recorded, _name, _changing(_name))
for _kind in (Recorded, InOrder):  # users' own code dumps what it is given
    SafeRepresenter.add_representer(_kind, SafeRepresenter.represent_dict)


def plain(mapping: Mapping[Any, Any]) -> dict[Any, Any]:
    """A mapping's items as a dict of its own; of a Recorded one without a note."""
    if isinstance(mapping, Recorded):
        return dict(dict.items(mapping)) if mapping._same is None else dict(mapping._same)
    return dict(mapping)


def put(mapping: dict[Any, Any], data: Mapping[Any, Any]) -> None:
    """Update a mapping; a Recorded one without a note: what it holds grows."""
    if isinstance(mapping, Recorded):
        mapping._same = None
    dict.update(mapping, data)


def without_recorders(value: Any) -> Any:
    """The value with plain dicts in place of Recorded ones, noted as wholes: for code that wants exact types."""
    if isinstance(value, Recorded):
        return value.copy()
    if type(value) is dict:
        return {key: without_recorders(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(without_recorders(item) for item in value)
    return value
