"""The store process: it starts with a line on standard input, and ends when standard input closes."""

from __future__ import annotations

import faulthandler
import logging
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Final

import msgspec
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters, PythonServer

from keygroups._version import __version__
from keygroups.bridge.memory import limit_arenas
from keygroups.bridge.server import Server
from keygroups.decoding import decode

_PAUSE_SECONDS: Final = 1.0


class Start(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The line on standard input. It contains the token, so it is not passed in argv or the environment.

    Attributes:
        token: what every connection must send first.
        folder: for local files; exists, 0700, and is deleted at the end.
    """

    token: str
    folder: str


class _Connections(PythonServer):  # type: ignore[misc]
    """Go on after an error: py4j's server ends when it cannot accept a connection, as for want of a file handle."""

    def run(self) -> None:
        super().run()
        while not self.is_shutdown:
            threading.Event().wait(_PAUSE_SECONDS)  # each error is a stack trace in the log
            super().run()


class _Gateway(ClientServer):  # type: ignore[misc]
    def _create_callback_server(self, _parameters: object) -> PythonServer:
        return _Connections(self._gateway_client, self.java_parameters, self.python_parameters, self.gateway_property)


def run() -> None:
    """Serve until standard input closes, then delete the local folder."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    faulthandler.enable()  # the stack of a crash in native code goes to the executor's log
    limit_arenas()
    start = decode(sys.stdin.buffer.readline(), Start)
    folder = Path(start.folder)
    gateway = _Gateway(
        java_parameters=JavaParameters(auth_token=start.token, auto_gc=False),
        python_parameters=PythonParameters(
            address="127.0.0.1", port=0, daemonize=True, daemonize_connections=True, auth_token=start.token
        ),
        python_server_entry_point=Server(folder),
    )
    callbacks = gateway.get_callback_server()
    callbacks.server_socket.listen()  # py4j does so in a thread of its own, which may not have begun
    ready = msgspec.json.encode({"port": callbacks.get_listening_port(), "version": __version__, "pid": os.getpid()})
    sys.stdout.write(ready.decode() + "\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)  # threads may still run native code; their results are not needed
