"""The vocabulary of the public interface: one word for one noun, wherever users write it."""

from __future__ import annotations

# (noun, word, note) of the table in docs/glossary.md, in its order.
VOCABULARY = (
    ("start position, velocity, whole state", "`q0`, `qd0`, `x0`", "always keywords"),
    (
        "target of a plan or motion",
        "`goal`",
        "an array is one configuration (n,) or several (k, n); a pose only as `{frame: T}`; a string names a posture",
    ),
    ("desired motion", "`reference`", "a set point, a trajectory, or a function of time; `--to` for a set point"),
    (
        "everything that acts on the system besides the controller",
        "`inputs`",
        "torques, wrenches, disturbances, parameters; constant, per step, or a function of time",
    ),
    (
        "forces at frames",
        '`wrenches={"tool": F}`',
        "act **on** the robot, in world axes: τ = M q̈ + c + g − Σ JᵀF. The "
        "notes' F_tip (applied *by* the tip) is the negative and appears only in equations and course",
    ),
    ("measurement", "`sensors`", "sample time, delay, noise, quantization"),
    ("bounds", "`limits`", "a `Limits` object or its fields; `limits=robot.limits`; True or False nowhere"),
    ("joint friction", "`friction`", "of the ground: `world.floor.friction`"),
    ("integration method and step", "`solver`, `dt`", '`"rk4"`, `dl.Solver(...)`'),
    (
        "numbers computed along a run",
        "`measures`",
        'one definition of each; `result.measures["rms_error"]` on every result',
    ),
    (
        "parameters that differ between runs",
        "`vary`",
        "qualified names (`controller.kp`, `payload.mass`, `world.floor.friction`); a short name is "
        "accepted if it is unique; arrays of B values, distributions, or a grid",
    ),
    ("obstacles, floor, objects", "`world`", "`--world`"),
    ("rows of a pose", "`rows`", "read in one place"),
    ("frame of a robot", "`frame`", ""),
    ("random seed", "`seed`", "an int or a `numpy.random.Generator`"),
    ("length of a motion; time budget of a search", "`duration`; `seconds`", ""),
    ("file that is written", "`output`", "`-o/--output`"),
    ("joints that stay where they are", "`locked`", ""),
)
