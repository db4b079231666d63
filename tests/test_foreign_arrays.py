"""Tables, matrices, masked arrays and tensors give what plain arrays give, or a sentence, wherever numbers go in."""

from __future__ import annotations

import inspect

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dalembert as dl
from dalembert import control, trajectories as tr
from dalembert.arguments import plain_array
from dalembert.compile import call
from dalembert.constrained.mechanism import ConstrainedSystem
from dalembert.lagrange import examples

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")


class Tensor:
    """What a tensor of another library looks like to NumPy: it takes calls over, and dresses results as itself."""

    __array_priority__ = 1000

    def __init__(self, numbers):
        self.numbers = np.asarray(numbers)
        self.shape, self.dtype = self.numbers.shape, "library.float64"

    def __array__(self, dtype=None, copy=None):
        return self.numbers

    def __array_wrap__(self, array, *context):
        return Tensor(array)

    def __array_ufunc__(self, *arguments, **options):
        return Tensor(np.zeros(self.shape))


class Attached(Tensor):
    """A tensor that will not be an array."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("it requires grad")


class Quantity(Tensor):
    """Numbers with a unit."""

    magnitude = units = "degree"


CONVERTED = {
    "DataFrame": pd.DataFrame,
    "nullable": lambda a: pd.DataFrame(a).convert_dtypes(),
    "polars": pl.DataFrame,
    "matrix": np.matrix,
    "masked": np.ma.array,
    "tensor": Tensor,
}
REFUSED = {
    "gaps": lambda a: np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) == 0),
    "attached": Attached,
    "quantity": Quantity,
}
SERIES = (
    CONVERTED
    | REFUSED
    | {
        "DataFrame": pd.Series,
        "nullable": lambda a: pd.Series(a).convert_dtypes(),
        "polars": pl.Series,
        "matrix": list,  # a matrix is never a list of numbers
    }
)

ARM = dl.load("planar-2r")
PUMA = dl.load("puma560")
LINKAGE = dl.Constrained(dl.load("four-bar"))
OWNERS = {
    "arm": ARM,
    "puma": PUMA,
    "linkage": LINKAGE,
    "driven system": examples.geared_arm(),
    "held system": examples.two_particles_on_a_wire(),
    "driven": dl.DrivenRobot(ARM, [dl.DCMotor(0.1, 0.1, inertia=1.0)] * 2, [50.0, 50.0]),
    "flexible": dl.FlexibleRobot(ARM, 1000.0, 0.0, 1.0),
}
SIZES = {
    **dict.fromkeys(("twist", "base_velocity", "base_acceleration", "direction"), lambda owner: 6),
    **dict.fromkeys(
        ("q", "qd", "qdd", "qddd", "qdddd", "tau", "theta", "theta_d", "q0", "q1", "d", "u", "goal"),
        lambda owner: owner.n,
    ),
    "x": lambda owner: len(owner.flow().states),
    "multipliers": lambda owner: owner.k,
}
AT_REST = {  # where the linkage is closed, and where the wire is as long as it should be
    "linkage": {"q": LINKAGE.robot.home, "qd": 0.0, "qdd": 0.0},
    "held system": {"q": [0.3, 0.4, 0.0, 0.0, 0.0, 0.0], "qd": 0.0},
}
AT_REST_ALONE = ("impact", "require", "reduced")  # of the wire: its other methods take any state
NAMED = {
    "to": lambda owner: owner.frames[0],
    "of": lambda owner: owner.frames[-1],
    "link": lambda owner: owner.bodies[-1],
    "name": lambda owner: owner.constraints[0].name if hasattr(owner, "constraints") else "added",
    "wrenches": lambda owner: {owner.tip: np.arange(6.0)},
}
WORDS = {
    "acceleration_ellipsoid": {"torques": 1.0},
    "analytic_jacobian": {"angles": "rpy"},
    "largest_force": {"torque_limits": 100.0},
    "interpolate": {"t": 0.5},
    "plan": {"timed": False},
    "ik_tasks": {"tasks": [dl.kinematics.center_of_mass_task([0.5, 0.5, 0.0], rows="xy")]},
}
ABSENT = {  # what a system without constraints, or without inputs, does not have
    "driven system": (
        *(name for name in vars(ConstrainedSystem) if not name.startswith("_") and name != "moved"),
        "constraint_forces",
        "jacobian_dot",
        "multipliers",
    ),
    "held system": ("input_matrix",),
    "linkage": ("tip_wrench", "balance", "loads"),  # its constraint does not act at the tool, and is no contact
    **dict.fromkeys(("arm", "puma"), ("certify_edge", "contacts")),  # without shapes
}
# Of one state, or of scalars of any kind.
SINGLE = (
    "deflection",
    "equilibrium",
    "holding",
    "independent",
    "largest_force",
    "linearize_at",
    "modes",
    "nearest_singularity",
    "plan",
    "redundant",
    "reduced",
    "show",
    "with_home",
)
TRACED = ("flow", "joint_torque", "observe", "rate", "settle", "run", "kernel", "latex")
WRITTEN = ("compare", "derivation", "quantity")  # formulas and text, of names or of one state


def arguments(owner, name):
    """(arrays, other arguments) of a public method, by the names of what it takes."""
    rng = np.random.default_rng(7)
    arrays, others = {}, dict(WORDS.get(name, {}))
    for p in inspect.signature(getattr(owner, name)).parameters.values():
        if p.name == "T":
            arrays["T"] = owner.fk(rng.uniform(0.2, 0.8, owner.n))
        elif p.name in SIZES and not (p.name == "multipliers" and p.default is None):
            shape = (() if name in SINGLE else (2,)) + (SIZES[p.name](owner),)
            arrays[p.name] = rng.uniform(0.2, 0.8, shape)
            who = next(who for who, other in OWNERS.items() if other is owner)
            rest = AT_REST.get(who, {}) if owner is LINKAGE or name in AT_REST_ALONE else {}
            if p.name in rest:
                arrays[p.name] = np.broadcast_to(rest[p.name], shape).copy()
        elif p.name in NAMED and p.default is p.empty:
            others[p.name] = NAMED[p.name](owner)
    return arrays, others


METHODS = [
    (who, name)
    for who, owner in OWNERS.items()
    for name in dir(type(owner))
    if not name.startswith("_")
    and name not in (*TRACED, *WRITTEN, *ABSENT.get(who, ()))
    and inspect.isfunction(getattr(type(owner), name))
    and arguments(owner, name)[0]
]
FUNCTIONS = {
    "exp6": (dl.se3.exp6, (2, 6)),
    "log6": (lambda x: dl.se3.log6(x), (4, 4)),
    "adjoint": (dl.se3.adjoint, (4, 4)),
    "inverse": (dl.se3.inverse, (4, 4)),
    "pose": (lambda x: dl.pose(x, x), (2, 3)),
    "quaternion": (lambda x: dl.pose(quat=x), (2, 4)),
    "matrix": (lambda x: dl.pose(rotation_matrix=x), (3, 3)),
    "kernel": (lambda x: ARM.kernel("mass_matrix")(x), (2, 2)),
    "scalar kernel": (lambda x: ARM.kernel("kinetic_energy")(x, x), (2, 2)),
    "threads": (lambda x: ARM.with_threads(2).fk(x), (2, 2)),
    "out": (lambda x: ARM.fk(x, out=np.empty((2, 4, 4))), (2, 2)),
    "wrenches": (lambda x: PUMA.inverse_dynamics(x, x, x, wrenches={PUMA.tip: x}), (2, 6)),
    "spline": (lambda x: tr.spline(x, np.arange(4.0))(0.7), (4, 2)),
    "limits": (lambda x: tr.minimum_jerk([0.0, 0.1], [1.0, 2.0], velocity=x)(0.3), (2,)),
    "start": (lambda x: dl.simulate(ARM, q0=x, duration=0.01, dt=0.001).q, (2,)),
    "controller": (
        lambda x: control.computed_torque.ComputedTorque(ARM, omega=10.0, zeta=1.0)(0.0, x, x, [0.1, 0.2]),
        (2, 2),
    ),
    "linear system": (lambda x: control.StateSpace(x, [[0.0], [1.0]]).A, (2, 2)),
    "input": (lambda x: dl.simulate(ARM, q0=[0.1, 0.2], duration=0.01, dt=0.001, inputs=dl.Inputs(tau=x)).q, (10, 2)),
}


def numbers(result):
    """Everything in a result, laid flat: arrays in tuples and in records."""
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in numbers(part)]
    if hasattr(result, "__dataclass_fields__"):
        return [x for field in result.__dataclass_fields__ for x in numbers(getattr(result, field))]
    return [result]


def assert_same(found, wanted):
    found, wanted = numbers(found), numbers(wanted)
    assert [type(x) for x in found] == [type(x) for x in wanted]
    for x, y in zip(found, wanted, strict=True):
        assert not isinstance(y, (np.ndarray, float)) or np.allclose(x, y, rtol=1e-13, atol=1e-15, equal_nan=True)


def wrapped(kind, array):
    return (SERIES if array.ndim == 1 else CONVERTED | REFUSED)[kind](array)


@pytest.mark.parametrize(("who", "name"), METHODS)
def test_methods(who, name):
    owner = OWNERS[who]
    arrays, others = arguments(owner, name)
    method = getattr(owner, name)
    wanted = method(**arrays, **others)
    for which, array in arrays.items():
        for kind in CONVERTED:
            assert_same(method(**{**arrays, which: wrapped(kind, array)}, **others), wanted)
        for kind in REFUSED:
            with pytest.raises(dl.InputError):
                method(**{**arrays, which: wrapped(kind, array)}, **others)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function, shape = FUNCTIONS[name]
    array = np.random.default_rng(3).uniform(0.2, 0.8, shape)
    if shape in ((4, 4), (3, 3)):
        array = dl.pose((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))[: shape[0], : shape[0]]
    wanted = function(array)
    for kind in CONVERTED:
        assert_same(function(wrapped(kind, array)), wanted)
    for kind in REFUSED:
        with pytest.raises(dl.InputError):
            function(wrapped(kind, array))


def test_a_table_is_not_transposed():
    """pandas lays tables on top of each other column by column: the kernel would see qᵀ."""
    q = np.array([[0.1, 0.5], [1.0, -0.3]])
    assert np.array_equal(ARM.gravity_torque(pd.DataFrame(q)), ARM.gravity_torque(q))
    long = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    assert np.array_equal(ARM.gravity_torque(pd.DataFrame(long)), ARM.gravity_torque(long))
    with pytest.raises(dl.InputError, match=r"q has shape \(5, 3\); its last dimension must be 2"):
        ARM.gravity_torque(pd.DataFrame(np.ones((5, 3))))


JOINTS = list(PUMA.joint_names)
STATES = np.random.default_rng(5).uniform(-1, 1, (4, 6))
ENTRIES = {
    "kernel": lambda q: PUMA.inverse_dynamics(q, STATES, q),
    "threads": lambda q: PUMA.with_threads(2).gravity_torque(q),
    "jacobian": lambda q: PUMA.manipulability(q),
    "simulate": lambda q: dl.simulate(PUMA, q0=q.iloc[1] if hasattr(q, "iloc") else q[1], duration=0.002).q,
    "batch": lambda q: dl.Experiment(PUMA).batch(q0=q, qd0=q, duration=0.002).last,
    "controller": lambda q: control.PD(PUMA, kp=10.0, kd=1.0)(0.0, q, STATES, STATES),
    "ik": lambda q: PUMA.ik(PUMA.fk(STATES), q0=q).q,
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_columns_that_are_named_as_the_joints_are_put_in_their_order(entry):
    call = ENTRIES[entry]
    wanted = call(STATES)
    table = pd.DataFrame(STATES, columns=JOINTS)
    for other in (table, table[JOINTS[::-1]]):
        assert_same(call(other), wanted)
    if entry not in ("simulate", "ik"):
        assert_same(call(pl.DataFrame(table)[JOINTS[::-1]]), wanted)
        assert_same(call(pa.Table.from_pandas(table[JOINTS[::-1]])), wanted)
        assert_same(call(pa.RecordBatch.from_pandas(table[JOINTS[::-1]])), wanted)
    for names in ([*JOINTS[:5], "joint7"], list("abcdef")):
        with pytest.raises(dl.InputError, match="columns"):
            call(pd.DataFrame(STATES, columns=names))


def test_named_columns_where_no_joints_are_known():
    table = pd.DataFrame(STATES, columns=JOINTS)
    with pytest.raises(dl.InputError, match="columns"):
        PUMA.kernel("mass_matrix")(table)
    assert np.array_equal(PUMA.kernel("mass_matrix")(table.to_numpy()), PUMA.mass_matrix(STATES))
    assert np.array_equal(tr.spline(table, np.arange(4.0))(0.7)[0], tr.spline(STATES, np.arange(4.0))(0.7)[0])
    wrench = pd.DataFrame(STATES, columns=["fx", "fy", "fz", "nx", "ny", "nz"])
    by_table, plain = (PUMA.inverse_dynamics(STATES, STATES, STATES, wrenches={PUMA.tip: x}) for x in (wrench, STATES))
    assert np.array_equal(by_table, plain)


def test_missing_values_are_refused():
    gap = pd.array([1, None], dtype="Int64")
    tables = (gap, pd.Series(gap), pd.DataFrame({"joint1": gap, "joint2": [0.5, 0.5]}))
    arrow = (pa.table({"joint1": [1.0, None]}), pa.array([1.0, None]), pa.chunked_array([[1.0], [None]], pa.float64()))
    for table in (*tables, pl.DataFrame({"joint1": [1.0, None]}), pl.Series([1.0, None]), *arrow):
        with pytest.raises(dl.InputError, match="missing values"):
            plain_array(table)
    with pytest.raises(dl.InputError, match="missing values"):
        ARM.gravity_torque(gap)
    assert np.isnan(plain_array(pd.Series([1.0, np.nan]))).any()  # a number of floats


def test_what_cannot_be_converted_says_why():
    with pytest.raises(dl.InputError, match="q is a masked array, which has no numbers where it is masked"):
        ARM.fk(np.ma.array([0.1, 0.2], mask=[True, False]))
    with pytest.raises(dl.InputError, match="Attached says it requires grad"):
        ARM.fk(Attached([0.1, 0.2]))
    with pytest.raises(dl.InputError, match=r"q carries a unit \(Quantity\); give plain numbers"):
        ARM.fk(Quantity([0.1, 0.2]))
    with pytest.raises(dl.InputError, match="missing values"):
        ARM.fk(pd.DataFrame({"joint1": [1.0, None], "joint2": [0.1, 0.2]}).convert_dtypes())
    with pytest.raises(dl.InputError, match="out must be a NumPy array, got DataFrame"):
        ARM.gravity_torque(np.zeros((2, 2)), out=pd.DataFrame(np.zeros((2, 2))))


def test_dask_arrays_stay_lazy():
    q = da.from_array(np.random.default_rng(0).uniform(-1, 1, (6, 2)), chunks=(2, 2))
    for found in (ARM.gravity_torque(q), ARM.kernel("gravity_torque")(q), ARM.gravity_torque(q)):
        assert isinstance(found, da.Array)
        assert np.array_equal(found.compute(), ARM.gravity_torque(q.compute()))
    mixed = ARM.kinetic_energy(q, pd.DataFrame(q.compute()))
    assert np.array_equal(mixed.compute(), ARM.kinetic_energy(q.compute(), q.compute()))


def test_without_the_short_way(monkeypatch):
    """Where NumPy lays out its arrays in another way, the same holds."""
    monkeypatch.setattr(call, "layout_is_known", lambda: False)
    arm = dl.load("planar-2r")
    q = np.array([[0.1, 0.5], [1.0, -0.3]])
    assert np.array_equal(arm.gravity_torque(pd.DataFrame(q)), ARM.gravity_torque(q))
    assert np.array_equal(arm.gravity_torque(q[0], out=np.empty(2)), ARM.gravity_torque(q[0]))
    with pytest.raises(dl.InputError, match="masked"):
        arm.gravity_torque(np.ma.array(q, mask=q > 0))


def test_plain_arrays_are_not_copied():
    q = np.zeros((3, 2))
    assert plain_array(q) is q
