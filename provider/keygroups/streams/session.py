"""What keyed functions need of a session and its driver: settings, packages, and the column that runs Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction

from keygroups.configure import EXTENSIONS, EXTENSIONS_SETTING, PROVIDER, PROVIDER_CLASS
from keygroups.errors import SettingError


def require_provider(session: SparkSession, uid: str) -> None:
    """Check the session's settings.

    Raises:
        SettingError: It has another state store provider, or not our extension.
    """
    provider = session.conf.get(PROVIDER_CLASS, None)
    extensions = str(session.conf.get(EXTENSIONS_SETTING, "")).split(",")
    if provider != PROVIDER or EXTENSIONS not in extensions:
        raise SettingError(
            f"operator {uid!r} needs the state store provider of Keygroups",
            expected=f"{PROVIDER_CLASS}={PROVIDER} and {EXTENSIONS_SETTING}={EXTENSIONS}",
            found=f"{provider} and {','.join(extensions)}",
            fix="build the session with keygroups.configure, or with what `keygroups conf` prints",
        )


def require_protobuf(uid: str) -> None:
    """Check that this interpreter can tell Spark of states: PySpark does so in messages of protobuf.

    Raises:
        SettingError: protobuf is missing, or too old for this PySpark.
    """
    try:
        import_module("pyspark.sql.streaming.proto.StateMessage_pb2")
    except Exception as error:  # of an old protobuf: a class that only newer ones have
        raise SettingError(
            f"operator {uid!r} needs the Python package protobuf on the driver",
            expected=f"a release that fits this PySpark, for {sys.executable}",
            found=str(error)[:300],
            fix="pip install 'protobuf>=6.33.5,<8'",
        ) from error


def python_column(columns: Sequence[Column], function: Callable[..., Any], output: StructType, kind: int) -> Column:
    """Give the call of a Python function on columns of a DataFrame.

    PySpark's ``pandas_udf`` gives the same, but only where pandas is installed: no row of ours becomes a frame of it.

    Args:
        columns: The columns.
        function: What Spark pickles and calls.
        output: What it gives.
        kind: How Spark calls it, of ``PythonEvalType``.
    """
    made = UserDefinedFunction(function, output, evalType=kind)
    return made(*columns)
