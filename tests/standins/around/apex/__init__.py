"""A stand-in for Apex: a loss scaled for its backward, the gradients unscaled when the block ends."""
