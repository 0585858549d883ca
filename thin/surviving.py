"""A run that outlives its connection: the supervisor of a plan goes on without the controller, and is taken up again.

The process that the login started is divided at once: its *front* (thin.front) stays with the login and only waits, the
supervisor has a session of its own (setsid), so that the end of the login, of sudo or of a terminal does not reach it.
From the moment the worker has the plan (its frame b"R" ``begin``) these hold:

==========================================  ================================================================
what happens                                what the supervisor does
==========================================  ================================================================
the channel ends, SIGHUP                    goes on: keeps the worker's frames (thin.kept), lets the front go
another session asks for this job           takes its channel over, goes on at the frame that it is asked for; of
                                            another process: from the first on, and nobody answers any more
a frame b"X" comes                          stops the worker, keeps nothing: the controller wants no more of it
a frame b"L" comes                          the controller leaves: it is told of all that comes from now on, and
                                            nobody will answer after the channel's end
the run ends, with a channel                waits for ``bye``, as always; the folder goes
the run ends, without one                   finishes the folder, ends
nobody came in time for an answer           the worker ends at its next question, or at its end
SIGTERM, SIGINT                             the worker ends the state under way; what is left is not run
the deadline passes, MOST after the loss    stops the worker, finishes the folder
==========================================  ================================================================

Bytes that come down are counted, frames that go up numbered from ``begin`` on. A b"R" frame up (key=value lines) says:
``state`` (running, ended, gone: it was killed, unknown), ``got``: bytes that have come, and where frames are left out,
``at``: the number of the next one. The other side says with ``resume`` which frame it wants next, and sends the bytes
from ``got`` on again; see pushsalt.session.survival.
"""

import _signal as signal
import _socket
import os
import select
import struct
from time import monotonic, sleep

from thin import front, kept, relay

#: Seconds that a gone controller is waited for longer than it tries: it may see the loss later.
MARGIN = 30
#: Seconds that a run without a time limit may take after its connection was lost.
MOST = 24 * 3600
#: Seconds for the state under way to end after SIGTERM, and for the other side to show that it has read the end.
TERM_GRACE, HEARD = 20.0, 5.0
#: Bytes that come down between two reports of how many have come.
REPORT = 1024 * 1024
#: In place of the number of a frame: all of them, and nobody answers any more.
COLLECT = 2**64 - 1

_HEAD = 5


