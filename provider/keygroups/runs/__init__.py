"""Sorted runs: the local form of a store's state, and plans that combine runs. Knows segments and checkpoints."""
