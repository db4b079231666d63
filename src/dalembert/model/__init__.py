"""The frozen data that algorithms run on, and how it comes from a Description."""

from dalembert.model.build import build
from dalembert.model.model import Body, Frame, Loop, Model

__all__ = ["Body", "Frame", "Loop", "Model", "build"]
