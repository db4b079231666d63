"""Lagrangian systems: the seeds' examples, laws, bad input."""
