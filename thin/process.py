"""Runs programs: starts them by posix_spawn, or by fork and exec, and collects the output, without ``subprocess``.

``subprocess`` takes 10 ms to import, which is a third of a warm run, and little of it is needed. The worker has one
thread, so Python code may run between fork and exec.

Children stay in the worker's process group, so that they end with the session; a background program gets a separate
session (setsid) and continues.
"""

import _signal as signal  # `signal` itself would import enum, which takes longer than all other imports of this module
import errno
import os
import select
import time

from thin import waiting

#: Maximum bytes of a program's output stream: more is an error, so that callers get complete output.
#: Returns for people are cut to a smaller size by thin.cut.
OUTPUT_LIMIT = 128 * 1024 * 1024
#: Interval in seconds at which it is checked whether the program has ended, while its output streams are open.
LOOK = 0.1
#: Seconds without output, after the program has ended, until its output counts as ended, too: with `exec > >(tee log)`
#: in a script, the output is written by another process that ends a moment later.
QUIET = 0.1

#: Signals that a program gets with their default actions.
_DEFAULT = (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)


class Result(object):
    """Result of a program: ``pid``, ``retcode`` (negative: a signal; None: still running), ``stdout``, ``stderr``.

    ``timed_out`` is true if it was killed at its timeout.
    """

    def __init__(self, pid):
        self.pid = pid
        self.retcode = None
        self.stdout = self.stderr = b""
        self.timed_out = False


class Identity(object):
    """The user and groups of a program, as numbers, which are looked up before the fork."""

    def __init__(self, user=None, group=None):
        """Raises KeyError when the user or the group does not exist."""
        self.uid = self.gid = self.groups = None
        if user is not None:
            import pwd

            entry = pwd.getpwnam(user)
            self.uid, self.gid = entry.pw_uid, entry.pw_gid
        if group is not None:
            import grp

            self.gid = grp.getgrnam(group).gr_gid
        if user is not None:
            self.groups = sorted(set(os.getgrouplist(user, entry.pw_gid) + [self.gid]))

    def assume(self):
        """Change to the user, in the child. Calls without effect are skipped, so that this works without root."""
        if self.gid is not None and (os.getgid(), os.getegid()) != (self.gid, self.gid):
            os.setgid(self.gid)
        if self.groups is not None and set(os.getgroups()) | {os.getgid()} != set(self.groups):
            os.setgroups(self.groups)
        if self.uid is not None and (os.getuid(), os.geteuid()) != (self.uid, self.uid):
            os.setuid(self.uid)


def _bytes(word):
    """An argument of a command line as UTF-8, in any locale: in the C locale Python 3.6 encodes only ASCII."""
    return word.encode("utf-8", "surrogateescape") if isinstance(word, str) else os.fspath(word)


def which(name, path=None):
    """Full path (text) of an executable file, or None. A name with a slash is used unchanged."""
    for candidate in _candidates(name, os.environ.get("PATH") if path is None else path):
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return os.fsdecode(candidate)
    return None


def run(argv, cwd="/", env=None, stdin=None, merge=False, identity=None, umask=None, timeout=None, background=False):
    """Run a program to its end and return its Result.

    ``argv``: list of text; ``stdin``: bytes, an iterator of bytes that is advanced while the program reads, or None
    (/dev/null); ``merge``: stderr is merged into stdout; ``timeout``: seconds, after which the program and its
    descendants are killed; ``background``: do not wait, no output.
    Raises OSError if the program cannot be started. An exception of the iterator kills the program, and is raised.
    """
    result, feed, out, err = _started(argv, cwd, env, stdin is not None, merge, identity, umask, background)
    try:
        if not background:
            deadline = None if not timeout else time.monotonic() + timeout
            _collect(result, feed, out, err, stdin, deadline)
    finally:
        _close(*[number for number in (out, err) if number is not None])
    return result


