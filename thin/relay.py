"""The supervisor's loop: passes frames in both directions between channel and worker, until one of them ends.

It adds the nonce to frames that go up, and decodes nothing. It does not read from one side while the buffer for the
other is full, so neither side can make it grow or block it.

========================================  ==================================================================
what happens                              what it does
========================================  ==================================================================
the worker returns from ``main``          sends the remaining data, exits 0
the worker ends by a limit (memory ..)    kills its process group, sends an E frame ``limit_reached``
the worker dies in any other way          the same, then an E frame ``worker_died``
the channel ends, SIGHUP, SIGTERM         stops the worker's process group: TERM, then KILL; exits
the deadline passes                       the same, then an E frame ``timeout``
a frame is over the limit                 the same, then an E frame ``protocol_error``
the supervisor itself is killed           the kernel kills the worker's process group (see ``thin.__main__``)
========================================  ==================================================================

Processes with a separate session (setsid), as daemons that a state started, are not in the group and continue.
"""

import _signal as signal
import os
import select
from time import monotonic

FRAME_LIMIT = 64 * 1024 * 1024
#: Bytes in the buffer of one direction from which on its source is not read.
BUFFER = 1024 * 1024
#: A frame up to this size is sent whole or not at all.
WHOLE = 256 * 1024
STDERR_LIMIT = 64 * 1024
#: Seconds between TERM and KILL; for a worker that closed its socket to end; without progress when sending the rest.
GRACE, LINGER, STUCK = 2.0, 10.0, 30.0
#: Exit status of the worker after ``worker.main`` has returned, and after a limit has stopped it, which its last line
#: on stderr describes; any other status means that it died.
DONE, LIMITED = 90, 91
#: Exit status if the worker died while a frame was sent in part, so that no E frame can follow.
CUT = 77

