"""Kinematics and dynamics, each written once as a plain function of a model and arrays of scalars.

Nothing here knows what a scalar is: a float gives a number, a trace node gives machine code, a
polynomial gives the equation. Algorithms branch on structure (the tree, the kinds of joint), never
on values. Vectors are sequences, matrices are sequences of rows.
"""
