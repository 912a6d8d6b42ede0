"""Faults at random moments, many times each; the rows must equal those of an undisturbed run."""
