"""Names of packages and methods of classes that are imported when they are first used, so that importing the package or
the class itself is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazy_names(
    package: str, names: Mapping[str, Sequence[str]], modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """(__getattr__, __dir__, __all__) of a package: `names` lists, for each module in it, the names to be found there;
    `modules` are modules by the names they have at the door."""
    modules = modules or {}
    home = {name: module for module, found in names.items() for name in found}
    here = import_module(package)

    def find(name: str) -> object:
        if name in home:
            value: object = getattr(import_module(f"{package}.{home[name]}"), name)
        elif name in modules:
            value = import_module(f"{package}.{modules[name]}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=here)
        setattr(here, name, value)
        return value

    return find, lambda: sorted({*vars(here), *home, *modules}), [*sorted(home), *modules]


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
