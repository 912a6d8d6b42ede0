"""Shared parts of the tests: the Spark session, random inputs, and the engine that compares providers."""
