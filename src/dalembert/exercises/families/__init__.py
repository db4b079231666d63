"""The families of exercises, one module for each chapter of a course; importing this package registers them all."""

from importlib import import_module
from pkgutil import iter_modules

for module in iter_modules(__path__):
    import_module(f"{__name__}.{module.name}")
