"""State backends: where the working state of a store lives, one folder each. Know segments and checkpoints."""
