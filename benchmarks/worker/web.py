"""A web server in a process of its own: `python web.py FOLDER SECONDS` prints its port, and ends with its input.

It answers each request so many seconds after its arrival, any number side by side. A request for `/counts` is answered
at once with the numbers of requests and rounds, and of bytes of bodies, since the last one. A round begins with a
request that arrives when none waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import mmap
import os
import re
import sys
from typing import Any

RANGE = re.compile(rb"\r\nrange: *bytes=(\d*)-(\d*)", re.IGNORECASE)
COUNTS = "/counts"


class Files:
    """What all connections share."""

    def __init__(self, folder: str, latency: float):
        self.folder = folder
        self.latency = latency
        self.waiting = 0
        self.counts = [0, 0, 0]
        self._maps: dict[str, tuple[Any, str]] = {}

    def arrived(self) -> None:
        """Count a request."""
        self.counts[0] += 1
        self.counts[1] += self.waiting == 0
        self.waiting += 1

    def find(self, name: str) -> tuple[Any, str] | None:
        """Return the bytes of a file and its ETag, from size and time."""
        if name not in self._maps:
            path = os.path.join(self.folder, name.lstrip("/"))
            if not os.path.isfile(path):
                return None
            status = os.stat(path)
            with open(path, "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if status.st_size else b""
            self._maps[name] = memoryview(data), f'"{status.st_size:x}-{status.st_mtime_ns:x}"'
        return self._maps[name]

    def answer(self, head: bytes) -> tuple[bytes, Any]:
        """Return the head and the body of an answer."""
        method, target, _ = head.split(b" ", 2)
        found = self.find(target.decode().partition("?")[0])
        if found is None:
            return _head("404 Not Found", 0), b""
        data, tag = found
        first, end, status = 0, len(data), "200 OK"
        asked = RANGE.search(head)
        if asked is not None:
            status = "206 Partial Content"
            if asked[1]:
                first, end = int(asked[1]), min(int(asked[2]) + 1 if asked[2] else end, end)
            else:
                first = max(end - int(asked[2]), 0)
            if first >= end:
                return _head("416 Range Not Satisfiable", 0, f"Content-Range: bytes */{len(data)}"), b""
        part = f"Content-Range: bytes {first}-{end - 1}/{len(data)}" if asked else ""
        body = data[first:end]
        return _head(status, len(body), part, f"ETag: {tag}"), b"" if method == b"HEAD" else body


def _head(status: str, size: int, *lines: str) -> bytes:
    fields = [f"HTTP/1.1 {status}", f"Content-Length: {size}", "Accept-Ranges: bytes", *filter(None, lines)]
    return "\r\n".join([*fields, "", ""]).encode()


class Connection(asyncio.Protocol):
    """A connection, which the client ends."""

    def __init__(self, files: Files):
        self.files = files
        self.data = b""
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Remember the transport."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Receive requests, none of which has a body."""
        self.data += data
        while b"\r\n\r\n" in self.data:
            head, _, self.data = self.data.partition(b"\r\n\r\n")
            if head.split(b" ", 2)[1] == COUNTS.encode():
                counts, self.files.counts = self.files.counts, [0, 0, 0]
                body = json.dumps(counts).encode()
                self.transport.writelines([_head("200 OK", len(body)), body])
                continue
            self.files.arrived()
            asyncio.get_running_loop().call_later(self.files.latency, self.send, b"\r\n".join([head, b""]))

    def send(self, head: bytes) -> None:
        """Send an answer."""
        self.files.waiting -= 1
        parts = self.files.answer(head)
        self.files.counts[2] += len(parts[1])
        if not self.transport.is_closing():
            self.transport.writelines(parts)


async def main(folder: str, latency: float) -> None:
    """Serve a folder until the input ends."""
    files = Files(folder, latency)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(files), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1], float(sys.argv[2])))
