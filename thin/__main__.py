"""The supervisor: the only process on the target that touches the channel. It forks the worker and relays its frames.

The worker (``thin.worker``) runs in a session of its own with /dev/null as stdin and stdout and a pipe as stderr, and
communicates over a socket pair, so nothing that a module does can reach the channel. This module sets up both
processes; ``thin.relay`` runs until the end.
"""

import _signal as signal  # `signal` itself would import enum, at three times the cost of all else here
import _socket
import fcntl
import os
import select
import sys
from time import monotonic

from thin import boot, relay

#: Maximum number of bytes that may arrive while this process waits for the lock.
PENDING_LIMIT = 64 * 1024 * 1024
#: Seconds to wait until the controller confirms that it has read the last frame.
HEARD_TIMEOUT = 2
#: Seconds for which every run waits for another one, without a report: one that just ended may hold the lock a moment
#: longer than its return needs to the controller
SHORT_WAIT = 1


def main(state, store):
    """Run the session that the first stage began, and those that follow it; never returns.

    ``state``: nonce; lock (None or the holder's message), wait (seconds) and lock_name, if it is not that of the whole
    target (``lock-`` and letters or digits); deadline (seconds or None); clean (bool); several, if other sessions may
    follow (see thin.sessions), "kept" if they are those of other commands, with idle, the seconds to wait for one; job,
    the JID of a run that may outlive its channel, with reconnect, the seconds for which the controller would try to
    reconnect, resume, the number of the next frame, if the run began in an earlier session (see thin.surviving), and
    once, the name of the hand-out, if other processes may have the same job (see thin.handouts);
    path, home, dir_fd and pending from the first stage.
    """
    try:
        down, up = _claim()
    except OSError as exc:
        boot.send(boot.frame(state["nonce"], b"E", list(zip(("kind", "message"), boot.trouble(exc)))))
        os._exit(70)
    channel = Channel(state, up, down)
    if not state.get("several"):
        os._exit(_session(channel, state, store)[0])
    from thin import sessions

    ahead = sessions.Ahead(state, store)
    while True:
        status, sound = _session(channel, state, store, ahead)
        if not sound:
            os._exit(status)
        sessions.proceed(channel, state, store, ahead, _fork_worker)


def _session(channel, state, store, ahead=None):
    """Run one session: ``(exit status, whether another may follow)``. ``ahead``: see thin.sessions."""
    try:
        return _served(channel, state, store, ahead)
    except Exception as exc:  # the worker, if there is one, ends with this process
        channel.say(b"E", list(zip(("kind", "message"), boot.trouble(exc))))
        return 70, False


def _served(channel, state, store, ahead):
    if state.get("resume") is not None:
        from thin import takeover

        return takeover.resume(channel, state), False
    lock_fd = _lock(state, channel) if state["lock"] is not None else None
    if (ahead is None or state["several"] == "kept") and state["dir_fd"] >= 0 and not state["clean"]:
        _say_kept(channel, state)
    if state.get("once") and state["dir_fd"] >= 0:
        _end_if_done(channel, state)
    if state["clean"]:
        channel.say(b"N", [("kind", "cleaned")] + [("removed", name) for name in store.clean()])
        _until_heard(channel)
        return 0, False
    survives, spare, kind = state.get("job") and state["dir_fd"] >= 0, None, relay.Relay
    if ahead is not None:
        spare = ahead.take_spare(usable=not survives or _has_front(state))
        if spare is None:
            ahead.listen()
    if survives:
        from thin import front, surviving

        kind = surviving.Surviving
        if not _has_front(state):
            front.divide(state, channel, lock_fd)
    ours, err_read, life_write, pid = spare or _fork_worker(channel, state, store, ahead, lock_fd)
    trouble = store.keep_archive()  # while the worker begins
    if trouble:
        channel.say(b"N", [("kind", "warning"), ("message", trouble)])
    work = kind(channel, ours, err_read, pid, state)
    status, sound = work.run(), False
    if ahead is not None and work.may_stay():
        sound = work.release()
        ahead.load()
        for fd in (life_write, lock_fd):
            if fd is not None:
                os.close(fd)
    return status, sound


def _has_front(state):
    """Whether this process is the child of a front (thin.front), which an earlier session has made."""
    return state.get("front") is not None


def _fork_worker(channel, state, store, ahead, lock_fd=None):
    """Fork a worker. Returns ``(socket, descriptor of its stderr, descriptor whose end kills it, PID)``."""
    ours, theirs = _socket.socketpair()
    err_read, err_write = os.pipe()
    life_read, life_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _worker(
            theirs,
            err_write,
            life_read,
            state,
            store,
            ahead,
            (channel.up, channel.down, ours.detach(), err_read, life_write, lock_fd, state.get("front")),
        )
    for fd in (theirs.detach(), err_write, life_read):
        os.close(fd)
    return ours, err_read, life_write, pid


def _say_kept(channel, state):
    """Report jobs of this controller that have ended and were not collected. If this job is one, it does not run."""
    try:
        os.stat("jobs", dir_fd=state["dir_fd"], follow_symlinks=False)
    except OSError:
        return  # the usual case
    from thin import kept

    kept.prune(state["dir_fd"])
    waiting = kept.ended(state)
    if state.get("job") in waiting:
        channel.say(b"E", [("kind", "finished"), ("message", "it has run already")])
        _until_heard(channel)
        os._exit(0)
    if waiting:
        channel.say(b"N", [("kind", "kept")] + [("jid", jid) for jid in waiting])


