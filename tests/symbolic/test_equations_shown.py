"""What people see: the golden 2R, what notebooks show, code that agrees."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path

import math_core
import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.description import Description, Joint, Link
from errors import raises

GOLDEN = Path(__file__).parent / "golden"
CONVERTER = math_core.LatexToMathML()


def equations(name: str, *a, **o):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.load(name).equations(*a, **o)


def test_the_planar_arm_as_a_person_writes_it():
    assert equations("planar-2r").text() == (GOLDEN / "planar-2r.txt").read_text()


def test_notebooks_show_mathematics():
    e = equations("planar-2r")
    shown = e._repr_latex_()
    assert shown.startswith("$") and shown.endswith("$")
    CONVERTER.convert_with_local_state(shown.strip("$"), displaystyle=True)
    assert equations("panda")._repr_latex_() is None  # then a notebook shows what follows
    assert "7 joints" in repr(equations("panda"))


@pytest.mark.parametrize("name", ["planar-2r", "scara", "stanford", "puma560"])
def test_kernels_and_sources_give_the_same_numbers(name, tmp_path):
    robot = dl.load(name)
    e = equations(name)
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (2, 20, robot.n))
    for what, wanted, arguments in (
        ("M", robot.mass_matrix(q), (q,)),
        ("g", robot.gravity_torque(q), (q,)),
        ("C", robot.coriolis_matrix(q, qd), (q, qd)),
    ):
        kernel = e.kernel(what)
        if what == "g" and kernel.arguments != ("q",):
            raise AssertionError(kernel.arguments)
        scale = max(np.abs(wanted).max(), 1e-3)
        assert np.abs(kernel(*arguments) - wanted).max() / scale < 1e-12
        space: dict = {}
        exec(kernel.numpy_source(), space)
        assert np.abs(space[what](*arguments) - wanted).max() / scale < 1e-12


def test_c_source(tmp_path):
    e = equations("planar-2r")
    kernel = e.kernel("M")
    (tmp_path / "m.c").write_text(kernel.c_source("mass"))
    (tmp_path / "mass.h").write_text(kernel.c_header("mass"))
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "mass.h"\nint main(void) { double q[2] = {0.3, -0.7}, M[4]; mass(q, M); '
        'printf("%.17g %.17g %.17g %.17g", M[0], M[1], M[2], M[3]); return 0; }\n'
    )
    subprocess.run(["cc", "-O2", "-o", "m", "m.c", "main.c", "-lm"], cwd=tmp_path, check=True)
    got = subprocess.run([tmp_path / "m"], capture_output=True, text=True, check=True).stdout.split()
    assert np.allclose([float(x) for x in got], dl.load("planar-2r").mass_matrix([0.3, -0.7]).reshape(-1), rtol=1e-14)


def test_kernels_of_parameters():
    e = equations("planar-2r")
    kernel = e.kernel("g", parameters=["m2", "g"])
    q = np.array([0.3, -0.4])
    assert kernel.arguments == ("q", "parameters")
    heavier = dl.load("planar-2r").with_gravity([0, -3.7, 0])
    assert np.allclose(kernel(q, [1.0, 3.7]), heavier.gravity_torque(q), rtol=1e-13)
    with raises(dl.UnknownNameError, "unknown-name"):
        e.kernel("g", parameters=["m7"])


def test_sympy():
    import sympy

    e = equations("planar-2r")
    M = e.sympy("M")
    m2, r2, l1, I2, q2 = sympy.symbols("m2 r2 l1 I2 q2", real=True)
    assert sympy.expand(M[0, 1] - (I2 + m2 * r2**2 + m2 * l1 * r2 * sympy.cos(q2))) == 0
    assert e.sympy("Gamma").shape == (2, 2, 2)
    assert e.sympy("M12") == M[0, 1]


def test_the_full_closed_form_of_a_large_robot(tmp_path):
    e = equations("iiwa7")
    file = e.save(tmp_path / "iiwa.txt", "M", "g")
    lines = file.read_text().splitlines()
    assert len(lines) == 1 + 49 + 7
    name, formula = lines[-2].split(" = ")
    assert e.compare(name, formula)
    shown = e.structure()
    assert "which coordinates" in shown and "terms" in shown


def test_determinants_factored():
    assert equations("planar-2r").factored("det") == "l1*l2*s2"
    assert equations("elbow-3r").factored("det") == "-a2*a3*s3*(a2*c2 + a3*c23)"
    assert equations("puma560").factored("det") == "a2*s5*(d4*c3 + a3*s3)*(a2*c2 + a3*c23 - d4*s23)"
    assert equations("ur5e").factored("det") == "a2*a3*s3*s5*(a2*c2 + a3*c23 + d5*s234)"
    with raises(dl.InputError, "unsupported rows"):
        equations("panda").det_jacobian()
    e = equations("planar-2r")
    with raises(dl.InputError, "wrong-value rows"):
        e.det_jacobian(rows=[0, 0])


def test_more_than_nine_joints():
    links, joints = [Link("base")], []
    for k in range(12):  # a comb: twelve arms on one base, so that the equations are short
        links.append(
            Link(f"l{k}", dl.describe.Inertial(1.0, (0, 0, 0, 0.1, 0, 0.1), dl.describe.Origin((0.2, 0.0, 0.0))))
        )
        joints.append(
            Joint(f"j{k}", "continuous", "base", f"l{k}", dl.describe.Origin((0.0, 0.5 * k, 0.0)), (0.0, 1.0, 0.0))
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        robot = dl.Robot(Description("comb", tuple(links), tuple(joints)))
    e = robot.equations()
    assert e.entry("g12") == e.g[11] and e.entry("M1,12") == e.M[0][11] and e.entry("M[12, 12]") == e.M[11][11]
    assert e.compare("g12", e.text("g", lump=False).splitlines()[11].split(" = ")[1])


def test_det_is_factored_in_every_format():
    e = equations("puma560")
    assert "s_{5}" in e.latex("det") and e.latex("det").count("&=") == 1
    assert e.text("det") == "det = a2*s5*(d4*c3 + a3*s3)*(a2*c2 + a3*c23 - d4*s23)\n"
