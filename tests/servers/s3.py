"""An S3 server on loopback, and what Spark needs to talk to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Literal

from servers.gateway import Gateway, gateway
from servers.jars import BUILD, jars
from servers.ports import await_port, free_ports

BUCKET = "checkpoints"
_VERSITYGW = BUILD / "versitygw"
_USER, _SECRET = "keygroups", "keygroups-secret"
Kind = Literal["moto", "versitygw"]


@dataclass
class S3:
    """A running server.

    Attributes:
        gateway: all requests pass it.
        url: of the bucket, for Spark.
    """

    gateway: Gateway
    url: str = f"s3a://{BUCKET}"

    @property
    def conf(self) -> dict[str, str]:
        """Spark's configuration for it."""
        s3a = {
            "endpoint": f"http://127.0.0.1:{self.gateway.port}",
            "endpoint.region": "us-east-1",
            "access.key": _USER,
            "secret.key": _SECRET,
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in s3a.items()}

    @property
    def class_path(self) -> str:
        """Jars of Hadoop's client."""
        return str(jars("s3a") / "*")


@contextmanager
def s3(folder: Path, kind: Kind = "moto") -> Iterator[S3]:
    """A server with an empty bucket.

    Args:
        folder: for its files; exists.
        kind: moto keeps objects in memory, versitygw in files.
    """
    (port,) = free_ports(1)
    with _process(_command(kind, port, folder), port), gateway(port) as front:
        if kind == "moto":
            _create_bucket(port)
        yield S3(front)


def _versitygw() -> str:
    """The program; Go builds it at the first use, in some minutes. Raises RuntimeError without Go."""
    if not _VERSITYGW.exists() and shutil.which("go") is None:
        raise RuntimeError("versitygw is built with Go, which is not installed: install it, or use --s3 moto")
    if not _VERSITYGW.exists():
        env = os.environ | {"GOBIN": str(_VERSITYGW.parent), "GOFLAGS": "-mod=mod"}
        subprocess.run(["go", "install", "github.com/versity/versitygw/cmd/versitygw@v1.8.0"], env=env, check=True)
    return str(_VERSITYGW)


def _command(kind: Kind, port: int, folder: Path) -> list[str]:
    if kind == "moto":
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    (folder / BUCKET).mkdir()
    command = [_versitygw(), "--port", f"127.0.0.1:{port}", "--access", _USER, "--secret", _SECRET]
    return [*command, "posix", str(folder)]


@contextmanager
def _process(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await_port(process, port)
        yield
    finally:
        process.kill()
        process.wait()


def _create_bucket(port: int) -> None:
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("PUT", f"/{BUCKET}")
    status = connection.getresponse().status
    connection.close()
    assert status == 200, f"the bucket could not be made: {status}"
