"""The families of exercises, one module for each chapter of a course."""

from dalembert.exercises.families import kinematics as kinematics, rotations as rotations, second_order as second_order
