"""Requests to S3 are counted as they pass the gateway."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from campaigns.bench.s3_state import for_state
from servers.gateway import gateway


class _Anything(BaseHTTPRequestHandler):
    """Answers every request."""

    def do_any(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_POST = do_DELETE = do_GET = do_any  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def upstream() -> Iterator[int]:
    """The port of a server that answers everything."""
    server = HTTPServer(("127.0.0.1", 0), _Anything)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def test_requests_for_state_are_counted_bulk_deletes_too(upstream: int) -> None:
    """A bulk delete names its objects in the body: it counts if there is state among them."""
    sent = [
        ("PUT", "/checkpoints/job/state/0/1/v1.arrow", b"rows"),
        ("POST", "/checkpoints?delete", b"<Delete><Key>job/state/0/1/v1.arrow</Key></Delete>"),
        ("POST", "/checkpoints?delete=", b"<Delete><Key>job/offsets/3</Key></Delete>"),
        ("GET", "/checkpoints?list-type=2&prefix=job%2Fstate%2F0%2F1%2F", b""),
        ("PUT", "/checkpoints/job/offsets/4", b"<Key>job/state/0/1</Key>"),
    ]
    with gateway(upstream) as front:
        for method, path, body in sent:
            connection = HTTPConnection("127.0.0.1", front.port)
            connection.request(method, path, body)
            assert connection.getresponse().status == 200
            connection.close()
    assert [method for method, _ in for_state(front.requests)] == ["PUT", "POST", "GET"]