def output(argv, env=None):
    """Run a program and yield its output in pieces. The program is killed if the generator is closed.

    Raises OSError when it cannot be started, and Failed at its end.
    """
    result, _, out, err = _started(argv, "/", env, False, False, None, None, False)
    poll, left, words, status = select.poll(), {out, err}, b"", None
    for number in left:
        poll.register(number, select.POLLIN | select.POLLHUP)
    try:
        while left:
            others = waiting.descriptors()
            for number in others:
                poll.register(number, select.POLLIN)
            ready = poll.poll()
            for number in others:
                poll.unregister(number)
            if any(number in others for number, _ in ready):
                waiting.attend()
                continue
            for number, _ in ready:
                piece = os.read(number, 65536)
                if not piece:
                    poll.unregister(number)
                    left.discard(number)
                elif number == out:
                    yield piece
                else:
                    words = (words + piece)[-65536:]
        status = os.waitpid(result.pid, 0)[1]
    finally:
        _close(out, err)
        if status is None:
            os.kill(result.pid, signal.SIGKILL)
            os.waitpid(result.pid, 0)
    if status:
        raise Failed(errno.EIO, words.decode("utf-8", "replace").strip(), argv[0])


class Failed(OSError):
    """A program failed; the text is its stderr."""


def _started(argv, cwd, env, fed, merge, identity, umask, background):
    """Start a program: (Result, descriptor of its stdin or None, of its stdout, of its stderr unless it is merged)."""
    env = os.environ if env is None else env
    argv = [_bytes(word) for word in argv]
    if any(b"\0" in word for word in argv):
        raise ValueError("embedded null byte")
    paths = _candidates(argv[0], env.get("PATH"))
    pipes, null = [], os.open(os.devnull, os.O_RDWR)  # path: /dev/null

    def pipe():
        pipes.append(os.pipe())
        return pipes[-1]

    try:
        fault = pipe()
        feed = pipe() if fed and not background else None
        out = None if background else pipe()
        err = out if background or merge else pipe()
        fds = (feed[0] if feed else null, out[1] if out else null, err[1] if err else null)
        can_spawn = identity is None and not background and min(fds) > 2 and _can_spawn()
        pid = _spawn(paths, argv, env, fds, cwd, umask) if can_spawn else None
        if pid is None:
            pid = os.fork()
    except OSError:
        _close(null, *[number for pair in pipes for number in pair])
        raise
    if pid == 0:  # the child: it leaves by exec or _exit only
        try:
            _become(fds, cwd, identity, umask, background)
            _exec(paths, argv, lambda path: os.execve(path, argv, env))
        except OSError as exc:
            os.write(fault[1], ("%d:%s" % (exc.errno or 0, exc.filename or "")).encode("utf-8", "replace"))
        except BaseException as exc:
            os.write(fault[1], ("0:%s" % exc).encode("utf-8", "replace"))
        finally:
            os._exit(127)
    _close(null, fault[1])
    if feed:
        os.close(feed[0])
    for number in {pair[1] for pair in (out, err) if pair}:
        os.close(number)
    try:
        _check(fault[0], pid, argv, feed)
    except BaseException:
        _close(*{pair[0] for pair in (out, err) if pair})
        raise
    finally:
        _close(fault[0])
    return Result(pid), feed and feed[1], out and out[0], err[0] if err is not None and err is not out else None


def _close(*fds):
    for number in fds:
        try:
            os.close(number)
        except OSError:
            pass


def _candidates(name, path):
    name = _bytes(name)
    if b"/" in name:
        return [name if isinstance(name, bytes) else _bytes(name)]
    folders = _bytes(os.defpath if path is None else path).split(b":")
    return [os.path.join(folder, name) for folder in folders if folder]


def _become(fds, cwd, identity, umask, background):
    # Duplicate the three to numbers above 2 first: one of them may have the number that another one gets.
    fds = [os.dup(number) for number in fds]
    while min(fds) < 3:
        fds = [os.dup(number) for number in fds]
    for target, number in enumerate(fds):
        os.dup2(number, target)
    for number in _DEFAULT:
        signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if background:
        os.setsid()
    if umask is not None:
        os.umask(umask)
    try:
        os.chdir(cwd)  # the user that runs the program may not be able to enter it
    except OSError:
        if identity is None:
            raise
        identity.assume()  # nor may root be, on a network file system
        os.chdir(cwd)
        return
    if identity is not None:
        identity.assume()


