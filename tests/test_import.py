"""`import dalembert` is cheap, complete and strict."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import dalembert

HEAVY = ("sympy", "scipy", "matplotlib", "llvmlite")
SCRIPT = """
import json, sys
import dalembert as dl
first = sorted(sys.modules)
arm = dl.load("panda")
assert arm.n == 7
print(json.dumps([first, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def loaded() -> list[set[str]]:
    """The modules after `import dalembert`, and after loading a robot, in a process of its own."""
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    return [set(names) for names in json.loads(run.stdout)]


@pytest.mark.parametrize("library", HEAVY)
def test_nothing_heavy_is_loaded(loaded, library):
    after_import, after_load = loaded
    assert "dalembert.robot" in after_load
    assert library not in after_import
    assert library not in after_load


def test_a_robot_that_is_only_looked_at_needs_no_compiler(loaded):
    assert not {name for name in loaded[1] if name.startswith("dalembert.compile")}


def test_the_import_itself_loads_no_module_of_ours(loaded):
    """But the one that must be there before another thread imports, and the one that imports the others late."""
    assert {name for name in loaded[0] if name.startswith("dalembert.")} == {"dalembert.forking", "dalembert.lazy"}


def test_every_public_name_is_there():
    assert {"Robot", "load", "pose", "simulate", "describe", "lagrange", "se3"} <= set(dalembert.__all__)
    for name in dalembert.__all__:
        assert name in dir(dalembert)
        assert getattr(dalembert, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'dalembert' has no attribute 'rbot'"):
        dalembert.rbot  # noqa: B018
    assert not hasattr(dalembert, "simulate_everything")
