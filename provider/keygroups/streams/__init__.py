"""Keyed functions on Spark's DataFrames."""

from keygroups.streams.keyed import KeyedStream, key_by
from keygroups.streams.side_outputs import main_output, side_output

__all__ = ["KeyedStream", "key_by", "main_output", "side_output"]
