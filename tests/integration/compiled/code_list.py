"""A plugin of pytest: before the session's JVM ends, it writes what its compilers have made to $KEYGROUPS_COMPILED."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaigns.soak.sample import jvm_pid


@pytest.fixture(scope="session", autouse=True)
def code_list(spark: SparkSession) -> Iterator[None]:
    """Ends before the Spark session does."""
    yield
    command = ["jcmd", str(jvm_pid(spark)), "Compiler.codelist"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    Path(os.environ["KEYGROUPS_COMPILED"]).write_text(listed)
