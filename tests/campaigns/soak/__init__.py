"""``make soak``: a query of thousands of batches, whose state grows and shrinks in waves."""
