"""A session that requests a run that has begun: it hands its channel over to the supervisor of the run.

If the run has ended, the session sends the frames that it has left (thin.kept).
"""

import _socket
import os
import struct
from time import sleep

from thin import front, handouts, kept, surviving


def resume(channel, state):
    """Hand the channel over to the supervisor of the run; if the run has ended, send its stored frames.

    Returns the exit status of the session.
    """
    name = kept.name(state)
    try:
        folder = kept.folder(state["dir_fd"], name)
    except (OSError, ValueError) as exc:
        state_word = "unknown" if isinstance(exc, FileNotFoundError) else "refused"
        channel.say(b"R", [("state", state_word), ("got", 0), ("message", surviving.words(exc))])
        handouts.heard(channel.down)
        return 0
    for _ in range(5):
        read = _hand_over(folder, state, channel)
        if read is not None:
            os.close(channel.up)
            os.close(channel.down)
            os._exit(front.wait(read))
        if kept.has_ended(folder):
            break
        sleep(0.2)  # it may be about to end
    at = _replay(channel, folder, max(0, state["resume"]))
    if not kept.has_ended(folder):
        text = "the run was killed there, or the machine went down; what its last state did is unknown"
        channel.say(b"R", [("state", "gone"), ("got", 0), ("at", at)])
        channel.say(b"E", [("kind", "connection_lost"), ("message", text)])
    heard, stored = handouts.heard(channel.down)
    if heard:
        if stored:
            handouts.note(state, stored)
        kept.remove(state["dir_fd"], name)
    return 0


def _hand_over(folder, state, channel):
    """Send the channel to the supervisor of the run. Returns the pipe on which that reports its end, or None."""
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    read, write = os.pipe()
    try:
        sock.settimeout(10)
        os.fchdir(folder)
        sock.connect(kept.SOCKET)
        fds = struct.pack("3i", channel.up, channel.down, write)
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)]
        number = surviving.COLLECT if state["resume"] < 0 else state["resume"]
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


def _replay(channel, folder, number):
    """Send the stored frames from this number on. Returns the number of the next frame."""
    from thin import boot

    channel.say(b"R", [("state", "ended"), ("got", 0), ("at", number)])
    for at, frame in kept.read(folder, number):
        if at != number:
            channel.say(b"R", [("state", "ended"), ("got", 0), ("at", at)])
        boot.send(channel.nonce + frame, channel.up)
        number = at + 1
    return number
