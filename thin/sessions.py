"""Several consecutive sessions on one channel: the supervisor stays, and forks a worker for each session.

At the first run of states that may outlive the channel, it becomes the front (thin.front): it forks another supervisor,
which serves this session and all later ones.

A kept session that is idle for a moment has a spare worker for the next session, which has read nothing yet: the next
command need not wait for the fork. That first run takes no spare one, since its worker must be a child of the new
supervisor.

They share only the started Python and the loaded runtime. Each has its own worker process, with its own loaders, grains
and pillar, and its own lock and deadline. Another session may follow only after a normal end; otherwise the supervisor
ends as usual, and the controller starts a new one.

The supervisor sends a frame b"D" when a session is over. The controller sends b"K", with data for all further sessions,
and b"P", with the parameters of one session; then the messages of any session follow (see thin.wire).
"""

import os
import select
import sys

from thin import boot

#: The keys that a frame of parameters may have, and the function that converts each value.
PARAMETERS = {
    "lock": str,
    "wait": float,
    "deadline": float,
    "lock_name": str,
    "job": str,
    "reconnect": float,
    "once": str,
}
LIMIT = 64 * 1024
#: Seconds without a further session after which there is a spare worker.
MOMENT = 0.3
#: Before the number of a pack of the runtime, and before the name of a module that was executed without an import:
#: both are reported like the name of an imported module.
PACK, CODE = "+", "="


class Ahead(object):
    """Imports modules that earlier workers imported, before the next worker is forked, so that it need not import them.

    Users' modules and installed packages are not imported: the supervisor's path has only Python's standard library and
    the runtime.
    """

    def __init__(self, state, store):
        from thin import calls, custom, loader, log, worker  # noqa: F401

        if state["lock"] is not None:
            from thin import engine  # noqa: F401
        #: What was sent for all sessions, by name. Workers inherit it.
        self.kept = {}
        self._store = store
        store.fetch = lambda tables: custom.kept_packs(state, tables)
        self._tried = set()
        self._pipe = None
        self._spare = None

    def listen(self):
        """Before the fork: make the pipe for the worker's report."""
        self._before = set(sys.modules)
        self._pipe = os.pipe()
        for fd in self._pipe:
            os.set_blocking(fd, False)

    def spare(self, fork):
        """Fork a worker for the next session and keep it. ``fork()`` returns ``(socket, descriptor of its stderr,
        descriptor whose end kills it, PID)``.
        """
        self.listen()
        try:
            self._spare = fork()
        except OSError:  # too many processes or descriptors: the next session itself says so
            for fd in self._pipe:
                os.close(fd)

    def take_spare(self, usable=True):
        """The spare worker, as ``fork()`` returned it; None if there is none. The caller owns it from then on.

        A spare worker that is not ``usable``, or was killed meanwhile, is removed.
        """
        spare, self._spare = self._spare, None
        if spare is None:
            return None
        sock, err_read, life_write, pid = spare
        is_alive = os.waitpid(pid, os.WNOHANG)[0] == 0
        if usable and is_alive:
            return spare
        for fd in (sock.detach(), err_read, life_write) + self._pipe:  # the end of life_write kills it
            os.close(fd)
        if is_alive:
            os.waitpid(pid, 0)
        return None

    def begin(self):
        """In the worker: seed the random numbers, which must differ from those of earlier workers."""
        if "random" in sys.modules and not hasattr(os, "register_at_fork"):  # Python 3.6 does not do this itself
            sys.modules["random"].seed()

    def tell(self):
        """Report, in the worker at its end, its imports, and the packs and the code of the runtime that it needed."""
        found = [PACK + str(number) for number in self._store.loaded_packs()]
        found += sorted(set(sys.modules) - self._before)
        found += [CODE + name for name in sorted(self._store.used() - set(sys.modules))]
        try:
            os.write(self._pipe[1], "\n".join(found).encode("utf-8", "replace")[:LIMIT])
        except OSError:
            pass

    def load(self):
        """Import the modules that the ended worker reported, and read the code of the others."""
        said = b""
        try:
            said = os.read(self._pipe[0], LIMIT)
        except OSError:
            pass
        for fd in self._pipe:
            os.close(fd)
        names = [name for name in said.decode("utf-8", "replace").split("\n") if name and name not in self._tried]
        if any(name.startswith(CODE) for name in names):
            self._store.look_again()  # the worker may have added code that it compiled
        for name in names:
            if name not in self._tried:
                self._tried.add(name)
                try:
                    self._take(name)
                except (Exception, SystemExit):  # it cannot be imported in this process
                    pass

    def _take(self, name):
        if name.startswith(PACK):
            self._store.load_packs([int(name[1:])])
        elif name.startswith(CODE):
            self._store.hold(name[1:])
        else:
            __import__(name)


def proceed(channel, state, store, ahead, fork_worker):
    """Report the end of the session, wait for the next one, and put its parameters into ``state``.

    The process ends if there is no further session, or none begins in time. Data for all sessions are added to
    ``ahead.kept``. ``fork_worker``: see ``Ahead.spare``.
    """
    try:
        boot.send(channel.nonce + b"D" + bytes(4), channel.up)
        if state.get("idle"):
            if not select.select([channel.down], [], [], MOMENT)[0]:
                ahead.spare(lambda: fork_worker(channel, state, store, ahead))
            if not select.select([channel.down], [], [], state["idle"])[0]:
                os._exit(0)
        kind, said = _frame(channel.down)
        while kind == b"K":
            from thin import wire

            message = wire.unpack(said)
            ahead.take_spare(usable=False)
            ahead.kept[message["name"]] = message["value"]
            kind, said = _frame(channel.down)
        if kind != b"P":
            os._exit(76)
    except (OSError, ValueError):
        os._exit(76)
    state.update(dict.fromkeys(PARAMETERS), wait=0.0, received=False, pending=b"")
    for line in said.decode("utf-8", "surrogateescape").split("\n"):
        name, _, value = line.partition("=")
        if name in PARAMETERS:
            value = value.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
            state[name] = PARAMETERS[name](value)
    store.look_again()


def _frame(fd):
    head = _exactly(fd, 5)
    length = int.from_bytes(head[1:], "big")
    if length > boot.FRAME_LIMIT:
        os._exit(76)
    return head[:1], _exactly(fd, length)


def _exactly(fd, size):
    data = bytearray()
    while len(data) < size:
        piece = os.read(fd, size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return bytes(data)
