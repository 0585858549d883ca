"""The request that a client sends to the broker: a command line with the state of the client's process.

The broker sends ``!`` when it takes a connection; before that, the client sends nothing, neither environment nor
descriptors. The request consists of ``PSS1``, four bytes of length, and texts that are separated by NUL. Four file
descriptors are sent with the first bytes: stdin, stdout, stderr and the working folder. The broker answers ``+`` when
it has started the command. After that, the client sends one byte for each signal, its number. At the end, the broker
sends ``x`` and the exit status, or ``k`` and the number of the signal that ended the command.
"""

from __future__ import annotations

MAGIC = b"PSS1"
HEAD = 8
#: Maximum length of a request: arguments and environment together.
LIMIT = 4 * 1024 * 1024
READY = b"!"
BEGUN = b"+"
EXITED, KILLED = b"x", b"k"

# names that only annotations use are not imported, since an import would delay every command
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Request:
    """``words``: sys.argv. ``ignored``: numbers of the signals that the client ignores. ``files``: the soft limit of
    open files, 0 for none."""

    def __init__(
        self,
        words: Sequence[str],
        path: Sequence[str],
        env: Mapping[str, str],
        mask: int,
        files: int,
        ignored: Sequence[int],
    ) -> None:
        self.words, self.path, self.env = list(words), list(path), dict(env)
        self.mask, self.files, self.ignored = mask, files, list(ignored)

    def encode(self) -> bytes:
        """The bytes of the request."""
        texts = [str(self.mask), str(self.files), " ".join(map(str, self.ignored))]
        texts += [str(len(self.words)), *self.words, str(len(self.path)), *self.path]
        texts += [f"{name}={value}" for name, value in self.env.items()]
        body = "\0".join(texts).encode("utf-8", "surrogateescape")
        return MAGIC + len(body).to_bytes(4, "big") + body


def decode(body: bytes) -> Request:
    """Decode the body of a request, which follows its head. Raises ValueError."""
    texts = body.decode("utf-8", "surrogateescape").split("\0")
    mask, files, ignored = texts[:3]
    at = 4 + int(texts[3])
    words = texts[4:at]
    after = at + 1 + int(texts[at])
    path = texts[at + 1 : after]
    env = dict(text.split("=", 1) for text in texts[after:])
    return Request(words, path, env, int(mask), int(files), [int(number) for number in ignored.split()])
