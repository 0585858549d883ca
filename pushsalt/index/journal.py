"""The log of an index: its lock, its writes, and the names of the segments. Layout: ``format``.

Readers take no lock. The log only grows, so its length shows whether there are new writes: one ``lseek`` per read. A
rewrite (``replace``) replaces the log by rename; before that, an empty frame is appended to the old log, so that
processes which have it open check the path.
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

#: value of ``settled`` if the next read must check the log
UNSETTLED: Final = -1
_TRIES: Final = 50
#: bytes of the log that may be copied while writers wait
_SHORT: Final = 4096
#: seconds after which a segment that the log does not name is abandoned (new segments are named after they are written)
_LEFT_OVER: Final = 3600

_alive: weakref.WeakSet[Journal] = weakref.WeakSet()


class Journal:
    """One process's view of the log. Readers check ``fd`` and ``settled``: there are no new writes while
    ``os.lseek(journal.fd, 0, os.SEEK_END) == journal.settled``."""

    def __init__(self, folder: str, kind: str) -> None:
        self._folder = folder
        self.kind = kind
        self.mutex = threading.RLock()
        self.fd = -1
        self.settled = UNSETTLED
        #: offsets of the first write and of the next one
        self.start = 0
        self.end = 0
        self.number = 0
        self.generation = 0
        self.segments: list[str] = []
        #: damage that this process has found and repaired, for ``verify``
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
        # Made on demand: readers do not need it, and a process's first Path costs a tenth of opening an index.
        return Path(self._folder)

    def file(self, name: str) -> str:
        """The path of a file of the index."""
        return f"{self._folder}/{name}"

    # --- reading ---------------------------------------------------------------------------------------------------

    def load(self, begin: Callable[[list[str]], None], take: Callable[[list[bytes]], None]) -> None:
        """Read the present log: calls ``begin`` with the segments' names, then ``take`` with the writes.

        The writes are the last checkpoint, if there is one, and those after it. Both functions may raise Damage; they
        may raise FileNotFoundError for a segment that a rewrite has removed meanwhile. Raises IndexCorrupt, OSError.
        """
        for attempt in range(_TRIES):
            fd = self._open()
            try:
                data = files.read(fd, 0)
                log = data[len(MAGIC) :]
                first = self._scan(log, 0, most=1)
                meta = format.split(format.decode(first.payloads[0])) if first.payloads else []
                if len(meta) < 2 or meta[0] != self.kind or not meta[1].isdigit():
                    raise Damage("its log has no valid header")
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
                continue  # again: a writer may have removed an incomplete write while this process was reading
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
        """Call ``take`` with the writes that this process has not read yet; False if ``load`` must be called, because
        the log was replaced or cannot be read further.

        ``settled`` is the end of what was taken. Raises IndexCorrupt, OSError, and FileNotFoundError if ``take`` does.
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
        # An incomplete frame may be a write in progress, the hint of a rewrite, or damage.
        return not ((self._watching or size != self.end) and (self._replaced() or self._lost()))

    def look(self) -> None:
        """Load the log again if its file was removed, since later writes are not in it."""
        if self.fd >= 0 and not os.fstat(self.fd).st_nlink:
            self.forget()

    def _accept(self, frames: format.Scan, begin: int, size: int) -> None:
        """Continue after these frames, whose offsets are relative to ``begin``; the log has ``size`` bytes."""
        self.end = begin + frames.end
        self.number += len(frames.payloads)
        if frames.payloads:
            self._last = frames.payloads[-1]
            self._watching = self._last == HINT
        self.settled = self.end if size == self.end and not self._watching else UNSETTLED

    def _compare(self, fd: int, generation: int, number: int) -> None:
        """Raises Damage if the log lacks a write of the present boot of the machine.

        After a crash of the machine the log may have lost its end: that is logged, and the rest is used.
        """
        mark = self._lock.mark()
        if mark is None or mark[0] != generation or mark[1] <= number:
            return
        # A write is in the log before the mark is updated, so it must be there, also with writers at work.
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
            if not text.endswith("no complete write"):  # a write in progress looks the same
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
        """Take the writers' lock, until ``release``. Excludes other processes and other threads."""
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
        """Write one frame. The caller holds the lock and has called ``poll``. If it raises, nothing is written."""
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
        """Whether the mark has a later number than the log, and was written since the machine was booted."""
        mark = self._lock.mark()
        return mark is not None and mark[:1] == (self.generation,) and mark[1] > self.number and mark[2] == lock.boot()

    def _tidy(self) -> None:
        """Make the log end with a complete frame: an incomplete one is removed, or completed from its first copy."""
        size = os.lseek(self.fd, 0, os.SEEK_END)
        if size > self.end:
            self.note(f"{size - self.end} bytes at the end of the log were no complete write; cut off")
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
        """Replace the log by a new one: these segments, the writes in ``first``, and the writes after ``end``.

        ``number`` is that of the last write before ``end``; ``translate`` returns the write to put in place of one,
        given the new segments, ``HINT`` for none. The lock is only held at the end. Raises OSError; IndexCorrupt if
        another process has replaced the log.
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
            catch_up()  # so that writers wait only for the last few writes
            with self.locked():
                if not self.poll(take):
                    raise Damage("its log was changed by another process while it was rewritten")
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
        """Replace the log by one with these segments and writes, also if the old one is damaged."""
        with self.locked():
            mark = self._lock.mark()
            generation = max(self.generation, mark[0] if mark else 0) + 1
            with contextlib.suppress(OSError):  # readers check the path when the length of the old log changes
                fd = os.open(self.folder / "log", os.O_WRONLY | os.O_APPEND | FLAGS)
                os.write(fd, b"\0")
                os.close(fd)
            self._install(segments, generation, writes)
            self.notes.clear()  # they are about the old log
            self.forget()

    def place(self) -> tuple[int, int] | None:
        """Identity (device, inode) of the log file, which changes with each rewrite. None if there is none."""
        try:
            now = (self.folder / "log").stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        return now.st_dev, now.st_ino

    def crashed(self) -> float | None:
        """Time of the last write, if the machine was rebooted since: the end of the log may be lost. Else None."""
        mark = self._lock.mark()
        if mark is None or not mark[2].strip(b"\0") or mark[2] == lock.boot():
            return None
        return (self.folder / "log").stat(follow_symlinks=False).st_mtime

    def confirm(self) -> None:
        """Record that the log is complete for this boot of the machine.

        The caller has the lock and has called ``poll``.
        """
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
        """Take the lock for replacing the log; False if another process has it and ``wait`` is false.

        It may be nested. ``locked`` may be used within it, not around it.
        """
        return self._rewrites.hold(wait)

    def is_rewriting(self) -> bool:
        """Whether this thread is within ``rewriting``."""
        return self._rewrites.is_mine()

    def sweep(self, gone: Collection[str], keep: Collection[str]) -> None:
        """Remove these segments, and files that killed processes left; called within ``rewriting``.

        Readers can still use segments that they have mapped.
        """
        for path in self.folder.glob("seg-*"):
            with contextlib.suppress(FileNotFoundError):
                left_over = path.stat().st_mtime < time.time() - _LEFT_OVER
                if path.name not in keep and (path.name in gone or left_over):
                    path.unlink()

    def problems(self) -> list[str]:
        """Damage of the log on disk, both copies of each frame included."""
        from pushsalt.index.damage import log_problems

        return [*self.notes, *log_problems(self.folder, self._lock, self.generation)]

    def note(self, text: str) -> None:
        if text not in self.notes:
            import logging  # rarely needed, and its import takes as long as opening ten indexes

            self.notes.append(text)
            logging.getLogger(__name__).warning("index %s: %s", self.folder.name, text)

    def corrupt(self, text: str) -> IndexCorrupt:
        from pushsalt.errors import IndexCorrupt  # its import takes as long as that of this package

        hint = f"remove the folder {self.folder} or refresh the cache: it is filled again from what targets report"
        return IndexCorrupt(f"the index {self.folder} is damaged: {text}", hint=hint)

    def forget(self) -> None:
        """Read the log from its beginning next time: the state in memory may be wrong."""
        with self.mutex:
            self.settled = UNSETTLED
            self._forgotten = True

    def _use(self, fd: int) -> None:
        """Use this log from now on. It gets the descriptor number of the old one, which other threads use."""
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
        with contextlib.suppress(Exception):  # the object may be incomplete, or the interpreter exiting
            self.close()

    def forked(self) -> None:
        """Called in a child after fork: log and lock are opened again."""
        self.mutex = threading.RLock()
        self._depth = 0
        self._rewrites.forked()
        self._lock.forked()
        self._forked = self.fd >= 0
        self.settled = UNSETTLED


def _writes(payloads: Iterable[bytes]) -> list[bytes]:
    """The payloads without hints and checkpoints."""
    return [one for one in payloads if one != HINT and not one.startswith(CHECKPOINT)]


def _after_fork() -> None:
    for journal in list(_alive):
        journal.forked()


os.register_at_fork(after_in_child=_after_fork)
