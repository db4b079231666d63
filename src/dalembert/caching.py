"""Values computed once for each object."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property as cached_property  # noqa: TID251
else:

    class cached_property:
        """`functools.cached_property` without a lock.

        Python 3.11 holds one lock for all objects of a class while the value is computed. A process forked while a
        thread computes one (and compiles, for seconds) would wait for that lock forever. Here two threads may compute
        the same value; both get the one that was ready first."""

        def __init__(self, compute):
            self.compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.compute(instance))
