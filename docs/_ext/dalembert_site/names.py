"""Which name of a thing its documentation stands under: the shortest public one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any

# Packages whose own names are the public ones of what lies in them.
DOORS = (
    "dalembert",
    "dalembert.control",
    "dalembert.trajectories",
    "dalembert.identification",
    "dalembert.simulation",
    "dalembert.constrained",
    "dalembert.kinematics",
    "dalembert.bounds",
    "dalembert.lagrange",
    "dalembert.actuation",
    "dalembert.optimal",
    "dalembert.planning",
    "dalembert.collision",
    "dalembert.firmware",
    "dalembert.friction",
    "dalembert.spatial",
    "dalembert.compile",
    "dalembert.trust.properties",
    "dalembert.interchange",
    "dalembert.draw",
)


def names_of(package: ModuleType) -> list[str]:
    """The public names of a package that are not modules."""
    return [name for name in package.__all__ if not isinstance(getattr(package, name), ModuleType)]


@cache
def public() -> dict[int, str]:
    """By identity of a class or function: its public name. The first door wins."""
    found: dict[int, str] = {}
    for door in DOORS:
        package = importlib.import_module(door)
        for name in names_of(package):
            value = getattr(package, name)
            if hasattr(value, "__qualname__"):
                found.setdefault(id(value), f"{door}.{name}")
    return found


@cache
def modules(package: str) -> tuple[str, ...]:
    """Every module of a package, packages inside it too, that may be read: none whose name starts with _."""
    home = importlib.import_module(package)
    if not hasattr(home, "__path__"):
        return (package,)
    inside = pkgutil.walk_packages(home.__path__, f"{package}.")
    return (package, *sorted(m.name for m in inside if "._" not in m.name and ".assets" not in m.name))


@cache
def own(module: str) -> tuple[str, ...]:
    """What a module defines itself, says something about, and no door shows: in the order of the source."""
    home = importlib.import_module(module)
    found = []
    for name, value in vars(home).items():
        theirs = getattr(value, "__module__", None) == module and hasattr(value, "__qualname__")
        if theirs and not name.startswith("_") and value.__doc__ and id(value) not in public():
            found.append(name)
    return tuple(found)


def resolve(path: str) -> tuple[Any, list[str]]:
    """The class, function or module of a dotted path, and what is left over (a method's name)."""
    parts = path.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        rest = parts[k:]
        while rest and not isinstance(found, type):
            found = getattr(found, rest.pop(0))
        if rest:
            getattr(found, rest[0])  # a name that is not there is noticed
        return found, rest
    raise AttributeError(path)


def documented(path: str) -> str:
    """The name under which the reference has it: documented("dl.Robot.fk") is "dalembert.Robot.fk"."""
    if path.startswith("dl."):
        path = f"dalembert.{path[3:]}"
    elif not path.startswith("dalembert"):
        path = f"dalembert.{path}"
    found, rest = resolve(path)
    if isinstance(found, ModuleType):
        return found.__name__
    name = public().get(id(found), f"{found.__module__}.{found.__qualname__}")
    return ".".join([name, *rest])
