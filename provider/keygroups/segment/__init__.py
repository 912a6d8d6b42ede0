"""Segments: immutable, sorted, columnar files of rows. Independent of Spark, checkpoints and sessions."""
