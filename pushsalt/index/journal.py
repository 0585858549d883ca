"""The log of an index: who may write, what was written, and which segments lie below it. Layout: ``format``.

Readers take no lock. The log only grows, so its length says whether there is anything new: one ``lseek`` per read. A
rewrite (``replace``) puts a new log in the place of the old one by rename, which is the one moment where the index
changes hands; before it, an empty frame is written to the old log, so that those who have it open look at the path.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pushsalt.index import files, format, lock
from pushsalt.index.files import FLAGS
from pushsalt.index.format import CHECKPOINT, HEAD_SIZE, HINT, MAGIC, Damage
from pushsalt.index.rewriting import RewriteLock, write_new_log

if TYPE_CHECKING:
    from pushsalt.errors import IndexCorrupt

#: ``settled`` when the next read has to look closer
UNSETTLED: Final = -1
_TRIES: Final = 50
#: bytes of the log that may be copied while writers wait
_SHORT: Final = 4096
#: seconds after which a segment that the log does not name is nobody's; one is written before it is named
_LEFT_OVER: Final = 3600

_alive: weakref.WeakSet[Journal] = weakref.WeakSet()


class Journal:
    """One process's view of the log. ``fd`` and ``settled`` are for the readers' quick look: nothing is new as long as

    ``os.lseek(journal.fd, 0, os.SEEK_END) == journal.settled``.
    """

    def __init__(self, folder: str, kind: str) -> None:
        self._folder = folder
        self.kind = kind
        self.mutex = threading.RLock()
        self.fd = -1
        self.settled = UNSETTLED
        #: where the first write begins, and where the next one will
        self.start = 0
        self.end = 0
        self.number = 0
        self.generation = 0
        self.segments: list[str] = []
        #: what was found damaged and got mended since this process looks, for ``verify``
        self.notes: list[str] = []
        self._last = b""
        self._watching = False
        self._lock = lock.WritersLock(f"{folder}/lock")
        self._depth = 0
        self._rewrites = RewriteLock(f"{folder}/compact.lock")
        self._forked = False
        self._forgotten = False
        _alive.add(self)

    @cached_property
    def folder(self) -> Path:
        # Nobody who only reads needs it, and a process's first Path costs a tenth of opening an index.
        return Path(self._folder)

    def file(self, name: str) -> str:
        """The path of a file of the index."""
        return f"{self._folder}/{name}"

    # --- reading ---------------------------------------------------------------------------------------------------

    def load(self, begin: Callable[[list[str]], None], take: Callable[[list[bytes]], None]) -> None:
        """Read the log that lies there: ``begin`` is given the segments' names, then ``take`` what was written since.

        That is the last checkpoint, if there is one, and the writes behind it. Both may raise Damage, and
        FileNotFoundError for a segment: a rewrite came between. IndexCorrupt, OSError.
        """
        for attempt in range(_TRIES):
            fd = self._open()
            try:
                data = files.read(fd, 0)
                log = data[len(MAGIC) :]
                first = self._scan(log, 0, most=1)
                meta = format.split(format.decode(first.payloads[0])) if first.payloads else []
                if len(meta) < 2 or meta[0] != self.kind or not meta[1].isdigit():
                    raise Damage("its log does not begin as one")
                place, number = format.last_checkpoint(log)
                frames = self._scan(log, number, at=place)
                self._compare(fd, int(meta[1]), number + len(frames.payloads) - 1)
                begin(meta[2:])
                checkpoint = frames.payloads[:1] if number else []
                take(checkpoint + _writes(frames.payloads[1:]))
            except FileNotFoundError as exc:
                os.close(fd)
                if attempt == _TRIES - 1:
                    raise self.corrupt(f"the segment {Path(str(exc.filename)).name} is missing") from None
                continue
            except Damage as exc:
                os.close(fd)
                if attempt:
                    raise self.corrupt(str(exc)) from None
                continue  # once more: a writer may have cut off what a killed one left while we read
            except BaseException:
                os.close(fd)
                raise
            break
        if self._forked:
            self._close_log()
        self._use(fd)
        self.generation = int(meta[1])
        self.segments = meta[2:]
        self.number = number - 1
        self.start = len(MAGIC) + first.end
        self._accept(frames, len(MAGIC), len(data))

    def poll(self, take: Callable[[list[bytes]], None]) -> bool:
        """Hand the writes that this process has not seen yet to ``take``; False when the log is to be ``load``ed:

        it was replaced, or cannot be read on. What is ``settled`` has been taken. Raises IndexCorrupt; OSError;
        FileNotFoundError if ``take`` does.
        """
        if self._forked or self._forgotten or self.fd < 0:
            return False
        size = os.lseek(self.fd, 0, os.SEEK_END)
        if size > self.end:
            try:
                data = files.read(self.fd, self.end)
                frames = self._scan(data, self.number + 1)
                take(_writes(frames.payloads))
            except Damage:
                return False
            size = self.end + len(data)
            self._accept(frames, self.end, size)
        elif size < self.end - HEAD_SIZE - len(self._last):
            self.note("the log became shorter while it was in use")
            return False
        elif size == self.end and not self._watching:
            self.settled = size
        # Bytes that are no write may be a writer at work, the last word of one who made a new log, or what damage left.
        return not ((self._watching or size != self.end) and (self._replaced() or self._lost()))

    def look(self) -> None:
        """Have the log loaded anew if somebody removed the file: nothing is said there of what came after it."""
        if self.fd >= 0 and not os.fstat(self.fd).st_nlink:
            self.forget()

    def _accept(self, frames: format.Scan, begin: int, size: int) -> None:
        """Go on behind these frames, whose places count from ``begin``; the log has ``size`` bytes."""
        self.end = begin + frames.end
        self.number += len(frames.payloads)
        if frames.payloads:
            self._last = frames.payloads[-1]
            self._watching = self._last == HINT
        self.settled = self.end if size == self.end and not self._watching else UNSETTLED

    def _compare(self, fd: int, generation: int, number: int) -> None:
        """Raises Damage when the log ends before a write that this very boot of the machine has seen.

        After a crash of the machine the log may have lost its end: that is said, and what is there counts.
        """
        mark = self._lock.mark()
        if mark is None or mark[0] != generation or mark[1] <= number:
            return
        # What the mark stands for was in the log before the mark was written, so it is there now, whoever is at work.
        number = len(format.scan(files.read(fd, len(MAGIC)), 0).payloads) - 1
        if mark[1] <= number:
            return
        text = f"the log has lost its last {mark[1] - number} writes"
        if mark[2] == lock.boot():
            raise Damage(text)
        self.note(text)

    def _scan(self, data: bytes, number: int, at: int = 0, most: int = sys.maxsize) -> format.Scan:
        frames = format.scan(data, number, at=at, most=most)
        for text in frames.notes:
            if not text.endswith("no whole write"):  # a writer at work looks the same
                self.note(text)
        return frames

    def _replaced(self) -> bool:
        ours = os.fstat(self.fd)
        try:
            now = (self.folder / "log").stat(follow_symlinks=False)
        except FileNotFoundError:
            raise self.corrupt("its log is missing") from None
        return (now.st_dev, now.st_ino) != (ours.st_dev, ours.st_ino)

    def _open(self) -> int:
        path = self.file("log")
        for _ in range(2):
            try:
                return os.open(path, os.O_RDWR | FLAGS)
            except FileNotFoundError:
                self._create()
            except OSError as exc:
                if exc.errno not in (errno.EACCES, errno.EROFS, errno.EPERM):
                    raise
                return os.open(path, os.O_RDONLY | FLAGS)
        raise self.corrupt("its log is missing")

    def _create(self) -> None:
        with self.locked():
            if (self.folder / "log").exists():
                return
            if self._lock.mark() is not None or any(self.folder.glob("seg-*")):
                raise self.corrupt("its log is missing")
            self._install([], 1)

    # --- writing ---------------------------------------------------------------------------------------------------

    def acquire(self) -> None:
        """Take the writers' lock; ``release`` it. Only one process, and of it only one thread, is within."""
        self.mutex.acquire()
        try:
            if self._depth == 0:
                self._lock.take()
                self.look()
            self._depth += 1
        except BaseException:
            self.mutex.release()
            raise

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._lock.give()
        self.mutex.release()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def append(self, payload: bytes) -> None:
        """Write one frame. The lock is held and ``poll`` has seen all there is. Nothing is written if it raises."""
        if not self._lock.is_stamped_by_us() and self._lost():
            raise self.corrupt("the log has lost its last writes")
        if os.lseek(self.fd, 0, os.SEEK_END) != self.end:
            self._tidy()
        number = self.number + 1
        data = format.frame(number, payload)
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self.fd, data[written:] if written else data, self.end + written)
        except BaseException:
            os.ftruncate(self.fd, self.end)
            raise
        self.end += written
        self.number = number
        self._last = payload
        self._watching = payload == HINT
        self.settled = UNSETTLED if self._watching else self.end
        self._lock.stamp(self.generation, number)

    def _lost(self) -> bool:
        """Whether the mark, in the same start of the machine, knows of later writes than there are."""
        mark = self._lock.mark()
        return mark is not None and mark[:1] == (self.generation,) and mark[1] > self.number and mark[2] == lock.boot()

    def _tidy(self) -> None:
        """Make the log end with a whole frame: what a killed writer left is cut off, or completed from its copy."""
        size = os.lseek(self.fd, 0, os.SEEK_END)
        if size > self.end:
            self.note(f"{size - self.end} bytes at the end of the log were no whole write; cut off")
            os.ftruncate(self.fd, self.end)
        elif size < self.end:
            pair = format.frame(self.number, self._last)
            if size < self.end - len(pair) // 2:
                raise self.corrupt("the log became shorter while it was in use")
            os.pwrite(self.fd, pair[len(pair) // 2 :], self.end - len(pair) // 2)

    def replace(
        self,
        segments: Sequence[str],
        end: int,
        number: int,
        first: Sequence[bytes] = (),
        translate: Callable[[bytes], bytes] | None = None,
        *,
        take: Callable[[list[bytes]], None],
    ) -> None:
        """Put a new log in the place of this one: these segments, the writes in ``first``, and what follows ``end``.

        ``number`` is that of the last write before ``end``; ``translate`` is what a write means over the new segments,
        ``HINT`` for nothing.
        The lock is held for the last moment alone. Raises OSError; IndexCorrupt when the log is not what it was, which
        nobody but who rewrites may do.
        """
        fd = write_new_log(self.folder, self.kind, segments, first, self.generation + 1)
        count = len(first)

        def copy() -> int:
            nonlocal end, number, count
            data = files.read(self.fd, end)
            frames = format.scan(data, number + 1)
            end += frames.end
            number += len(frames.payloads)
            payloads = _writes(frames.payloads)
            if translate:
                payloads = _writes(map(translate, payloads))
            files.write(fd, b"".join(format.frame(count + at, one) for at, one in enumerate(payloads, 1)))
            count += len(payloads)
            return len(data)

        def catch_up() -> None:
            for _ in range(_TRIES):
                if copy() < _SHORT:
                    break
            with self.mutex:
                self.poll(take)

        try:
            catch_up()
            os.fsync(fd)
            catch_up()  # what writers wait for is the last few records alone
            with self.locked():
                if not self.poll(take):
                    raise Damage("its log was changed by somebody else while it was rewritten")
                copy()
                self.append(HINT)
                self._put_in_place()
                self._lock.stamp(self.generation + 1, count)
        except Damage as exc:
            (self.folder / "log.new").unlink(missing_ok=True)
            raise self.corrupt(str(exc)) from None
        except OSError:
            (self.folder / "log.new").unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)
            self.settled = UNSETTLED
        files.sync_folder(self.folder)

    def reset(self, segments: Sequence[str] = (), writes: Sequence[bytes] = ()) -> None:
        """A log of these segments and writes, whatever state the old one is in."""
        with self.locked():
            mark = self._lock.mark()
            generation = max(self.generation, mark[0] if mark else 0) + 1
            with contextlib.suppress(OSError):  # who has the old one open looks at the path when its length changes
                fd = os.open(self.folder / "log", os.O_WRONLY | os.O_APPEND | FLAGS)
                os.write(fd, b"\0")
                os.close(fd)
            self._install(segments, generation, writes)
            self.notes.clear()  # of the log that is gone
            self.forget()

    def place(self) -> tuple[int, int] | None:
        """Which file the log is now; another one after each rewrite. None when there is none."""
        try:
            now = (self.folder / "log").stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        return now.st_dev, now.st_ino

    def crashed(self) -> float | None:
        """When the log was last written, if the machine was started anew since: its end may be missing. Else None."""
        mark = self._lock.mark()
        if mark is None or not mark[2].strip(b"\0") or mark[2] == lock.boot():
            return None
        return (self.folder / "log").stat(follow_symlinks=False).st_mtime

    def confirm(self) -> None:
        """Note that the log is whole as of this start of the machine. The lock is held, and ``poll`` has seen all."""
        self._lock.stamp(self.generation, self.number)

    def _install(self, segments: Sequence[str], generation: int, writes: Sequence[bytes] = ()) -> None:
        fd = write_new_log(self.folder, self.kind, segments, writes, generation)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        self._put_in_place()
        self._lock.stamp(generation, len(writes))
        files.sync_folder(self.folder)

    def _put_in_place(self) -> None:
        try:
            (self.folder / "log.new").replace(self.folder / "log")
        except FileNotFoundError:
            raise self.corrupt("its new log was removed before it was in place") from None

    # --- the rest --------------------------------------------------------------------------------------------------

    def rewriting(self, *, wait: bool) -> contextlib.AbstractContextManager[bool]:
        """Be the one who puts another log in place; False when another one is and ``wait`` is not.

        It may be nested, and ``locked`` within it, not around it.
        """
        return self._rewrites.hold(wait)

    def is_rewriting(self) -> bool:
        """Whether this thread is within ``rewriting``."""
        return self._rewrites.is_mine()

    def sweep(self, gone: Collection[str], keep: Collection[str]) -> None:
        """Remove these segments, and what killed processes left; within ``rewriting``. Who has one mapped keeps it."""
        for path in self.folder.glob("seg-*"):
            with contextlib.suppress(FileNotFoundError):
                left_over = path.stat().st_mtime < time.time() - _LEFT_OVER
                if path.name not in keep and (path.name in gone or left_over):
                    path.unlink()

    def problems(self) -> list[str]:
        """What is wrong with the log as it lies there, both copies of everything."""
        from pushsalt.index.damage import log_problems

        return [*self.notes, *log_problems(self.folder, self._lock, self.generation)]

    def note(self, text: str) -> None:
        if text not in self.notes:
            import logging  # seldom needed, and it costs as much as opening ten indexes

            self.notes.append(text)
            logging.getLogger(__name__).warning("index %s: %s", self.folder.name, text)

    def corrupt(self, text: str) -> IndexCorrupt:
        from pushsalt.errors import IndexCorrupt  # which takes as long to import as all of this package

        hint = f"remove the folder {self.folder} or refresh the cache: it is filled anew from what the targets say"
        return IndexCorrupt(f"the index {self.folder} is damaged: {text}", hint=hint)

    def forget(self) -> None:
        """Have the log read from its beginning: what is in memory may not be what it says."""
        with self.mutex:
            self.settled = UNSETTLED
            self._forgotten = True

    def _use(self, fd: int) -> None:
        """Read on from this log. Its descriptor takes the number of the one before: other threads look there."""
        self.settled = UNSETTLED
        self._forgotten = False
        if self.fd < 0:
            self.fd = fd
        else:
            os.dup2(fd, self.fd, inheritable=False)
            os.close(fd)

    def _close_log(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        self.settled = UNSETTLED
        self._forked = False

    def close(self) -> None:
        with self.mutex:
            self._close_log()
            self._lock.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # half made, or the interpreter ends
            self.close()

    def forked(self) -> None:
        """In a child, where the log is opened anew, as the lock is."""
        self.mutex = threading.RLock()
        self._depth = 0
        self._rewrites.forked()
        self._lock.forked()
        self._forked = self.fd >= 0
        self.settled = UNSETTLED


def _writes(payloads: Iterable[bytes]) -> list[bytes]:
    """Those that say something which is said nowhere else."""
    return [one for one in payloads if one != HINT and not one.startswith(CHECKPOINT)]


def _after_fork() -> None:
    for journal in list(_alive):
        journal.forked()


os.register_at_fork(after_in_child=_after_fork)
