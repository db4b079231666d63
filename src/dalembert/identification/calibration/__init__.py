"""Corrections of an arm's geometry from measured tips."""
