"""Checkpoint files: names, manifests, what a version needs, what retention may delete. Knows segments only."""
