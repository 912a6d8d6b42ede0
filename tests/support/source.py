"""A streaming source that gives the same micro-batches in every run: one parquet file per batch, in a fixed order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

EPOCH = 1_700_000_000
"""Modification time of the first file in seconds; Spark orders files by it, so each file gets one of its own."""


class FileSource:
    """A folder of parquet files which Spark reads as a stream, one file per micro-batch."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        """Makes the folder.

        Args:
            folder: Where the files go; it must not exist.
            schema: Arrow schema of every file.
        """
        folder.mkdir(parents=True)
        self._folder, self._schema, self._files = folder, schema, 0

    def append(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Adds one batch; no rows make a batch without rows (the file has a schema and is not empty)."""
        path = self._folder / f"{self._files:06d}.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows), schema=self._schema), path)
        os.utime(path, (EPOCH + self._files, EPOCH + self._files))
        self._files += 1

    def stream(self, spark: SparkSession) -> DataFrame:
        """Returns the folder as a streaming DataFrame."""
        reader = spark.readStream.schema(from_arrow_schema(self._schema)).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._folder))
