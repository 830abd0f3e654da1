"""A stand-in for Catalyst."""
