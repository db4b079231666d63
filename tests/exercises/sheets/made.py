"""An exercise with every kind of answer and every piece of Markdown, for the tests of sheets."""

from __future__ import annotations

from dalembert.exercises.exercise import Answer, Exercise, Wrong

TEXT = r"""A planar arm has links $l_1 = 2$ m and $l_2 = 3$ m; 50 % of it & more costs \$5. Read `a_b`.

| link | $|l_i|$ [m] | angle |
|---|---|---|
| 1 | 2 | 0° |
| 2 | 3 | 90° |

Use
$$x = l_1 \cos q_1 + l_2 \cos(q_1 + q_2)$$
and *mind* the **sign of $q_2$**; θ̇₁ < 0:

- one
  goes on
- two
"""
MADE = Exercise(
    title="Tip of an arm",
    text=TEXT,
    answers=(
        Answer("x", "number", 2.0, "m",
               wrong=(Wrong(5.0, r"The angle was left out: $\cos 90° = 0$."), Wrong(3.0, "This is y.", 0.5))),
        Answer("T", "number", 35.0, "N m", points=2, size="two digits"),
        Answer("M12", "formula", "I2 + m2*(r2**2 + l1*r2*cos(q2))", symbols=("I2", "m2", "r2", "l1", "q2"), points=2,
               wrong=(Wrong("I2 + m2*(r2**2 + 2*l1*r2*cos(q2))", "The factor 2 belongs to M11.", 0.5),)),
        Answer("J", "matrix", [[-3.0, -3.0], [2.0, 0.0]], "m", points=2,
               wrong=(Wrong([[3.0, 3.0], [2.0, 0.0]], r"The sign: $\partial \cos = -\sin$; {1}~#.", 0.5),)),
        Answer("A", "matrix", [["-l1*sin(q1)", "0"], ["l1*cos(q1)", "1"]], symbols=("l1", "q1")),
        Answer("v", "matrix", [1.0, 4.0], "m/s"),
        Answer("kind", "choice", r"at $q_2 = 0$", choices=("never", r"at $q_2 = 0$", r"at $q_2 = \frac{\pi}{2}$ <b>"),
               wrong=(Wrong("never", r"det J is $l_1 l_2 \sin q_2$."),)),
    ),
    hints=("Draw the arm.", "Use $c_{12} = \\cos(q_1 + q_2)$."),
    solution=("With $\\cos 90° = 0$: $x = l_1 = 2$ m.",
              "So\n\n$$J = \\begin{bmatrix} -3 & -3 \\\\ 2 & 0 \\end{bmatrix}$$\n\nis it."),
    family="made",
    seed=7,
)  # fmt: skip
