"""A client for Redis' protocol (RESP 2): a request is an array of strings, an answer is a value with a type.

``*2`` and two strings with their lengths are a request; ``+OK``, ``-ERR reason``, ``:1``, ``$3`` and a string, ``*2``
and two answers are answers; ``$-1`` and ``*-1`` are null. So no client program is needed, and a password is no argument
of one. The exceptions have the names of those in Python's library for Redis.
"""

import socket

from thin.exceptions import CommandExecutionError

TIMEOUT = 30  # seconds, for connecting and for each answer

_MAX_DEPTH = 16
_LONGEST_LINE = 64 * 1024


class ResponseError(CommandExecutionError):
    """The server answered with an error."""


class ConnectionError(CommandExecutionError):
    """The connection cannot be made, or was lost."""


class Client(object):
    """A connection to ``host`` (a path: a Unix socket), a context manager. Raises ConnectionError and ResponseError.

    ``user``: one of the server's accounts; ``timeout``: seconds of each wait; ``max_size``: bytes of a string in an
    answer (None: no limit); ``tls``: an ssl.SSLContext.
    """

    def __init__(self, host, port, db=None, password=None, user=None, timeout=TIMEOUT, max_size=None, tls=None):
        self._max_size = max_size
        self._where = host if str(host).startswith("/") else "%s:%s" % (host, port)
        try:
            if str(host).startswith("/"):
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._socket.settimeout(timeout)
                self._socket.connect(str(host))
            else:
                self._socket = socket.create_connection((str(host), int(port)), timeout)
                if tls is not None:
                    self._socket = tls.wrap_socket(self._socket, server_hostname=str(host))
        except (OSError, ValueError) as exc:
            raise ConnectionError("Redis at %s cannot be reached: %s" % (self._where, exc))
        self._stream = self._socket.makefile("rb")
        try:
            if password:
                self("AUTH", *([user, password] if user else [password]))
            if db and int(db):
                self("SELECT", db)
        except Exception:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._stream.close()
        self._socket.close()

    def __call__(self, *words):
        """Send a command. Returns the answer: text, int, None, or a list of these."""
        parts = [str(word).encode("utf-8", "surrogateescape") for word in words]
        data = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        try:
            self._socket.sendall(data)
            return self._answer(0)
        except (OSError, ValueError) as exc:
            raise ConnectionError("Redis at %s does not answer: %s" % (self._where, exc))

    def _answer(self, depth):
        line = self._stream.readline(_LONGEST_LINE)
        if not line.endswith(b"\r\n") or depth > _MAX_DEPTH:
            raise ConnectionError("Redis at %s does not answer: the connection was closed" % self._where)
        kind, rest = line[:1], line[1:-2].decode("utf-8", "replace")
        if kind == b"-":
            raise ResponseError("Redis at %s: %s" % (self._where, rest))
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == "-1" else self._bulk(int(rest))
        if kind == b"*":
            return None if rest == "-1" else [self._answer(depth + 1) for _ in range(int(rest))]
        raise ConnectionError("Redis at %s does not speak its protocol" % self._where)

    def _bulk(self, size):
        if self._max_size is not None and size > self._max_size:
            raise ConnectionError("Redis at %s answers with more than %d bytes" % (self._where, self._max_size))
        data = self._stream.read(size + 2)
        if len(data) != size + 2:
            raise ConnectionError("Redis at %s does not answer: the connection was closed" % self._where)
        return data[:-2].decode("utf-8", "surrogateescape")


def configured(option, host=None, port=None, db=None, password=None):
    """A client with the given arguments, by default the options ``redis.host`` and so on; ``option``: config.option."""
    return Client(
        host or option("redis.host"),
        port or option("redis.port"),
        db or option("redis.db"),
        password or option("redis.password"),
    )


def named(options):
    """(host, port, db, password), removed from the keyword arguments."""
    return tuple(options.pop(name, None) for name in ("host", "port", "db", "password"))


def pairs(answer):
    """A dict from an answer with names and values in turn."""
    return dict(zip(answer[::2], answer[1::2]))


def information(text):
    """``{name: value}`` from the output of INFO: numbers, text, lists, and dicts such as ``keys=1,expires=0``."""
    result = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and not line.startswith("#"):
            result[name] = _value(value)
    return result


def _value(text):
    if "," not in text or "=" not in text:
        return _number(text)
    return {name: _number(value) for name, _, value in (each.rpartition("=") for each in text.split(","))}


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
