"""Stores: one (operator, partition, name) of a query; its versions, sessions, compaction and retention."""
