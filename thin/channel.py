"""The worker's end of the channel: sends messages, receives answers, and serves the controller while it waits."""

import _socket
import select

from thin import waiting, wire

#: Size in bytes up to which a message cannot contain a text longer than thin.cut.TEXT_LIMIT.
LARGE = 16 * 1024 * 1024


class Closed(BaseException):
    """The controller closed the channel or sent ``bye``. A BaseException, so that no state catches it as an error."""


class Channel(object):
    """Messages over a socket, in the downward form of thin.wire.

    ``serve(message)`` is called for every message that is not an answer, also while a question waits for its answer.
    ``blobs()`` returns the thin.blobs.Blobs that receive the B frames.
    """

    def __init__(self, sock, blobs, serve=None):
        self._sock = sock
        self._frames = wire.Frames()
        self._answers = {}
        self._asked = 0
        self._dealt = 0  # number of processed frames
        self.said_bye = False
        self._later = {}  # number of a question -> the function that is called with its answer
        self.blobs = blobs
        self.serve = serve

    def send(self, message, for_people=False):
        """Send a message. ``for_people``: long texts are cut. Raises ValueError if it is too large for a frame."""
        data = wire.pack(message)
        if for_people and len(data) > LARGE:
            from thin import cut

            data = wire.pack(cut.texts(message))
        if len(data) > wire.UP_LIMIT:
            raise ValueError("more than %d MiB in one message" % (wire.UP_LIMIT // 1024 // 1024))
        self._sock.sendall(wire.frame(b"M", data))

    def ask(self, question):
        """Send a question and return its answer (a map). Other messages are served meanwhile."""
        self._asked += 1
        number = self._asked
        self.send(dict(question, n=number))
        while number not in self._answers:
            self.step()
        return self._answers.pop(number)

    def ask_later(self, question, done):
        """Send a question; ``step`` calls ``done(answer)`` when it processes the answer."""
        self._asked += 1
        self._later[self._asked] = done
        self.send(dict(question, n=self._asked))

    def pending(self):
        """Whether an ``ask_later`` has no answer yet."""
        return bool(self._later)

    def wait(self, ready):
        """Serve until ``ready()`` is true."""
        while not ready():
            self.step()

    def step(self):
        """Wait for input and handle at least one frame. Raises Closed at the end of the stream."""
        before = self._dealt
        while self._dealt == before:
            for kind, payload in self._frames:
                self._dealt += 1
                if kind == b"B":
                    self.blobs().feed(payload)
                    continue
                if kind != b"M":  # a frame for the supervisor, which has processed it
                    continue
                message = wire.unpack(payload)
                if message.get("k") == "answer" and message.get("re") in self._later:
                    self._later.pop(message["re"])(message)
                elif message.get("k") == "answer":
                    self._answers[message.get("re")] = message
                elif message.get("k") == "resume":
                    self.blobs().resume(message["digest"], message["at"])
                elif message.get("k") == "bye":
                    self.said_bye = True
                    raise Closed()
                else:
                    self.serve(message)
            # Work that is served meanwhile may ask questions, too, and receive the frame for which this call waits.
            if self._dealt == before and waiting.readable(self._sock.fileno()):
                data = self._sock.recv(256 * 1024)
                if not data:
                    raise Closed()
                self._frames.feed(data)

    def attend(self):
        """Process received messages without waiting. The end of the channel is left to calls that wait for an
        answer.
        """
        while select.select([self._sock], [], [], 0)[0] and self._sock.recv(1, _socket.MSG_PEEK):
            self.step()

    def tell(self, word):
        """Tell the supervisor that a run begins or ends: ``word`` is ``begin`` or ``end``."""
        self._sock.sendall(wire.frame(b"R", word))

    def fileno(self):
        return self._sock.fileno()
