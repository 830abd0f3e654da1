"""Programs rewritten so that they mean the same, for tests that ask for the same findings."""
