"""Generated training programs, linted and run: what adlint says of them against what PyTorch does."""
