"""Packages whose names are imported when they are first used, so that importing the package itself is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType


def lazy_names(
    package: str, names: Mapping[str, str], modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """(__getattr__, __dir__, __all__) of a package: `names` gives the module each name lives in, `modules` the modules
    known by a name of their own."""
    modules = modules or {}
    here: ModuleType = import_module(package)

    def find(name: str) -> object:
        if name in names:
            value: object = getattr(import_module(names[name]), name)
        elif name in modules:
            value = import_module(modules[name])
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(here, name, value)
        return value

    return find, lambda: sorted({*vars(here), *names, *modules}), [*sorted(names), *modules]