class Surviving(relay.Relay):
    """The supervisor of a run that may outlive its channel."""

    def __init__(self, channel, sock, err, pid, state):
        super(Surviving, self).__init__(channel, sock, err, pid, state)
        self.state = state
        self.front = state["front"]
        self.patience = float(state.get("reconnect") or 0) + MARGIN
        self.spool = None
        self.listener = None
        self.frame = bytearray()  # what has come of the worker's frame
        self.idle = False  # the run is over
        self.away = False  # the controller said that it will not answer
        self.dropped = False  # it wants no more
        self.lost_at = self.end_at = None
        self.hanging = False
        self.got = self.reported = 0
        self.head, self.skip = bytearray(), 0  # of the frame that comes down
        self._count(state["pending"])

    def run(self):
        status = super(Surviving, self).run()
        sound = self.is_sound()
        if sound:  # the front has the same open files
            for fd in (self.channel.up, self.channel.down):
                os.set_blocking(fd, True)
        self._release_front(status, sound)
        return status

    # --- down

    def _received(self, data):
        self._count(data)
        super(Surviving, self)._received(data)
        if self.spool is not None and not self.lost and (self.away or self.got - self.reported > REPORT):
            self._report()

    def _count(self, data):
        """Count the bytes, and look for frames that are meant for the supervisor; the worker passes over them."""
        self.got += len(data)
        at = 0
        while at < len(data):
            if self.skip:
                step = min(self.skip, len(data) - at)
                self.skip -= step
                at += step
                continue
            step = _HEAD - len(self.head)
            self.head += data[at : at + step]
            at += step
            if len(self.head) == _HEAD:
                kind, self.skip = bytes(self.head[:1]), int.from_bytes(self.head[1:], "big")
                self.head = bytearray()
                if kind == b"X":
                    self.dropped = True
                    self._stop(None, None)
                elif kind == b"L":
                    self.away = True

    def _report(self):
        self.reported = self.got
        self.to_peer += self.channel.frame(b"R", [("state", "running"), ("got", self.got)])

    # --- up

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
                    said = bytes(data[_HEAD:size])
                    del data[:size]
                    self._told(said)
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
                self.spool.add(bytes(self.frame))
                self.frame = bytearray()

    def _up(self, data):
        if not self.lost:
            self.to_peer += data

    def _told(self, said):
        if said == b"end":
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
                text = "this run would not survive the loss of its connection: %s: %s" % (where, _words(exc))
                self._up(self.channel.frame(b"N", [("kind", "warning"), ("message", text)]))

    # --- the channel goes and comes

    def _lose(self):
        if self.spool is None or self.why is not None or self.spool.full:
            super(Surviving, self)._lose()
            return
        self._read_rest()
        if self.why is not None:  # that was what it said last
            super(Surviving, self)._lose()
            return
        self.lost, self.lost_at = True, monotonic()
        del self.to_peer[:]
        self._let_go()
        self.spool.write()
        if self.idle or self.away or self.end_at is not None:
            self._hang_up()

    def _read_rest(self):
        """What came before the channel ended is still to be read."""
        while True:
            try:
                data = os.read(self.channel.down, 65536)
            except OSError:
                return
            if not data:
                return
            self._received(data)

    def _let_go(self):
        """Close the channel, so that the login that it came by can end."""
        for fd in (self.channel.up, self.channel.down):
            self._forget(fd)
            os.close(fd)
        null = os.open(os.devnull, os.O_RDWR)  # path: /dev/null
        os.dup2(null, 2)
        os.close(null)
        self._release_front(0)

    def _release_front(self, status, sound=False):
        if self.front is not None:
            try:
                os.write(self.front, bytes([status & 0xFF]) + (front.SOUND if sound else b""))
            except OSError:
                pass
            os.close(self.front)
            self.front = None

    def _taken_over(self):
        """Another session of the same controller has a channel for this run."""
        found = _accept(self.listener)
        if found is None:
            return
        nonce, number, (up, down, front) = found
        if number == COLLECT:  # another process, which cannot answer what was asked of the first
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
        """Nobody answers any more: the worker ends at its next question, or at its end."""
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
        if self.listener is not None:
            masks[self.listener.fileno()] = relay._IN
        return masks

    def _handle(self, fd, event):
        if fd not in self.masks:  # closed since it was polled
            return
        if self.listener is not None and fd == self.listener.fileno():
            self._taken_over()
        else:
            super(Surviving, self)._handle(fd, event)

    def _times(self):
        times = super(Surviving, self)._times() + [self.end_at]
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
        if self.lost_at is not None and self.why is None:
            if self.spool.full:
                self._stop("excess", "more was to be kept than %d MiB" % (kept.LIMIT // 1024 // 1024))
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
                os.kill(self.pid, signal.SIGTERM)  # the worker alone: its state ends, and what it has started
            except OSError:
                pass
            if self.lost:
                self._hang_up()

    def _kill(self, number):
        """The worker has a handler for SIGTERM, so it is killed, and those it has started with it."""
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
            self._kill(signal.SIGKILL)  # parallel states, which asked through the worker
        status = 0
        if self.lost:
            while self.sock is not None and self._from_worker():
                pass
        status = super(Surviving, self)._end()
        last = self._last()
        if self.dropped or (last is None and not self.lost):
            self.spool.remove()
            return status
        self.spool.finish(self.channel.frame(b"E", last)[len(self.channel.nonce) :] if last is not None else None)
        if not self.lost and _dropped(self.channel.down):
            self.spool.remove()
        return status


def _dropped(down):
    """Whether the other side says in time that it has the end; or asks for no more of it by its own end of work."""
    poll = select.poll()
    poll.register(down, select.POLLIN)
    end, tail = monotonic() + HEARD, b""
    while monotonic() < end and poll.poll(int((end - monotonic()) * 1000) + 1):
        try:
            data = os.read(down, 65536)
        except OSError:
            return False
        if not data:
            return False
        tail = (tail + data)[-_HEAD:]
        if tail == b"X" + bytes(4):
            return True
    return False


def _words(exc):
    return getattr(exc, "strerror", None) or str(exc)


# --- one supervisor hands its channel over to another


def _listen(folder):
    """The socket in the job's folder; its path is too long for a name, so this process goes there."""
    os.fchdir(folder)
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    sock.bind(kept.SOCKET)
    sock.listen(1)
    sock.setblocking(False)
    os.chdir("/")
    return sock


def _accept(listener):
    """``(nonce, number of the frame that is wanted, descriptors)`` of a session, or None."""
    try:
        fd = listener._accept()[0]
    except OSError:
        return None
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fd)
    try:
        sock.settimeout(2)
        said, others = sock.recvmsg(64, _socket.CMSG_SPACE(12))[:2]
        data = others[0][2] if others else b""
        fds = struct.unpack("3i", data) if len(data) == 12 else ()
        for fd in fds:
            os.set_inheritable(fd, False)
        if len(fds) != 3 or len(said) != 24:
            raise OSError("no session")
        sock.send(b"+")
        return said[:16], int.from_bytes(said[16:], "big"), fds
    except OSError:
        return None
    finally:
        sock.close()


def _hand_over(folder, state, channel):
    """Give the channel to the supervisor of the run. Returns the pipe on which its end is said, or None."""
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    read, write = os.pipe()
    try:
        sock.settimeout(10)
        os.fchdir(folder)
        sock.connect(kept.SOCKET)
        fds = struct.pack("3i", channel.up, channel.down, write)
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)]
        number = COLLECT if state["resume"] < 0 else state["resume"]
        sock.sendmsg([channel.nonce + number.to_bytes(8, "big")], rights)
        if sock.recv(1) == b"+":
            return read
    except OSError:
        pass
    finally:
        os.close(write)
        sock.close()
    os.close(read)
    return None