_HEAD = 5
_IN, _OUT = select.POLLIN, select.POLLOUT
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Relay(object):
    """``run`` relays until the end and returns the exit status."""

    def __init__(self, channel, sock, err, pid, state):
        self.channel, self.sock, self.err, self.pid = channel, sock, err, pid
        self.to_worker = bytearray(state["pending"])
        self.to_peer = bytearray()
        self.deadline = monotonic() + state["deadline"] if state["deadline"] is not None else None
        self.budget = state["deadline"]
        self.poll = select.poll()
        self.masks = {}
        self.incoming = bytearray()
        self.left = 0  # bytes of a big frame that still have to be passed on
        self.stderr = bytearray()
        self.stderr_lost = 0
        self.status = None  # of the worker, once it was waited for
        self.kill_at = None
        self.why = None  # (kind, message) of the E frame at the end
        self.lost = False  # the channel has ended: nothing more can be sent
        self.wake, self.woken = os.pipe()
        self.handlers = self._signals()

    # --- the loop

    def run(self):
        for fd in (self.channel.up, self.channel.down, self.sock.fileno(), self.err):
            os.set_blocking(fd, False)
        self._reap()
        while self.status is None:
            self._watch()
            for fd, event in self.poll.poll(self._timeout()):
                self._handle(fd, event)
            self._clock()
        return self._end()

    def _masks(self):
        """The events to poll for: reading only if the buffer has room.

        Without a mask, a descriptor still reports that its other end was closed.
        """
        masks = {self.wake: _IN}
        if not self.lost:
            masks[self.channel.down] = _IN if len(self.to_worker) < BUFFER else 0
            masks[self.channel.up] = _OUT if self.to_peer else 0
        if self.sock is not None:
            room = len(self.to_peer) + len(self.incoming) < BUFFER
            masks[self.sock.fileno()] = (_IN if room else 0) | (_OUT if self.to_worker else 0)
        if self.err is not None:
            masks[self.err] = _IN
        return masks

    def _watch(self):
        masks = self._masks()
        if masks != self.masks:
            for fd in set(self.masks) - set(masks):
                self.poll.unregister(fd)
            for fd, mask in masks.items():
                self.poll.register(fd, mask)
            self.masks = masks

    def _forget(self, fd):
        if self.masks.pop(fd, None) is not None:
            self.poll.unregister(fd)

    def _times(self):
        """The times at which ``_clock`` has to act."""
        return [self.deadline, self.kill_at]

    def _timeout(self):
        ends = [end for end in self._times() if end is not None]
        return max(0, int((min(ends) - monotonic()) * 1000) + 1) if ends else None

    def _clock(self):
        now = monotonic()
        if self.deadline is not None and now >= self.deadline:
            self._stop("timeout", "stopped after %g seconds" % self.budget)
        if self.kill_at is not None and now >= self.kill_at:
            self.kill_at = None
            self._kill(signal.SIGKILL)

    def _handle(self, fd, event):
        if fd == self.wake:
            self._woken()
        elif fd == self.err:
            self._from_stderr()
        elif fd == self.channel.down:
            if event & _IN:
                self._from_peer()
            elif event & _GONE:
                self._lose()
        elif fd == self.channel.up:
            if event & _GONE:
                self._lose()
            else:
                self._flush()
        elif self.sock is not None and fd == self.sock.fileno():
            if event & (_IN | _GONE):
                self._from_worker()
            if self.sock is not None and event & _OUT:
                self._to_worker()

    # --- bytes

    def _from_peer(self):
        try:
            data = os.read(self.channel.down, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._received(data)
        else:
            self._lose()

    def _received(self, data):
        self.to_worker += data

    def _to_worker(self):
        try:
            del self.to_worker[: self.sock.send(self.to_worker[:65536])]
        except BlockingIOError:
            pass
        except OSError:
            self._close_sock()

    def _from_worker(self):
        """Read once; False at the end, or if there is no data."""
        try:
            data = self.sock.recv(65536)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._close_sock()
            return False
        self.incoming += data
        self._cut()
        return True

    def _cut(self):
        """Move complete frames, and pieces of big ones, from ``incoming`` to ``to_peer``."""
        data = self.incoming
        while data:
            if self.left:
                piece = min(self.left, len(data))
            elif len(data) < _HEAD:
                return
            else:
                self.left = _HEAD + int.from_bytes(data[1:_HEAD], "big")
                if self.left - _HEAD > FRAME_LIMIT:
                    self._stop("protocol_error", "the worker sent a frame of %d bytes" % (self.left - _HEAD))
                    self.left = 0
                    data.clear()
                    return
                if len(data) < self.left < WHOLE:
                    self.left = 0
                    return
                piece = min(self.left, len(data))
                self.to_peer += self.channel.nonce
            self.to_peer += data[:piece]
            del data[:piece]
            self.left -= piece

    def _close_sock(self):
        if self.sock is not None:
            self._forget(self.sock.fileno())
            self.sock.close()
            self.sock = None
            del self.to_worker[:]
            if self.kill_at is None:
                self.kill_at = monotonic() + LINGER  # it cannot answer any more

    def _flush(self):
        try:
            del self.to_peer[: os.write(self.channel.up, self.to_peer[:65536])]
        except BlockingIOError:
            pass
        except OSError:
            self._lose()

    def _from_stderr(self):
        try:
            data = os.read(self.err, 65536)
        except BlockingIOError:
            return False
        if not data:
            self._forget(self.err)
            os.close(self.err)
            self.err = None
            return False
        self.stderr += data
        over = len(self.stderr) - STDERR_LIMIT
        if over > 0:
            del self.stderr[:over]
            self.stderr_lost += over
        return True

    # --- processes

    def _signals(self):
        """Make signals wake the loop; returns the former handlers by number."""
        os.set_blocking(self.wake, False)
        os.set_blocking(self.woken, False)
        signal.set_wakeup_fd(self.woken)
        numbers = (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        return {number: signal.signal(number, lambda number, frame: None) for number in numbers}

    def _woken(self):
        try:
            numbers = os.read(self.wake, 512)
        except BlockingIOError:
            return
        for number in numbers:
            if number != signal.SIGCHLD:
                self._signalled(number)
        self._reap()

    def _signalled(self, number):
        self._stop("worker_died", "stopped by signal %d" % number)

    def _reap(self):
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid:
            self.status = status

    def _lose(self):
        self.lost = True
        del self.to_peer[:]
        self._stop(None, None)

    def _stop(self, kind, message):
        if self.why is None:
            self.why = (kind, message)
            self.deadline = None
            self.kill_at = monotonic() + GRACE
            self._kill(signal.SIGTERM)

    def _kill(self, number):
        try:
            os.killpg(self.pid, number)
        except OSError:
            # All of them have ended, or the child has not made its group yet.
            if self.status is None:
                os.kill(self.pid, number)

    def _end(self):
        """The worker has ended: send its remaining output, and the reason."""
        done = self._done()
        if self.why is not None or not done:
            self._kill(signal.SIGKILL)
            from thin.utils.files import osutil

            osutil.sweep(self.pid)
        while self.err is not None and self._from_stderr():
            pass
        while not self.lost and self.sock is not None and (self._from_worker() or self.to_peer):
            self._drain()
        if self.left and not self.lost:
            self._drain()
            return CUT
        fields = self._last()
        if fields is not None:
            self.to_peer += self.channel.frame(b"E", fields)
        elif self.stderr:
            text = self._captured()
            self.to_peer += self.channel.nonce + b"S" + len(text).to_bytes(4, "big") + text
        self._drain()
        return 0

    def _done(self):
        """Whether the worker ended normally."""
        return os.WIFEXITED(self.status) and os.WEXITSTATUS(self.status) == DONE

    def _last(self):
        """The fields of the E frame with the reason why the worker ended; None if it ended normally."""
        if self.why is not None and self.why[0] is not None:
            kind, message = self.why
        elif os.WIFEXITED(self.status) and os.WEXITSTATUS(self.status) == LIMITED:
            text = self._captured().decode("utf-8", "replace").rpartition("\n")[2]
            return [("kind", "limit_reached"), ("message", text)]
        elif self._done():
            return None
        else:
            kind, message = "worker_died", _died(self.status)
        stderr = self._captured()[-8192:].decode("utf-8", "replace")
        return [("kind", kind), ("message", message), ("stderr", stderr)]

    def is_sound(self):
        """Whether the session ended normally, with nothing left on the channel."""
        return self._done() and self.why is None and not self.lost and not self.left

    def may_stay(self):
        """Whether this process may call ``release`` after the session."""
        return True

    def release(self):
        """Restore signal handlers and the channel, close the rest. Returns whether the session ended normally."""
        signal.set_wakeup_fd(-1)
        for number, handler in self.handlers.items():
            signal.signal(number, handler or signal.SIG_DFL)
        if self.sock is not None:
            self.sock.close()
        for fd in (self.wake, self.woken, self.err):
            if fd is not None:
                os.close(fd)
        for fd in (self.channel.up, self.channel.down):
            os.set_blocking(fd, True)
        return self.is_sound()

    def _captured(self):
        mark = b"(%d bytes before this are left out)\n" % self.stderr_lost if self.stderr_lost else b""
        return mark + bytes(self.stderr)

    def _drain(self):
        """Send everything in ``to_peer``; give up if the peer accepts no data for some time."""
        poll = select.poll()
        poll.register(self.channel.up, _OUT)
        while self.to_peer and not self.lost:
            if not poll.poll(int(STUCK * 1000)):
                self.lost = True
            else:
                self._flush()


def _died(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        names = [name for name in dir(signal) if name.startswith("SIG") and getattr(signal, name) == number]
        why = {
            "SIGXCPU": ": the limit on processor time (ulimit -t)",
            "SIGXFSZ": ": the limit on the size of files (ulimit -f)",
            "SIGKILL": ": by the system, when there is no more memory, or by somebody",
        }
        more = " (%s)%s" % (names[0], why.get(names[0], "")) if names else ""
        return "killed by signal %d%s" % (number, more)
    return "it exited with status %d" % os.WEXITSTATUS(status)