def _can_spawn():
    """Whether posix_spawn can be used, which does not copy this process's page tables as a fork does (1 to 2 ms).

    Python has it since 3.8; with glibc since 2.24 it reports that a program cannot be executed.
    """
    if not _spawns:
        try:
            name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
            numbers = [int(part) for part in version.split(".")[:2]]
        except (AttributeError, OSError, ValueError):
            name, numbers = "", []
        _spawns.append(_posix_spawn is not None and name == "glibc" and numbers >= [2, 24])
    return _spawns[0]


_posix_spawn, _spawns = getattr(os, "posix_spawn", None), []


def _spawn(paths, argv, env, fds, cwd, umask):
    """Start the program without a fork; returns its process id. Raises OSError. The folder and the umask are set in
    this process, which has one thread, and restored; None if this user could not enter the present folder again.
    """
    actions = [(getattr(os, "POSIX_SPAWN_DUP2"), number, target) for target, number in enumerate(fds)]  # noqa: B009
    try:
        before = os.open(".", getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC)
    except OSError:
        return None
    mask = None
    try:
        os.chdir(cwd)
        if umask is not None:
            mask = os.umask(umask)
        more = {"file_actions": actions, "setsigmask": (), "setsigdef": _DEFAULT}
        return _exec(paths, argv, lambda path: _posix_spawn(path, argv, env, **more))
    finally:
        if mask is not None:
            os.umask(mask)
        os.fchdir(before)
        os.close(before)


def _exec(paths, argv, execute):
    """Call ``execute`` with each path until a program of that path is executed. Raises OSError if there is none."""
    problem = OSError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(argv[0]))
    for path in paths:
        try:
            return execute(path)
        except OSError as exc:
            if exc.errno not in (errno.ENOENT, errno.ENOTDIR):
                problem = OSError(exc.errno, exc.strerror, os.fsdecode(argv[0]))
                if exc.errno != errno.EACCES:
                    break
    raise problem


def _check(fault, pid, argv, feed):
    """Wait until the child has executed the program; raise the error that prevented it."""
    text = b""
    while True:
        piece = os.read(fault, 4096)
        if not piece:
            break
        text += piece
    if text:
        os.waitpid(pid, 0)
        _close(*feed[1:] if feed else ())
        number, _, name = text.decode("utf-8", "replace").partition(":")
        if int(number):
            raise OSError(int(number), os.strerror(int(number)), name or os.fsdecode(argv[0]))
        raise OSError(errno.EINVAL, name)


def _collect(result, feed, out, err, stdin, deadline):
    """Feed stdin (and close it), read both streams until they end, and wait for the program.

    Background processes of the program may keep the streams open: these count as ended when the program has ended.
    """
    talk = _Talk(result, feed, out, err, stdin, deadline)
    if talk.until_quiet() and _wait(result, talk, deadline):
        result.retcode = -os.WTERMSIG(talk.ended) if os.WIFSIGNALED(talk.ended) else os.WEXITSTATUS(talk.ended)
        _finish(result, talk.streams, out, err)
        return
    talk.give_up()


def _wait(result, talk, deadline):
    """Wait for the program, whose streams have ended; False at the timeout."""
    pause = 0.0005
    while talk.ended is None:
        pid, status = os.waitpid(result.pid, 0 if deadline is None else os.WNOHANG)
        if pid:
            talk.ended = status
        elif time.monotonic() > deadline:
            return False
        else:
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
    return True


