"""The families of exercises, one module for each chapter of a course."""
