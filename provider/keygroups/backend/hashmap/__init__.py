"""``hashmap``: working state in mapped segments, in memory as far as memory reaches (Flink's HashMapStateBackend)."""

from keygroups.backend.hashmap.backend import HashMapBackend

__all__ = ["HashMapBackend"]
