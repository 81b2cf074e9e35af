"""A relay on loopback that hands on each answer late, as a server far away would seem: for measurements only."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_CHUNK = 1 << 16
#: Chunks that may wait in one direction of one connection.
_WAITING = 64


@contextmanager
def delayed(origin: str, seconds: float) -> Iterator[str]:
    """The address of a relay to `origin` (http, loopback) that holds every byte of an answer for `seconds`; throughput is not limited."""
    parts = urlsplit(origin)
    assert parts.hostname is not None
    assert parts.port is not None
    loop = asyncio.new_event_loop()
    relay = _Relay(parts.hostname, parts.port, seconds)
    server = loop.run_until_complete(asyncio.start_server(relay.serve, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(_closed(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


async def _closed(server: asyncio.Server) -> None:
    server.close()
    mine = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in mine:
        task.cancel()
    await asyncio.gather(*mine, return_exceptions=True)


class _Relay:
    """Joins each connection to one of its own at the far end."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self._host, self._port, self._seconds = host, port, seconds

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        with suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
            both = (_passed(reader, far_writer, 0.0), _passed(far_reader, writer, self._seconds))
            try:
                await asyncio.gather(*both, return_exceptions=True)
            finally:
                far_writer.close()
                writer.close()


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Hand on what is read, each chunk `seconds` after it came; the end of one side is the end of the other."""
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_WAITING)
    sender = asyncio.create_task(_sent(waiting, writer))
    try:
        while data := await reader.read(_CHUNK):
            await waiting.put((asyncio.get_running_loop().time() + seconds, data))
        await waiting.put((0.0, b""))
        await sender
    except OSError:
        pass
    finally:
        sender.cancel()


async def _sent(waiting: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
    while True:
        due, data = await waiting.get()
        if not data:
            with suppress(OSError):
                writer.write_eof()
            return
        await asyncio.sleep(due - asyncio.get_running_loop().time())
        writer.write(data)
        await writer.drain()
