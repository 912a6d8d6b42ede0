"""A gateway in front of an HTTP server: it counts requests, delays them, and lets them fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

Fault = Literal["", "503", "500", "cut before", "cut after", "stall"]
"""What happens to a request: nothing; an answer with that status; the connection is cut, before the request reaches the
server or when it has and the answer is lost; no answer until the client gives up."""

Faults = Callable[[str, str], Fault]
"""The fault of a request, by its method and path."""

STALL = 20.0
"""Seconds that a stalled request lasts; longer than the clients of the tests wait."""


@dataclass
class Gateway:
    """A running gateway.

    Attributes:
        port: it listens here, on loopback.
        faults: decides on each request; may be replaced at any time.
        latency: seconds that each request is held back.
        requests: method and path of each request so far; after a bulk delete's path comes the body with the names.
        injected: the faults that happened.
        most_reads: how many GETs were held back at the same time, at most.
    """

    port: int = 0
    faults: Faults = lambda _method, _path: ""
    latency: float = 0.0
    requests: list[tuple[str, str]] = field(default_factory=list)
    injected: list[Fault] = field(default_factory=list)
    most_reads: int = 0
    _reads: set[int] = field(default_factory=set)

    def hold(self, method: str, closing: threading.Event) -> None:
        """Hold a request back."""
        if method == "GET":
            self._reads.add(threading.get_ident())
            self.most_reads = max(self.most_reads, len(self._reads))
        closing.wait(self.latency)
        self._reads.discard(threading.get_ident())


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """Head and body of an answer are two packets: the second would wait 40 ms for the client's word of the first."""
    server: _Server

    def log_message(self, *_: object) -> None:
        """Nothing: requests are recorded."""

    def handle_one_request(self) -> None:
        """As the base class does; clients may go when they like."""
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def handle_any(self) -> None:
        """Record a request, and let it pass or fail."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        state, closing = self.server.state, self.server.closing
        bulk_delete = self.command == "POST" and urlsplit(self.path).query.startswith("delete")
        state.requests.append((self.command, self.path + body.decode() if bulk_delete else self.path))
        state.hold(self.command, closing)
        fault = state.faults(self.command, self.path)
        if fault:
            state.injected.append(fault)
        if fault == "":
            self._answer(*self._forward(body))
        elif fault in ("500", "503"):
            self._answer(int(fault), [], b"")
        else:
            if fault == "cut after":
                self._forward(body)
            closing.wait(STALL if fault == "stall" else 0)
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)
        try:
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("expect", "connection")}
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        length = str(len(content))
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = value
            elif name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.closing = threading.Event()
        self.state = Gateway(port=self.server_address[1])


@contextmanager
def gateway(upstream: int) -> Iterator[Gateway]:
    """A gateway in front of a port on loopback."""
    server = _Server(upstream)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.state
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
