"""Names of packages, methods of classes and other people's libraries that are imported when they are first used: until
then they cost nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

# Libraries that extras bring: the name by which people know one, and what to install.
EXTRAS = {
    "anywidget": ("anywidget", "dalembert[notebook]"),
    "casadi": ("casadi", "dalembert[casadi]"),
    "clarabel": ("clarabel", "dalembert[opt]"),
    "control": ("python-control", "dalembert[control]"),
    "gymnasium": ("gymnasium", "dalembert[gym]"),
    "jax": ("jax", "dalembert[jax]"),
    "matplotlib.pyplot": ("matplotlib", "dalembert[plot]"),
    "pandas": ("pandas", "dalembert[pandas]"),
    "pinocchio": ("pinocchio", "pin"),
    "polars": ("polars", "dalembert[polars]"),
    "pyarrow": ("pyarrow", "dalembert[parquet]"),
    "ruckig": ("ruckig", "dalembert[traj]"),
    "sympy": ("SymPy", "dalembert[lagrange]"),
    "torch": ("torch", "dalembert[torch]"),
}


def library(module: str) -> ModuleType:
    """A library of EXTRAS, or a MissingExtraError that says which command adds it."""
    try:
        return import_module(module)
    except ImportError:
        from dalembert.errors import MissingExtraError

        raise MissingExtraError("{} is not installed: pip install '{}'".format(*EXTRAS[module])) from None


def open_door(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """(__getattr__, __dir__, __all__) of a package whose names stand in its stub, `__init__.pyi`, once for us and for
    type checkers: `from dalembert.law import Law as Law`, and likewise modules after the package they are in."""
    here = import_module(package)
    with open(f"{here.__file__}i", encoding="utf-8") as stub:
        imports = [line for line in ast.parse(stub.read()).body if isinstance(line, ast.ImportFrom)]
    home = {alias.name: str(line.module) for line in imports for alias in line.names}

    def find(name: str) -> object:
        if name not in home:
            from dalembert.renamed import find_new_name

            new = find_new_name(package, name)
            hint = f"; use {new} instead" if new else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}", name=name, obj=here)
        found = vars(import_module(home[name]))
        value: object = found[name] if name in found else import_module(f"{home[name]}.{name}")
        setattr(here, name, value)
        return value

    return find, lambda: sorted({*vars(here), *home}), sorted(home)


class LateMethod:
    """A method that is a function of another module, `module:name`, whose first argument is the object: its signature
    and its documentation are the function's own."""

    def __init__(self, place: str) -> None:
        self.module, _, self.function = place.partition(":")

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> object:
        function = getattr(import_module(self.module), self.function)
        setattr(owner, self.name, function)  # from now on found without this detour
        return function.__get__(instance, owner)
