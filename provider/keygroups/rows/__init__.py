"""Spark's UnsafeRow in Python: many rows at once, from and to Python values."""
