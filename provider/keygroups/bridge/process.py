"""The store process: it starts with a line on standard input, and ends when standard input closes."""

from __future__ import annotations

import faulthandler
import logging
import os
import shutil
import sys
from pathlib import Path

import msgspec
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters

from keygroups._version import __version__
from keygroups.bridge.server import Server
from keygroups.decoding import decode


class Start(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The line on standard input. It contains the token, so it is not passed in argv or the environment.

    Attributes:
        token: what every connection must send first.
        folder: for local files; exists, 0700, and is deleted at the end.
    """

    token: str
    folder: str


def run() -> None:
    """Serve until standard input closes, then delete the local folder."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    faulthandler.enable()  # the stack of a crash in native code goes to the executor's log
    start = decode(sys.stdin.buffer.readline(), Start)
    folder = Path(start.folder)
    gateway = ClientServer(
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
