"""Spark's own test suites on our provider."""
