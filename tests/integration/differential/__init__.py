"""Spark as the oracle: every stateful operator on two state store providers, compared batch by batch and row by row."""
