"""A hostile target: it replaces Python on the target (``python:`` of the inventory), and sends what a file says.

``HOSTILE`` names a JSON file: a list of frames that are sent after the hello, each ``[kind, payload]`` with the payload
as a Python expression: a dict is sent as msgpack, bytes unchanged. ``WAIT`` waits for a frame of the controller, which
is written to the file ``….heard``; ``STAY`` keeps the process whatever the controller sends. At the end it waits for
``bye``.
"""

import ast
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from thin import boot, wire
from thin.vendor import msgpack

NAMES = {"nan": float("nan"), "inf": float("inf")}


def value(expression):
    """A literal, with the few names above, ``deep(n)`` (n nested lists) and ``x * n`` for long ones."""
    return eval(expression, {"__builtins__": {}}, {**NAMES, "deep": deep, "raw": bytes.fromhex})


def deep(levels):
    return b"\x82\xa1k\xa3ret\xa3ret" + b"\x91" * levels + b"\xc0"


def read(count):
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data


def main(script, nonce, size):
    program = read(int(size.lstrip("g"))).decode("ascii")
    call = ast.parse(program[program.rindex("\nbegin(") + 1 :], mode="eval").body
    parameters = ast.literal_eval(call.args[0])
    nonce = parameters["nonce"]
    sha = parameters["sha"] or parameters["archives"][0][0]
    boot.hello({"nonce": nonce, "sha": sha}, "/nowhere", have=1, warm=1)
    heard = open(script + ".heard", "w")  # noqa: SIM115
    with open(script) as stream:
        frames = json.load(stream)
    boot.send(nonce + wire.frame(b"M", wire.pack({"k": "ready", "python": "3.11.0", "warnings": []})))
    for frame in frames:
        if frame == "WAIT":
            _, length = wire.HEAD.unpack(read(wire.HEAD.size))
            print(msgpack.unpackb(read(length), strict_map_key=False), file=heard, flush=True)
            continue
        if frame == "STAY":
            time.sleep(300)
        kind, expression = frame
        payload = value(expression)
        data = payload if isinstance(payload, bytes) else msgpack.packb(payload)
        boot.send(data if kind == "raw" else nonce + wire.frame(kind.encode(), data))
    while b"\xa3bye" not in read(wire.HEAD.unpack(read(wire.HEAD.size))[1]):
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