def resume(channel, state):
    """The session that asks for a run that has begun: hands its channel over, or says what is left of it.

    Returns the exit status.
    """
    name = kept.name(state)
    try:
        folder = kept.folder(state["dir_fd"], name)
    except (OSError, ValueError) as exc:
        known = "unknown" if isinstance(exc, FileNotFoundError) else "refused"
        channel.say(b"R", [("state", known), ("got", 0), ("message", _words(exc))])
        _dropped(channel.down)
        return 0
    for _ in range(5):
        read = _hand_over(folder, state, channel)
        if read is not None:
            os.close(channel.up)
            os.close(channel.down)
            os._exit(front.wait(read)[0])
        if kept.has_ended(folder):
            break
        sleep(0.2)  # it may be just ending
    at = _replay(channel, folder, max(0, state["resume"]))
    if not kept.has_ended(folder):
        text = "the run was killed there, or the machine went down; what its last state did is unknown"
        channel.say(b"R", [("state", "gone"), ("got", 0), ("at", at)])
        channel.say(b"E", [("kind", "connection_lost"), ("message", text)])
    if _dropped(channel.down):
        kept.remove(state["dir_fd"], name)
    return 0


def _replay(channel, folder, number):
    """Send what is there from this frame on. Returns the number of the frame after it."""
    from thin import boot

    channel.say(b"R", [("state", "ended"), ("got", 0), ("at", number)])
    for at, frame in kept.read(folder, number):
        if at != number:
            channel.say(b"R", [("state", "ended"), ("got", 0), ("at", at)])
        boot.send(channel.nonce + frame, channel.up)
        number = at + 1
    return number
