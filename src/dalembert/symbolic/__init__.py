"""The algorithms over canonical polynomials: exact equations of a robot, and a form of them for people."""
