"""The keyed state of one partition in a Python worker: files of a version, and over them the writes of a task."""
