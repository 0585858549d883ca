"""A TCP proxy on loopback that delays every byte, like a connection to a distant host.

    python distance.py SECONDS PORT...

Prints a line with the port of a listener for each given port, in their order, and runs until it is ended. Both
directions are delayed by half of SECONDS. Bytes stay in order; there is no limit of their rate.
"""

from __future__ import annotations

import asyncio
import sys

LOOPBACK = "127.0.0.1"


async def main(seconds: float, ports: list[int]) -> None:
    servers = []
    for port in ports:

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int = port) -> None:
            await asyncio.sleep(seconds)  # the handshake of TCP
            far_reader, far_writer = await asyncio.open_connection(LOOPBACK, port)
            await asyncio.gather(_pass(reader, far_writer, seconds / 2), _pass(far_reader, writer, seconds / 2))

        servers.append(await asyncio.start_server(serve, LOOPBACK, 0))
    print(" ".join(str(server.sockets[0].getsockname()[1]) for server in servers), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    try:
        while data := await reader.read(65536):
            loop.call_later(seconds, writer.write, data)
    except ConnectionError:
        pass
    await asyncio.sleep(seconds)
    writer.close()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), [int(port) for port in sys.argv[2:]]))
