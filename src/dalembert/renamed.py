"""Names of version 0.2.0 that have changed: the table behind the error for an old name and behind docs/migration.md."""

from __future__ import annotations

# One row per old public name: where it was used, the old name, the new name or the code that replaces it.
# "dalembert" is the top level; other places are a class, a function (for its parameters), a module or "command line".
RENAMED: tuple[tuple[str, str, str], ...] = (
    (
        "dalembert.control",
        "PDGravity(arm, 100, 20)",
        "gains of all controllers are keywords: PDGravity(arm, kp=100, kd=20)",
    ),
    ("Certificate", "members", "`methods`"),
    ("dalembert.identification", "suspension", "`pendulum`"),
    ("dalembert.identification", "Weighing", "`numpy.linalg.lstsq` on (c − p) × gravity = 0"),
    ("dalembert.identification", "Balance", "`numpy.linalg.lstsq` on (c − p) × gravity = 0"),
    ("dalembert.identification", "center_of_mass", "`numpy.linalg.lstsq` on (c − p) × gravity = 0"),
    ("dalembert.exercises.sheets.FORMATS", "latex", "`markdown` or `pdf`"),
    ("dalembert.exercises.sheets.FORMATS", "otter", "`notebook`"),
    ("dalembert.exercises.sheets.FORMATS", "nbgrader", "`notebook`"),
    ("Firmware.code", "instructions", "`step.kernel.operations`"),
    ("Firmware.code", "stack", "removed: measure it in an emulator or with the linker of your project"),
    ("Firmware.code", "assembly", "removed: disassemble the object file"),
    (
        "Robot.inverse_dynamics, forward_dynamics",
        "f_tip=F, frame=name",
        "`wrenches={name: -F}`: wrenches act on the robot",
    ),
    ("Robot.inverse_dynamics, forward_dynamics", "expressed_in", "wrenches are in world axes"),
    ("Robot.flow", "f_tip=True, frame=name", "`wrenches=[name]`"),
    ("Robot.static_torque", "wrench, frame", "`wrenches={name: -F}`"),
    ("dalembert.Inputs", "f_tip, frame, expressed_in", "`wrenches={name: -F}`"),
    ("Run", "f_tip", "`wrenches`"),
    ("dalembert.control", "WRENCH", "wrench_inputs"),
    ("Robot.plan", "start", "q0"),
    ("Robot.plan", "goal=T, frame=name", "`goal={name: T}`"),
    ("Robot.plan", "held", "locked"),
    ("dalembert.identification", "locked", "Robot.lock"),
    ("dalembert", "ad", "dl.se3.ad"),
    ("dalembert", "adjoint", "dl.se3.adjoint"),
    ("dalembert", "axis_angle", "dl.se3.axis_angle"),
    ("dalembert", "distance_se3", "dl.se3.distance_se3"),
    ("dalembert", "distance_so3", "dl.se3.distance_so3"),
    ("dalembert", "euler_angles", "dl.se3.euler_angles"),
    ("dalembert", "exp3", "dl.se3.exp3"),
    ("dalembert", "exp6", "dl.se3.exp6"),
    ("dalembert", "inverse", "dl.se3.inverse"),
    ("dalembert", "log3", "dl.se3.log3"),
    ("dalembert", "log6", "dl.se3.log6"),
    ("dalembert", "project_se3", "dl.se3.project_se3"),
    ("dalembert", "project_so3", "dl.se3.project_so3"),
    ("dalembert", "screw", "dl.se3.screw"),
    ("dalembert", "screw_parameters", "dl.se3.screw_parameters"),
    ("dalembert", "Box", "dl.describe.Box"),
    ("dalembert", "Capsule", "dl.describe.Capsule"),
    ("dalembert", "Cylinder", "dl.describe.Cylinder"),
    ("dalembert", "Description", "dl.describe.Description"),
    ("dalembert", "Drive", "dl.describe.Drive"),
    ("dalembert", "Inertial", "dl.describe.Inertial"),
    ("dalembert", "Joint", "dl.describe.Joint"),
    ("dalembert", "Limit", "dl.describe.Limit"),
    ("dalembert", "Link", "dl.describe.Link"),
    ("dalembert", "Loop", "dl.describe.Loop"),
    ("dalembert", "Mesh", "dl.describe.Mesh"),
    ("dalembert", "Mimic", "dl.describe.Mimic"),
    ("dalembert", "Origin", "dl.describe.Origin"),
    ("dalembert", "Sphere", "dl.describe.Sphere"),
    ("dalembert", "DHRow", "dl.describe.DHRow"),
    ("dalembert", "check_dh_frames", "dl.describe.check_dh_frames"),
    ("dalembert", "coordinates", "dl.lagrange.coordinates"),
    ("dalembert", "rate", "dl.lagrange.rate"),
    ("dalembert", "Particle", "dl.lagrange.Particle"),
    ("dalembert", "RigidBody", "dl.lagrange.RigidBody"),
    ("dalembert", "poses", "dl.se3"),
)


def find_new_name(place: str, old: str) -> str | None:
    """Return the replacement of `old` in `place`, or None if it was not renamed."""
    return next((new for where, name, new in RENAMED if (where, name) == (place, old)), None)


def write_migration_table() -> str:
    """Return RENAMED as Markdown, one table per place."""
    places = list(dict.fromkeys(where for where, _, _ in RENAMED))
    tables = []
    for place in places:
        rows = [f"| `{old}` | {new} |" for where, old, new in RENAMED if where == place]
        tables.append("\n".join((f"## {place}", "", "| 0.2.0 | now |", "|---|---|", *rows)))
    return "\n\n".join(tables) + "\n"
