"""Exercises that grade themselves: families of variants with hints, worked solutions and common wrong answers."""
