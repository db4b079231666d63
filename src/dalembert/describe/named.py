"""Robots by the names of the package robot_descriptions: "ur5e_description", "panda_mj_description", …

The package fetches a robot's files by git when it is first asked for, and keeps them.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from dalembert.errors import DescriptionError, MissingExtraError, choose

ENDING = "_description"  # what all of its names end in
# In which of a module's names the file may stand, in the order in which they are taken.
_PATHS = ("URDF_PATH", "MJCF_PATH", "XACRO_PATH")


def is_named(text: str) -> bool:
    return text.endswith(ENDING) and text.isidentifier()


def path_of(name: str) -> Path:
    """The file of a robot by its name: URDF where there is one, else MJCF or xacro."""
    try:
        names = list(import_module("robot_descriptions").DESCRIPTIONS)
    except ImportError:
        problem = f"{name!r} is a name of the package robot_descriptions, which is not installed"
        remedy = "Install it with pip install 'dalembert[descriptions]'."
        raise MissingExtraError("missing-extra", "robot_descriptions", problem=problem, remedy=remedy) from None
    choose("name of robot_descriptions", name, names)
    try:
        module = import_module(f"robot_descriptions.{name}")
    except Exception as error:  # git's, the network's, the disk's
        reason = str(error).strip().splitlines()
        problem = (
            f"{name!r} could not be fetched ({reason[-1].strip() if reason else type(error).__name__}); "
            "robot_descriptions downloads it with git on first use"
        )
        remedy = "Try again with a network, or load a file."
        raise DescriptionError("not-readable", "name", name, problem=problem, remedy=remedy) from None
    for attribute in _PATHS:
        if hasattr(module, attribute):
            return Path(getattr(module, attribute))
    problem = f"{name!r} of robot_descriptions has no {', '.join(_PATHS)}, and cannot be read"
    raise DescriptionError("unsupported", "name", name, problem=problem)
