"""The worker's end of the channel: sends messages, gets answers, and serves the other side while it waits."""

from thin import waiting, wire

#: Bytes of a message in which no text can be longer than thin.cut.TEXT_LIMIT.
LARGE = 16 * 1024 * 1024


class Closed(Exception):
    """The controller's side is gone, or said bye."""


class Channel(object):
    """Messages over a socket, in the downward form of thin.wire.

    ``serve(message)`` is called for whatever is neither an answer nor a blob, also while a question waits for its
    answer. ``blobs`` takes the B frames.
    """

    def __init__(self, sock, blobs, serve=None):
        self._sock = sock
        self._frames = wire.Frames()
        self._answers = {}
        self._asked = 0
        self._dealt = 0  # frames that were dealt with
        self.blobs = blobs
        self.serve = serve

    def send(self, message, for_people=False):
        """Raises ValueError when the message is larger than a frame may be. ``for_people``: long texts are cut."""
        data = wire.pack(message)
        if for_people and len(data) > LARGE:
            from thin import cut

            data = wire.pack(cut.texts(message))
        if len(data) > wire.UP_LIMIT:
            raise ValueError("more than %d MiB in one message" % (wire.UP_LIMIT // 1024 // 1024))
        self._sock.sendall(wire.frame(b"M", data))

    def ask(self, question):
        """Send a question and return its answer (a map). What comes in between is served."""
        self._asked += 1
        number = self._asked
        self.send(dict(question, n=number))
        while number not in self._answers:
            self.step()
        return self._answers.pop(number)

    def wait(self, ready):
        """Serve until ``ready()`` is true."""
        while not ready():
            self.step()

    def step(self):
        """Take what has come, waiting for it; at least one frame is dealt with. Raises Closed at the end."""
        before = self._dealt
        while self._dealt == before:
            for kind, payload in self._frames:
                self._dealt += 1
                if kind == b"B":
                    self.blobs.feed(payload)
                    continue
                message = wire.unpack(payload)
                if message.get("k") == "answer":
                    self._answers[message.get("re")] = message
                elif message.get("k") == "resume":
                    self.blobs.resume(message["digest"], message["at"])
                elif message.get("k") == "bye":
                    raise Closed()
                else:
                    self.serve(message)
            # Who is attended to beside may ask too, and take in the very frame that is waited for here.
            if self._dealt == before and waiting.readable(self._sock.fileno()):
                data = self._sock.recv(256 * 1024)
                if not data:
                    raise Closed()
                self._frames.feed(data)

    def fileno(self):
        return self._sock.fileno()
