"""Public functions and modules: no two of them share a name."""

from __future__ import annotations

import importlib
import pkgutil
import types

import pytest

import dalembert as dl

PACKAGES = ["dalembert", *(m.name for m in pkgutil.walk_packages(dl.__path__, "dalembert.") if m.ispkg)]
SUBMODULES = {m.name for m in pkgutil.walk_packages(dl.__path__, "dalembert.")}
# Functions that have the name of the file or folder they are in. `dl.verify` and `dl.simulate` are functions at the
# top level; their files are not public.
OWN_FILE = {"build", "check", "lab", "simulate", "verify", "bounds", "friction", "root_locus"}


def public(package: str) -> dict[str, object]:
    module = importlib.import_module(package)
    return {name: getattr(module, name) for name in getattr(module, "__all__", ())}


def is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)


MODULES = {name for package in PACKAGES for name, x in public(package).items() if isinstance(x, types.ModuleType)}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_function_has_the_name_of_a_public_module(package: str) -> None:
    functions = {name for name, value in public(package).items() if is_function(value)}
    assert functions & MODULES <= OWN_FILE
    assert {name for name in functions if f"{package}.{name}" in SUBMODULES} <= OWN_FILE


def test_the_top_level_holds_what_users_reach_for_first() -> None:
    """Parts of descriptions, SE(3) functions and SymPy helpers are one module further."""
    assert len(dl.__all__) <= 85
    for module, names in {
        "describe": ("Box", "DHRow", "Inertial", "Joint", "Limit", "Link", "Origin"),
        "lagrange": ("Particle", "RigidBody", "coordinates", "rate"),
        "se3": ("adjoint", "exp6", "inverse", "log6", "pose", "screw"),
    }.items():
        for name in names:
            assert getattr(getattr(dl, module), name) is not None
            assert name == "pose" or name not in dl.__all__
    assert is_function(dl.pose) and dl.pose is dl.se3.pose
    with pytest.raises(AttributeError, match=r"dl\.se3\.exp6"):
        getattr(dl, "exp6")  # noqa: B009
