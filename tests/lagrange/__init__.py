"""Lagrangian systems: the notes' examples, laws, bad input."""
