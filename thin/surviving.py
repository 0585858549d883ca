"""A run that outlives its connection: the supervisor continues without the controller, and a later session takes over.

The process that the login started forks at once. The *front* (thin.front) stays with the login and only waits. The
supervisor has a session of its own (setsid), so that it is not affected by the end of the login, of sudo or of a
terminal. After the worker has received the plan (its frame b"R" ``begin``), the supervisor does this:

==========================================  ================================================================
event                                       what the supervisor does
==========================================  ================================================================
the channel ends, SIGHUP                    continues: stores the worker's frames (thin.kept), ends the front
another session requests this job           takes over its channel, and sends frames from the requested number
                                            on; to another process of the controller from the first frame on,
                                            and the worker's questions are no longer answered
frame b"X"                                  stops the worker and stores nothing: the controller dropped the run
frame b"T" (the return is stored)           when the job's folder is removed, notes that this has run (thin.handouts)
frame b"L" (the controller will leave)      reports the number of received bytes at once; after the end of the
                                            channel the worker's questions are no longer answered
the run ends, with a channel                waits for ``bye`` as usual; the job's folder is removed
the run ends, without a channel             completes the job's folder, ends
no session came in time to answer           the worker ends at its next question, or at its end
SIGTERM, SIGINT                             the worker completes the current state; further states are not run
the deadline, or MOST seconds after the     stops the worker, completes the job's folder
loss of the channel
==========================================  ================================================================

Received bytes are counted; frames sent after ``begin`` are numbered. A b"R" frame up (key=value lines) contains
``state`` (running, ended, gone: it was killed, unknown), ``got``: the number of received bytes, and if frames are left
out ``at``: the number of the next one. The other side requests the next frame with ``resume``, and sends its bytes
from ``got`` on again; see pushsalt.session.survival.
"""

import _signal as signal
import _socket
import os
import select
import struct
from time import monotonic

from thin import handouts, kept, relay

#: Seconds to wait for a lost controller in addition to the time for which it tries to reconnect: it may notice the loss
#: later.
MARGIN = 30
#: Seconds that a run without a time limit may take after its connection was lost.
MOST = 24 * 3600
#: Seconds to wait for the end of our input, after nothing can be sent any more.
REST = 5.0
#: Seconds for the current state to end after SIGTERM.
TERM_GRACE = 20.0
#: Seconds in which no frames of the worker are read after some were, so that those of quick states are sent together;
#: and the number of reads without such a pause after one in which not more than one frame has come.
PAUSE, WITHOUT = 0.004, 16
#: Number of received bytes after which their count is reported again.
REPORT = 1024 * 1024
#: In place of the number of a frame: all frames are requested, by a process that cannot answer the worker's questions.
COLLECT = 2**64 - 1

_HEAD = 5
#: The payload of a frame ``start`` up to the key ``tag``, and that of ``state`` after its first byte.
_START, _STATE = b"\x82\xa1k\xa5start", b"\xa1k\xa5state"


