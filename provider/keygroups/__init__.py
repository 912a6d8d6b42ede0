"""Keygroups: Flink's state, on Spark Structured Streaming.

``configure(SparkSession.builder)`` switches the provider on; on a cluster, ``keygroups conf`` prints what does.
"""

from keygroups._version import __version__
from keygroups.configure import configure, jar_path

__all__ = ["__version__", "configure", "jar_path"]
