"""Tests that run what the documentation says."""
