"""Segments: immutable, sorted, columnar files of rows. Knows nothing of Spark, checkpoints or sessions."""
