"""One table of controllers: by a row the command line, the studio, the report and pictures know one."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import dalembert as dl
from dalembert.control import CONTROLLERS, Controller, Entry, diagram_of, register
from dalembert.control.registry import offered
from errors import raises


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_row_has_its_class_its_words_and_its_picture(name):
    entry = CONTROLLERS[name]
    found = entry.controller
    assert entry.name == name and issubclass(found, Controller) and found.equation and found.source
    assert (
        entry.title and entry.sentence and entry.follows in ("joints", "tip") and entry.report in ("", "quick", "full")
    )
    if entry.needs:
        with raises(dl.InputError, "missing"):
            entry.make(dl.load("planar-2r"), 5.0, 1.0)
    else:
        made = entry.make(dl.load("planar-2r"), 5.0, 1.0, [0.3, 0.8])
        assert type(made) is found and diagram_of(made).faults() == []
        assert bool(made.law().parameters) == bool(entry.settings) and made.law().asked == entry.asked


def test_every_controller_has_its_row():
    classes = {entry.controller for entry in CONTROLLERS.values()}
    every = [getattr(part, name) for part in (dl.control, dl.optimal) for name in part.__all__]
    assert {c for c in every if isinstance(c, type) and issubclass(c, Controller)} - {Controller} == classes


def test_a_name_is_given_once():
    with raises(dl.InputError, "duplicate entry"):
        register(Entry("pd", "another", ".joint_space.PD", ""))
    assert "another" not in CONTROLLERS


def test_a_controller_from_outside_is_offered_everywhere(tmp_path):
    """One file and one row, in a process of its own: what is registered stays registered."""
    (tmp_path / "toy.py").write_text(
        textwrap.dedent(
            '''
            """A controller of someone else: a damper, and gravity."""

            from dataclasses import KW_ONLY, dataclass, field
            from typing import Any, ClassVar

            from dalembert.algorithms import newton_euler
            from dalembert.control import CONTROLLERS, Controller, Entry, register
            from dalembert.control.conditions import assumed
            from dalembert.control.controller import sub, total
            from dalembert.control.gains import must


            @dataclass(frozen=True, eq=False)
            class Damper(Controller):
                robot: Any
                _: KW_ONLY
                kd: Any = field(metadata=must("N m s/rad"))
                equation: ClassVar[str] = "τ = K_d ė + g(q)"
                source: ClassVar[str] = "a test"

                @classmethod
                def for_bandwidth(cls, robot, omega, zeta=1.0):
                    return cls(robot, kd=2 * zeta * omega)

                def make(self):
                    def torque(q, qd, q_d, qd_d, kd):
                        return total(kd(sub(qd_d, qd)), newton_euler.gravity_torque(self.robot.model, q))

                    return self.joint_law("damper", torque, orders=2)

                def conditions(self):
                    return self.claim("it comes to rest", assumed("the model is the robot"))


            register(Entry("damper", "a damper", "toy.Damper", "τ = K_d ė + g(q)", chains=True, report="full"))
            '''
        ),
        encoding="utf-8",
    )
    script = """
    import toy
    import numpy as np
    from click.testing import CliRunner
    import dalembert as dl
    from dalembert.apps.cli import main
    from dalembert.apps.report.task import _controllers
    from dalembert.control.registry import suitable

    arm = dl.load("planar-2r")
    assert "damper" in CliRunner().invoke(main, ["simulate", "--help"]).output
    out = CliRunner().invoke(main, ["simulate", "planar-2r", "--controller", "damper", "--json"])
    assert out.exit_code == 0, out.output
    out = CliRunner().invoke(main, ["tune", "planar-2r", "--controller", "pid"])
    assert out.exit_code == 0, out.output
    assert "a damper" in suitable(arm) and "a damper" in suitable(dl.load("four-bar"))
    assert "a damper" in _controllers(arm, quick=False) and "a damper" not in _controllers(arm, quick=True)
    made = dl.control.CONTROLLERS["damper"].make(arm, 5.0, 1.0)
    drawn = dl.control.diagram_of(made)
    assert drawn.title == "Damper" and drawn.faults() == []
    assert np.allclose(made(0.0, [0.1, 0.2], [1.0, 2.0], [0.0, 0.0]), arm.gravity_torque([0.1, 0.2]) - [10.0, 20.0])
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_offered_needs_a_bandwidth_alone():
    assert "impedance" in offered() and "impedance" not in offered("joints") and "adaptive" not in offered()
    assert list(offered("tip")) == ["impedance"]
    assert set(offered()) - set(offered(compiled=True)) == {"predictive"}