class _Talk(object):
    """The input and output of a program."""

    def __init__(self, result, feed, out, err, stdin, deadline):
        self._result, self._feed, self._out, self._err, self._deadline = result, feed, out, err, deadline
        #: descriptor -> [number of bytes read, their pieces]
        self.streams = {number: [0, []] for number in (out, err) if number is not None}
        #: the program's wait status once it is known
        self.ended = None
        self._stdin = iter((stdin,) if isinstance(stdin, bytes) and stdin else stdin or ())
        self._unsent = memoryview(b"")
        self._left, self._poll = set(self.streams), select.poll()
        for number in self._left:
            self._poll.register(number, select.POLLIN | select.POLLHUP)
        if feed is not None:
            os.set_blocking(feed, False)
            self._poll.register(feed, select.POLLOUT | select.POLLERR)

    def until_quiet(self):
        """Read until both streams have ended, or count as ended; False at the timeout."""
        look = time.monotonic() + LOOK
        while self._left:
            rest = None if self._deadline is None else self._deadline - time.monotonic()
            if self.ended is None and rest is not None and rest <= 0:
                return False
            if self.ended is None and time.monotonic() >= look:
                pid, status = os.waitpid(self._result.pid, os.WNOHANG)
                self.ended, look = status if pid else None, time.monotonic() + LOOK
            others = waiting.descriptors()
            ready = self._ready(others, rest)
            if self.ended is not None and (
                time.monotonic() > look + 1 or not (self._left | set(others)).intersection(ready)
            ):
                _drain(self._left)
                break  # its output has been read; at most for a second if other processes continue to write
            for number in ready:
                if number in others:
                    waiting.attend()
                    break  # it may have taken long, so other descriptors can be ready now
                if number == self._feed:
                    self._write()
                else:
                    self._read(number)
        self._close_feed()
        return True

    def _ready(self, others, rest):
        for number in others:
            self._poll.register(number, select.POLLIN)
        wait = QUIET if self.ended is not None else LOOK if rest is None else min(max(rest, 0) + 0.001, LOOK)
        ready = self._poll.poll(wait * 1000)
        for number in others:
            self._poll.unregister(number)
        return [number for number, _ in ready]

    def _write(self):
        try:
            self._unsent = self._unsent or memoryview(next(self._stdin, b""))
        except BaseException:
            self._stop()
            raise
        over = not self._unsent
        try:
            self._unsent = self._unsent[os.write(self._feed, self._unsent[:65536]) :]
        except BlockingIOError:
            return
        except OSError:  # the program has stopped reading
            over = True
        if over:
            self._poll.unregister(self._feed)
            self._close_feed()

    def _read(self, number):
        piece = os.read(number, 65536)
        if not piece:
            self._poll.unregister(number)
            self._left.discard(number)
            return
        stream = self.streams[number]
        stream[1].append(piece)
        stream[0] += len(piece)
        if stream[0] > OUTPUT_LIMIT:
            self._stop()
            raise OSError(errno.EFBIG, "it writes more than %d MiB" % (OUTPUT_LIMIT // 1024 // 1024))

    def _stop(self):
        if self.ended is None:
            self.give_up()
        self._close_feed()

    def give_up(self):
        """Kill the program, at its timeout or because of too much output."""
        self._close_feed()
        _give_up(self._result, self.streams, self._out, self._err)

    def _close_feed(self):
        if self._feed is not None:
            os.close(self._feed)
            self._feed = None


def _drain(pipes):
    """Let ``cat`` read pipes to their end: otherwise SIGPIPE or a full pipe would stop programs that still write to
    them.

    It has its own session, and ends with the last writer. If it cannot be started, the pipes are not read.
    """
    for number in pipes:
        try:
            pid = os.fork()
        except OSError:
            return
        if pid == 0:
            try:
                os.setsid()
                if os.fork() == 0:  # init becomes its parent: this process need not wait for it
                    null = os.open(os.devnull, os.O_RDWR)  # path: /dev/null
                    _become((number, null, null), "/", None, None, False)
                    _exec(_candidates("cat", None), [b"cat"], lambda path: os.execve(path, [b"cat"], {}))
            finally:
                os._exit(127)
        os.waitpid(pid, 0)


def _finish(result, streams, out, err):
    result.stdout = b"".join(streams[out][1])
    result.stderr = b"" if err is None else b"".join(streams[err][1])


def _give_up(result, streams, out, err):
    for pid in descendants(result.pid) + [result.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    os.waitpid(result.pid, 0)
    result.retcode, result.timed_out = -signal.SIGKILL, True
    _finish(result, streams, out, err)


def descendants(pid):
    """Ids of all descendants of ``pid``. Empty without /proc."""
    children = {}
    try:
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open("/proc/%s/stat" % name, "rb") as handle:
                        parent = int(handle.read().rpartition(b")")[2].split()[1])
                except (OSError, ValueError, IndexError):
                    continue
                children.setdefault(parent, []).append(int(name))
    except OSError:
        return []
    descendants, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        descendants.extend(below)
        todo.extend(below)
    return descendants
