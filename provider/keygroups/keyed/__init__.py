"""Runs a keyed function over rows and timers: its states, over tables that something else keeps."""
