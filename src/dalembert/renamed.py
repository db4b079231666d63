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
    ("PredictiveControl", "soft=True", "limits of states are kept by the barrier; for C use a cost near the limits"),
    ("LagrangianSystem", "constraint_matrix(q)", "`jacobian(q)`, as of `Constrained`"),
    ("LagrangianSystem", "constraint_matrix_dot(q, qd)", "`jacobian_dot(q, qd)`"),
    ("LagrangianSystem", "constraint_error(q)", "`residual(q)`, with a zero for each Pfaffian row"),
    ("LagrangianSystem", "holonomic", "True or False, as of `Constrained`; `k` counts the rows of A"),
    ("dalembert.constrained.contacts", "Contact", "`GroundContact`, made by `contact`"),
    ("dalembert", "Report", "`Findings`"),
    ("dalembert", "CheckUp", "`Findings`"),
    ("dalembert.bounds", "Bounds", "`dalembert.Findings`"),
    ("dalembert.properties", "PropertyReport", "`dalembert.Findings`"),
    ("Report, CheckUp", "findings", "`rows`, or iterate"),
    ("Report, CheckUp", "verdict", "`message`"),
    ("Report, CheckUp", "count(severity)", "`counts[severity]`"),
    ("Report, CheckUp", "file", "`source`"),
    ("Report, CheckUp", "loads, refusal, seconds", "`facts.loads`, `facts.refusal`, `facts.seconds`"),
    ("Report, CheckUp", "repaired()", "`dl.doctor.repair(found)`"),
    ("Certificate", "members, methods", "`facts.methods`"),
    ("Certificate", "passed, failed, verdict", "`ok`, `errors`, `message`"),
    ("Certificate", "findings, differences, tolerances", "`facts.causes`, `facts.differences`, `facts.tolerances`"),
    ("Certificate", "notes", "`remarks`"),
    ("Certificate", "text(), json()", "`print(certificate)`, `save(path)`"),
    ("PropertyReport", "failed, title, states", "`errors`, `message`, `facts.states`"),
    ("PropertyReport", "json(), markdown()", '`save("report.json")`, `save("report.md")`'),
    ("Bounds", "robot, lower, upper, gap, seconds", "`source`, and `facts` with the others"),
    ("Bounds", "notes, json()", "`remarks`, `data()`"),
    ("Conditions", "items, failed", "iterate, `errors`"),
    ("Conditions", "proved", '`status == "ok"`'),
    ("Conditions", "claim, source", "`facts.claim`, `facts.source`"),
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
    ("dalembert.simulation", "rollouts", "`Experiment(system, controller, …).batch(q0=…, duration=…)`"),
    ("dalembert.simulation", "rollout_gradient", "`Experiment(…).gradient(loss, wrt=[…], q0=…, duration=…)`"),
    ("dalembert.simulation", "rollout_function", "`Experiment(…).function(of=[…], duration=…)`"),
    ("dalembert.simulation", "RolloutFunction", "`RunFunction`"),
    ("dalembert.simulation", "monte_carlo", "`Experiment(…).batch(vary={name: uniform(…)}, count=…, seed=…)`"),
    ("dalembert.simulation", "MonteCarlo", "`Batch`"),
    ("dalembert.simulation", "sweep", "`Experiment(…).batch(vary=grid(…))`"),
    ("dalembert.simulation", "Sweep", "`Batch`"),
    ("rollouts", "method", "`Experiment(…, solver=…)`"),
    ("rollouts", "torque_limits", "`Experiment(…, limits=JointLimits(torque=…))`, or `limits=robot.limits`"),
    ("rollouts", "parameters", "`vary={name: …}`, or `inputs=Inputs(parameters={name: …})` for all runs alike"),
    ("rollouts", "disturbances", "`vary={'disturbance.joint1_torque': …}`, or `inputs=Inputs(disturbance=…)`"),
    ("rollouts", "payload", "`inputs=Inputs(payload=…)`"),
    ("rollouts", "error", "`measures=Measures(names, error)`"),
    ("rollouts", "every", "`solver=Solver(every=…)`"),
    ("rollouts", "progress", "`solver=Solver(progress=…)`, called with the part done"),
    ("rollouts", "number", "`count`"),
    ("rollouts", "scheduler", "`on`"),
    ("simulate", "tau", "`inputs=Inputs(tau=…)`"),
    ("Measures", "world", "`simulate(…, world=…)` and `Experiment(…, world=…)`"),
    ("Batch", "verdict", "`message`"),
    ("dalembert.control", "tune_gains", "`Experiment(…).tune(gains, loss=…, q0=…, duration=…)`"),
    ("dalembert.control", "TunedGains", "`dalembert.simulation.TunedGains`"),
    ("dalembert.interchange", "jax_rollout", "`jax_run`"),
    ("dalembert.interchange", "torch_rollout", "`torch_run`"),
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
