"""Shared parts of the tests: the Spark session, random inputs, file sources, and the engine that compares two providers."""
