"""States with ``parallel: True``: each runs in a separate process that is forked from the worker.

A child has the grains, modules and other data in memory as they were when it started, and its changes to them are lost;
only its return is sent back. It cannot use the channel: its questions to the controller (thin.link) go through its
parent, which answers between two states and whenever it waits itself (thin.waiting). Functions of the controller may
take long, such as a step of an orchestration: the parent does not wait for them, and serves the other children.
"""

import os
import select
import socket
import time

from thin import link, log, waiting, wire
from thin.exceptions import SaltException

#: Default maximum number of processes at a time (``state_max_parallel``).
DEFAULT_LIMIT = 16

STARTED = "Started in a separate process"
WAITING = "Waiting to be started in a separate process, max_parallel hit"


#: In a child: when its state was started (seconds since 1970), until ``take_began`` is called.
_began = None


def take_began():
    """In the process of a parallel state: when it was started. None elsewhere, and from the second call on."""
    global _began
    began, _began = _began, None
    return began


class Jobs(object):
    """The parallel states of a run. ``limit``: how many at a time; 0 or None: the default."""

    def __init__(self, limit=None):
        self._limit = limit or DEFAULT_LIMIT
        self._queue = []  # _Job, not started
        self._active = {}  # descriptor -> _Job
        self._done = []  # _Job with its return
        self._busy = False

    def start(self, tag, low, function):
        """Queue ``function()`` to run in a child; returns the preliminary return of its state."""
        job = _Job(tag, low, function)
        self._queue.append(job)
        self._start_queued()
        comment = WAITING if job in self._queue else STARTED
        return {"name": low["name"], "result": None, "changes": {}, "comment": comment}

    def tags(self):
        """Tags of the states whose return was not collected yet."""
        return {job.tag for job in self._queue + list(self._active.values()) + self._done}

    def finished(self):
        """``[(chunk, return)]`` of the states that ended since the last call. Does not wait."""
        self.step(wait=False)
        done, self._done = self._done, []
        return [(job.low, job.ret) for job in done]

    def step(self, wait=True):
        """Wait for data of the children, process it, and start waiting states if there is room."""
        self._receive(wait)
        self._start_queued()

    def descriptors(self):
        """Descriptors of the children, for thin.waiting."""
        return () if self._busy else self._watched()

    def _watched(self):
        """Descriptors of the children, and the one on which answers for them arrive."""
        answers = link.descriptor()
        return list(self._active) + ([] if answers is None else [answers])

    def attend(self):
        """Answer children while the worker waits for something else.

        No child is started: it would inherit open pipes.
        """
        self._receive(wait=False)

    def _receive(self, wait):
        if self._busy:
            return
        if not self._active or self._done:
            wait = False
        ready = select.select(self._watched(), [], [], None if wait else 0)[0] if self._active else ()
        self._busy = True  # a question to the controller waits, too: no child may be served twice
        try:
            for descriptor in ready:
                job = self._active.get(descriptor)
                if job is None:
                    if descriptor == link.descriptor():  # otherwise it arrived while another child was served
                        link.step()
                elif job.receive():
                    del self._active[descriptor]
                    self._done.append(job)
        finally:
            self._busy = False

    def _start_queued(self):
        while self._queue and len(self._active) < self._limit:
            job = self._queue.pop(0)
            self._active[job.start()] = job


class _Job(object):
    def __init__(self, tag, low, function):
        self.tag = tag
        self.low = low
        self.ret = None
        self._function = function
        self._frames = wire.Frames()
        self._sock = None

    def start(self):
        """Fork; returns the descriptor on which the child sends its messages."""
        global _began
        self._sock, theirs = socket.socketpair()
        began = time.time()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _began = began
                self._sock.close()
                waiting.current = None
                _child(theirs, self._function)
            finally:
                os._exit(0)
        theirs.close()
        return self._sock.fileno()

    def receive(self):
        """Process the data of the child. Returns True if it has finished."""
        data = self._sock.recv(256 * 1024)
        self._frames.feed(data)
        for _, payload in self._frames:
            message = wire.unpack(payload)
            if message["k"] == "ret":
                self.ret = message["ret"]
            elif message["k"] == "log" and log.sink is not None:
                log.sink(message["level"], message["text"])
            elif message["k"] == "link" and message["fun"] == "ask":
                fun, args, kwargs = message["args"]
                link.ask_later(fun, args, kwargs, self._answered)
            elif message["k"] == "link":
                self._sock.sendall(wire.frame(b"M", wire.pack(_answered(message))))
        if data:
            return False
        self._sock.close()
        os.waitpid(self._pid, 0)
        if self.ret is None:
            self.ret = {
                "result": False,
                "comment": "Parallel process failed to return",
                "name": self.low["name"],
                "changes": {},
            }
        return True

    def _answered(self, answer):
        """Pass an answer of the controller on to the child."""
        if answer.get("error") is not None:
            given = {"error": answer["error"], "exception": answer.get("exception") or "SaltException"}
        else:
            given = {"ret": answer.get("ret")}
        self._sock.sendall(wire.frame(b"M", wire.pack(given)))


def _answered(message):
    try:
        ret = getattr(link, message["fun"])(*message["args"])
    except SaltException as exc:
        return {"error": exc.message, "exception": getattr(exc, "exception", type(exc).__name__)}
    return {"ret": ret}


def _child(sock, function):
    through = _Through(sock)
    link.connect(through)
    if log.sink is not None:
        log.sink = lambda level, text: through.send({"k": "log", "level": level, "text": text})
    through.send({"k": "ret", "ret": function()})


class _Through(object):
    """The link (see thin.link) of a child, which sends all questions to the parent process."""

    def __init__(self, sock):
        self._sock = sock
        self._frames = wire.Frames()

    def send(self, message):
        self._sock.sendall(wire.frame(b"M", wire.pack(message)))

    def __getattr__(self, fun):
        return lambda *args: self._ask(fun, args)

    def _ask(self, fun, args):
        self.send({"k": "link", "fun": fun, "args": list(args)})
        while True:
            for _, payload in self._frames:
                answer = wire.unpack(payload)
                if "error" in answer:
                    raise link.LinkError(answer["error"], answer["exception"])
                return answer["ret"]
            data = self._sock.recv(256 * 1024)
            if not data:
                os._exit(1)
            self._frames.feed(data)