def _end_if_done(channel, state):
    """End with an error if another process has run this hand-out of the job. The caller has the lock."""
    from thin import handouts

    if handouts.is_done(state):
        channel.say(b"E", [("kind", "done"), ("message", "it has run, and its return was stored")])
        _until_heard(channel)
        os._exit(0)


def _claim():
    """Descriptors for the channel that no program inherits; 0 and 1 become /dev/null."""
    down, up = _aside(0), _aside(1)
    null = os.open(os.devnull, os.O_RDWR)  # path: /dev/null
    os.dup2(null, 0)
    os.dup2(null, 1)
    if null > 2:
        os.close(null)
    return down, up


def _aside(fd):
    """A duplicate with a high number, since programs expect the low ones; any number if few are allowed."""
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 32)
    except OSError:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


class Channel(object):
    """The channel to the controller. ``frame`` returns a frame of key=value lines, ``say`` writes one at once."""

    def __init__(self, state, up, down):
        self.nonce, self.up, self.down = state["nonce"], up, down

    def frame(self, kind, fields):
        return boot.frame(self.nonce, kind, fields)

    def say(self, kind, fields):
        boot.send(self.frame(kind, fields), self.up)


def _until_heard(channel):
    """Wait a short time for the controller's bye, or the end of its stream: `podman exec` may lose the last output
    otherwise.
    """
    select.select([channel.down], [], [], HEARD_TIMEOUT)


def _lock(state, channel):
    from thin import lock

    began, warned = monotonic(), []
    give_up = began + max(state["wait"], SHORT_WAIT)

    def pause(holder):
        if monotonic() >= give_up:
            channel.say(b"E", [("kind", "locked"), ("message", holder)])
            _until_heard(channel)
            os._exit(0)
        quiet = monotonic() < began + SHORT_WAIT
        if not warned and not quiet:
            warned.append(holder)
            channel.say(b"N", [("kind", "waiting"), ("message", holder)])
        poll = select.poll()
        poll.register(channel.down, select.POLLIN)
        if poll.poll(20 if quiet else 200):
            data = os.read(channel.down, 65536)
            if not data or len(state["pending"]) > PENDING_LIMIT:
                os._exit(76)  # the controller went away
            state["pending"] += data

    fd = lock.acquire(state["dir_fd"], state["home"], state["lock"], pause, state.get("lock_name") or "lock")
    if fd is None:
        text = "nothing can be locked on this target: another run could start at the same time"
        channel.say(b"N", [("kind", "warning"), ("message", text)])
    return fd


def _worker(sock, err_write, life_read, state, store, ahead, others):
    """The worker's process: never returns. ``others`` are the supervisor's descriptors."""
    status = 71
    try:
        for fd in others:
            if fd is not None:
                os.close(fd)
        os.setsid()
        os.dup2(err_write, 2)
        if err_write != 2:
            os.close(err_write)
        _tie(life_read)
        if ahead is not None:
            ahead.begin()
        from thin import worker

        kept = ahead.kept if ahead is not None else {}
        place = {"dir": state["path"], "home": state["home"], "uid": os.geteuid(), "place": state, "kept": kept}
        if worker.main(sock, place):
            _untie(life_read)
        store.keep_image()
        if ahead is not None:
            ahead.tell()
        status = relay.DONE
    except BaseException as exc:
        kind, text = boot.trouble(exc)
        if kind == "limit_reached":
            status = relay.LIMITED
            sys.stderr.write("\n" + text)
        else:
            import traceback

            traceback.print_exc()
    try:
        sys.stderr.flush()
    finally:
        os._exit(status)


def _tie(life_read):
    """Make the kernel kill this process group when the supervisor ends, for any reason.

    The supervisor holds the other end of this pipe and never writes. When that end closes, O_ASYNC raises a signal
    in the whole group: also in a program that this process is waiting for.
    """
    try:
        fcntl.fcntl(life_read, fcntl.F_SETOWN, -os.getpid())
        if hasattr(fcntl, "F_SETSIG"):
            fcntl.fcntl(life_read, fcntl.F_SETSIG, signal.SIGKILL)
        else:
            signal.signal(signal.SIGIO, lambda number, frame: os.killpg(0, signal.SIGKILL))
        fcntl.fcntl(life_read, fcntl.F_SETFL, fcntl.fcntl(life_read, fcntl.F_GETFL) | os.O_ASYNC)
    except (OSError, AttributeError):
        pass  # not on this system: the worker sees the end of its socket when it next reads


def _untie(life_read):
    """Undo ``_tie``: processes of this group continue in the background after the supervisor ends.

    It is not enough that this process closes its end of the pipe: a child that was just forked and has not executed its
    program yet has it open, too.
    """
    try:
        fcntl.fcntl(life_read, fcntl.F_SETFL, fcntl.fcntl(life_read, fcntl.F_GETFL) & ~os.O_ASYNC)
    except (OSError, AttributeError):
        pass  # as above