class Surviving(relay.Relay):
    """The supervisor of a run that may outlive its channel."""

    def __init__(self, channel, sock, err, pid, state):
        super(Surviving, self).__init__(channel, sock, err, pid, state)
        self.state = state
        self.front = state["front"]
        self.patience = float(state.get("reconnect") or 0) + MARGIN
        self.spool = None
        self.listener = None
        self.frame = bytearray()  # the received part of the worker's current frame
        self.idle = False  # the run has ended
        self.has_moved = False  # another session has taken over the run
        self.away = False  # the controller reported that it will not answer
        self.dropped = False  # the controller dropped the run
        self.lost_at = self.end_at = None
        self.hanging = False
        self.paused_until, self.has_paused, self.without_pause, self.frames = None, False, 0, 0
        self.got = self.reported = 0
        self.head, self.skip = bytearray(), 0  # of the frame that is being received from the controller
        self.head_kind = b""
        self.stored = None  # the note that was received with a frame b"T"
        self._count(state["pending"])

    def run(self):
        status = super(Surviving, self).run()
        if not (self.state.get("several") and self.may_stay()):
            self._release_front(status)
        return status

    def may_stay(self):
        """Whether the session ended normally, and no other session has taken its run over."""
        return self.is_sound() and not self.has_moved

    def release(self):
        if self.spool is not None:
            self.spool.close()
            self.listener.close()
        return super(Surviving, self).release()

    # --- down

    def _received(self, data):
        self._count(data)
        super(Surviving, self)._received(data)
        if self.spool is not None and not self.lost and (self.away or self.got - self.reported > REPORT):
            self._report()

    def _count(self, data):
        """Count received bytes, and process frames for the supervisor; the worker ignores these."""
        self.got += len(data)
        at = 0
        while at < len(data):
            if self.skip:
                step = min(self.skip, len(data) - at)
                if self.head_kind == b"T":
                    self.stored += data[at : at + step]
                self.skip -= step
                at += step
                continue
            step = _HEAD - len(self.head)
            self.head += data[at : at + step]
            at += step
            if len(self.head) == _HEAD:
                kind, self.skip = bytes(self.head[:1]), int.from_bytes(self.head[1:], "big")
                self.head, self.head_kind = bytearray(), kind
                if kind == b"T":
                    self.stored = bytearray()
                elif kind == b"X":
                    self.dropped = True
                    self._stop(None, None)
                elif kind == b"L":
                    self.away = True

    def _report(self):
        self.reported = self.got
        self.to_peer += self.channel.frame(b"R", [("state", "running"), ("got", self.got)])

    # --- up

    def _from_worker(self):
        """As before; then pause, if more than one frame came in the last pause."""
        self.frames = 0
        if not super(Surviving, self)._from_worker():
            return False
        if self.has_paused and self.frames < 2:
            self.without_pause = WITHOUT
        self.has_paused = False
        if self.without_pause:
            self.without_pause -= 1
        elif self.spool is not None and not (self.idle or self.left or self.incoming):
            self.paused_until = monotonic() + PAUSE
        return True

    def _cut(self):
        data = self.incoming
        while data:
            if not self.left:
                if len(data) < _HEAD:
                    return
                size = _HEAD + int.from_bytes(data[1:_HEAD], "big")
                if size - _HEAD > relay.FRAME_LIMIT:
                    self._stop("protocol_error", "the worker sent a frame of %d bytes" % (size - _HEAD))
                    data.clear()
                    return
                if len(data) < size < relay.WHOLE:
                    return
                if data[:1] == b"R":
                    payload = bytes(data[_HEAD:size])
                    del data[:size]
                    self._control(payload)
                    continue
                if self.spool is not None and _has_returned(data, size):
                    self.frames += 1
                    del data[:size]
                    continue
                self.left = size
                self._up(self.channel.nonce)
            piece = data[: min(self.left, len(data))]
            self._up(piece)
            if self.spool is not None:
                self.frame += piece
            del data[: len(piece)]
            self.left -= len(piece)
            if not self.left and self.spool is not None:
                self.frames += 1
                self.spool.add(bytes(self.frame))
                self.frame = bytearray()

    def _up(self, data):
        if not self.lost:
            self.to_peer += data

    def _control(self, payload):
        if payload == b"end":
            self.idle = True
            if self.lost:
                self._hang_up()
        elif self.spool is None:
            try:
                self.spool = kept.Spool(self.state["dir_fd"], kept.name(self.state))
                self.listener = _listen(self.spool.fd)
                self._report()
            except (OSError, ValueError) as exc:
                self.spool = None
                where = "%s/%s" % (self.state["path"], kept.JOBS)
                text = "this run would not survive the loss of its connection: %s: %s" % (where, words(exc))
                self._up(self.channel.frame(b"N", [("kind", "warning"), ("message", text)]))

    # --- loss and take-over of the channel

    def _lose(self):
        if self.spool is None or self.why is not None or self.spool.full:
            super(Surviving, self)._lose()
            return
        self._read_rest()
        if self.why is not None:  # the rest contained a request to stop
            super(Surviving, self)._lose()
            return
        self.lost, self.lost_at = True, monotonic()
        del self.to_peer[:]
        self._let_go()
        self.spool.write()
        if self.idle or self.away or self.end_at is not None:
            self._hang_up()

    def _read_rest(self):
        """Read to the end of the channel, for a limited time: its last frame may be a request to stop, and sshd closes
        the pipe for our output before it has written the last of our input."""
        end, poll = monotonic() + REST, select.poll()
        poll.register(self.channel.down, select.POLLIN)
        while monotonic() < end:
            try:
                data = os.read(self.channel.down, 65536)
            except BlockingIOError:
                if not poll.poll(max(0, int((end - monotonic()) * 1000))):
                    return
                continue
            except OSError:
                return
            if not data:
                return
            self._received(data)

    def _let_go(self):
        """Close the channel, so that its login can end."""
        for fd in (self.channel.up, self.channel.down):
            self._forget(fd)
            os.close(fd)
        null = os.open(os.devnull, os.O_RDWR)  # path: /dev/null
        os.dup2(null, 2)
        os.close(null)
        self._release_front(0)

    def _release_front(self, status):
        if self.front is not None:
            try:
                os.write(self.front, bytes([status & 0xFF]))
            except OSError:
                pass
            os.close(self.front)
            self.front = None

    def _taken_over(self):
        """Accept the channel of another session of the same controller for this run."""
        accepted = _accept(self.listener)
        if accepted is None:
            return
        self.has_moved = True
        nonce, number, (up, down, front) = accepted
        if number == COLLECT:  # another process, which does not know the worker's open questions
            number = 0
            self._hang_up()
        if not self.lost:
            self._let_go()
        else:
            self._release_front(0)
        self.channel.nonce, self.channel.up, self.channel.down, self.front = nonce, up, down, front
        for fd in (up, down):
            os.set_blocking(fd, False)
        self.lost, self.lost_at, self.away = False, None, False
        self.to_peer = bytearray()
        self._report()
        for frame in self.spool.since(number):
            self.to_peer += nonce + frame
        if self.left:
            self.to_peer += nonce + self.frame

    def _hang_up(self):
        """Make the worker end at its next question, or at its end, since nobody answers any more."""
        self.hanging = True
        if self.sock is not None and not self.to_worker:
            try:
                self.sock.shutdown(_socket.SHUT_WR)
            except OSError:
                pass

    def _to_worker(self):
        super(Surviving, self)._to_worker()
        if self.hanging:
            self._hang_up()

    # --- time and signals

    def _masks(self):
        masks = super(Surviving, self)._masks()
        if self.paused_until is not None and self.sock is not None:
            masks[self.sock.fileno()] &= ~relay._IN
        if self.listener is not None:
            masks[self.listener.fileno()] = relay._IN
        return masks

    def _handle(self, fd, event):
        if fd not in self.masks:  # it was closed after the poll
            return
        if self.listener is not None and fd == self.listener.fileno():
            self._taken_over()
        else:
            super(Surviving, self)._handle(fd, event)

    def _times(self):
        times = super(Surviving, self)._times() + [self.end_at, self.paused_until]
        if self.lost_at is not None:
            times.append(self.lost_at + MOST)
            if not self.hanging:
                times.append(self.lost_at + self.patience)
        return times

    def _clock(self):
        super(Surviving, self)._clock()
        now = monotonic()
        if self.end_at is not None and now >= self.end_at:
            self.end_at = None
            self._stop("worker_died", "stopped by signal %d" % signal.SIGTERM)
        if self.paused_until is not None and now >= self.paused_until:
            self.paused_until, self.has_paused = None, True
        if self.lost_at is not None and self.why is None:
            if self.spool.full:
                self._stop("excess", "more than %d MiB would have to be stored" % (kept.LIMIT // 1024 // 1024))
            elif now >= self.lost_at + MOST:
                self._stop("timeout", "stopped %d hours after the connection was lost" % (MOST // 3600))
            elif not self.hanging and now >= self.lost_at + self.patience:
                self._hang_up()

    def _signalled(self, number):
        if self.spool is None:
            super(Surviving, self)._signalled(number)
        elif number != signal.SIGHUP and self.end_at is None and self.why is None:
            self.end_at = monotonic() + TERM_GRACE
            try:
                os.kill(self.pid, signal.SIGTERM)  # only the worker: its current state and the programs of it can end
            except OSError:
                pass
            if self.lost:
                self._hang_up()

    def _kill(self, number):
        """Send a signal to the worker's group; kill the worker in place of SIGTERM, for which it has a handler."""
        if self.spool is not None and number == signal.SIGTERM and self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except OSError:
                pass
        super(Surviving, self)._kill(number)

    # --- the end

    def _last(self):
        last = super(Surviving, self)._last()
        if last is None and self.hanging and not self.idle:
            text = "the run needed an answer of the controller, which did not come back"
            last = [("kind", "connection_lost"), ("message", text)]
        return last

    def _end(self):
        if self.spool is None:
            return super(Surviving, self)._end()
        if self.hanging and not self.idle:
            self._kill(signal.SIGKILL)  # parallel states, whose questions go through the worker
        status = 0
        if self.lost:
            while self.sock is not None and self._from_worker():
                pass
        status = super(Surviving, self)._end()
        last = self._last()
        if self.dropped or (last is None and not self.lost and not self.hanging):
            self._remove()
            return status
        # a worker that hangs ended without ``bye``: nobody has said yet that the return is stored elsewhere
        self.spool.finish(self.channel.frame(b"E", last)[len(self.channel.nonce) :] if last is not None else None)
        if not self.lost and self._is_heard():
            self._remove()
        return status

    def _is_heard(self):
        heard, stored = handouts.heard(self.channel.down)
        self.stored = self.stored or stored
        return heard

    def _remove(self):
        """Remove the data of the run. The note comes first: there is no moment without any of them."""
        if self.stored:
            handouts.note(self.state, self.stored)
        self.spool.remove()


def _has_returned(data, size):
    """Whether the first frame says that a state begins, and the next one is the return of that state."""
    first = _HEAD + len(_START)
    if data[_HEAD:first] != _START or data[:1] != b"M":
        return False
    return data.startswith(_STATE + data[first:size], size + _HEAD + 1)


def words(exc):
    """The text of an exception."""
    return getattr(exc, "strerror", None) or str(exc)


def _listen(folder):
    """A listening socket in the job's folder. The folder's path may be too long for a socket: this process changes to
    it for a moment."""
    try:
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        here = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fchdir(folder)
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        sock.bind(kept.SOCKET)
        sock.listen(1)
        sock.setblocking(False)
        return sock
    finally:
        os.fchdir(here)  # of later workers
        os.close(here)


def _accept(listener):
    """``(nonce, number of the requested frame, descriptors)`` of a session, or None if it does not send them."""
    try:
        fd = listener._accept()[0]
    except OSError:
        return None
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fd)
    try:
        sock.settimeout(2)
        payload, others = sock.recvmsg(64, _socket.CMSG_SPACE(12))[:2]
        data = others[0][2] if others else b""
        fds = struct.unpack("3i", data) if len(data) == 12 else ()
        for fd in fds:
            os.set_inheritable(fd, False)
        if len(fds) != 3 or len(payload) != 24:
            raise OSError("no session")
        sock.send(b"+")
        return payload[:16], int.from_bytes(payload[16:], "big"), fds
    except OSError:
        return None
    finally:
        sock.close()
