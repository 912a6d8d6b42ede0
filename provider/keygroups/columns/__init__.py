"""UnsafeRows as Arrow columns and back, exact to the bit, many at once. Knows Spark's schemas, and needs no Spark."""
