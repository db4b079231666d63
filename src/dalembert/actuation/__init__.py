"""What drives a robot, and what gives way between drive and link: motors, gears, flexible joints, friction."""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
