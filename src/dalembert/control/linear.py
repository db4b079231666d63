"""Linear systems ẋ = A x + B u, y = C x + D u, of their own or about a state of any system here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import linear as small
from dalembert.arguments import Array, array, number
from dalembert.compile import Kernel
from dalembert.compile.kernel import compile_function
from dalembert.control.transfer import TransferFunction, python_control
from dalembert.errors import InputError, choose
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.system import read_state

ZERO = 1e-13  # coefficients below this share of their bound are rounding


@dataclass(frozen=True, eq=False)
class StateSpace:
    """ẋ = A x + B u, y = C x + D u; with a sample time `dt` [s], x⁺ = A x + B u instead.

    `states`, `inputs`, `outputs` are their names. Of a linearized system x and u are counted from `x_at`, `u_at`."""

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dt: float | None
    x_at: Array
    u_at: Array

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None = None,
        D: ArrayLike | None = None,
        *,
        states: Sequence[str] = (),
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        dt: float | None = None,
        x_at: ArrayLike | None = None,
        u_at: ArrayLike | None = None,
    ) -> None:
        A_ = array("A", A, (None, None))
        n = len(A_)
        if A_.shape != (n, n):
            raise InputError("wrong-shape", "A", A_, expected="square")
        B_ = array("B", B, (n, None), meaning="a row per state")
        C_ = np.eye(n) if C is None else array("C", C, (None, n), meaning="a column per state")
        m, p = B_.shape[1], C_.shape[0]
        D_ = np.zeros((p, m)) if D is None else array("D", D, (p, m), meaning="outputs by inputs")
        own = tuple(states) or tuple(f"x{i + 1}" for i in range(n))
        default_outputs = own if C is None else tuple(f"y{i + 1}" for i in range(p))
        values: dict[str, Any] = {
            "A": A_,
            "B": B_,
            "C": C_,
            "D": D_,
            "states": _names("states", own, n),
            "inputs": _names("inputs", tuple(inputs) or tuple(f"u{i + 1}" for i in range(m)), m),
            "outputs": _names("outputs", tuple(outputs) or default_outputs, p),
            "dt": None if dt is None else number("the sample time", dt, "s", above=0.0),
            "x_at": _vector("x_at", x_at, n),
            "u_at": _vector("u_at", u_at, m),
        }
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        kind = "" if self.dt is None else f", sampled every {self.dt:g} s"
        return f"StateSpace({len(self.states)} states, inputs {self.inputs}, outputs {self.outputs}{kind})"

    # ------------------------------------------------------------------------------------------------- what it is
    @property
    def poles(self) -> NDArray[np.complex128]:
        """The eigenvalues of A."""
        return np.linalg.eigvals(self.A).astype(complex)

    @property
    def stable(self) -> bool:
        """Whether every pole lies in the left half plane (inside the unit circle if sampled)."""
        return bool((np.abs(self.poles) < 1).all() if self.dt is not None else (self.poles.real < 0).all())

    def __call__(self, s: complex) -> NDArray[np.complex128]:
        """C (s I − A)⁻¹ B + D at one complex s (z if sampled).  (p, m)."""
        shifted = complex(s) * np.eye(len(self.A)) - self.A
        try:
            return np.asarray(self.C @ np.linalg.solve(shifted, self.B.astype(complex)) + self.D)
        except np.linalg.LinAlgError:
            raise InputError("singular", "s", complex(s), expected="not be a pole") from None

    @property
    def controllability(self) -> int:
        """The rank of (B, A B, …, Aⁿ⁻¹ B): n where every state can be steered. Each power is scaled to size one."""
        return _krylov_rank(self.A, self.B)

    @property
    def observability(self) -> int:
        """The rank of (C; C A; …): n where every state shows in the outputs."""
        return _krylov_rank(self.A.T, self.C.T)

    def transfer(self, input: str | int = 0, output: str | int = 0) -> TransferFunction:
        """Return the transfer function from one input to one output.

        N = det(s I − A + b c) + (d − 1) det(s I − A). The coefficients of large systems lose digits; `__call__` and
        `to_control` do not."""
        if self.dt is not None:
            raise InputError(
                "unsupported",
                problem="the transfer function of a sampled system is one of z",
                remedy="Use to_control().",
            )
        j, i = _place("input", input, self.inputs), _place("output", output, self.outputs)
        d, moved = self.D[i, j], self.A - np.outer(self.B[:, j], self.C[i])
        den, num = np.poly(self.A), np.poly(moved) + (d - 1) * np.poly(self.A)
        size = sum(np.poly(-np.abs(np.linalg.eigvals(M))) for M in (self.A, moved))
        return TransferFunction(np.where(np.abs(num) > ZERO * size, num, 0.0), den)

    # ------------------------------------------------------------------------------------------------- made from it
    def discretize(self, dt: float) -> StateSpace:
        """Sampled every dt [s] with the input held between (zero-order hold), exact:
        e^([A B; 0 0] dt) = [A_d B_d; 0 I]."""
        from scipy.linalg import expm

        if self.dt is not None:
            raise InputError("unsupported", problem=f"the system is already sampled every {self.dt:g} s")
        n, m = self.B.shape
        block = np.zeros((n + m, n + m))
        block[:n, :n], block[:n, n:] = self.A, self.B
        h = number("the sample time", dt, "s", above=0.0)
        E = expm(block * h)
        return replace(self, A=E[:n, :n], B=E[:n, n:], dt=h)

    def closed_loop(self, K: ArrayLike) -> StateSpace:
        """Under u = v − K x: ẋ = (A − B K) x + B v, y = (C − D K) x + D v."""
        gain = array("K", K, (self.B.shape[1], len(self.A)), meaning="inputs by states")
        return replace(self, A=self.A - self.B @ gain, C=self.C - self.D @ gain)

    def of(self, inputs: str | Sequence[str] | None = None, outputs: str | Sequence[str] | None = None) -> StateSpace:
        """The same system with only these inputs and these outputs; states are outputs too, by their names."""
        ins = list(self.inputs) if inputs is None else [inputs] if isinstance(inputs, str) else list(inputs)
        outs = list(self.outputs) if outputs is None else [outputs] if isinstance(outputs, str) else list(outputs)
        columns = [_place("input", name, self.inputs) for name in ins]
        every = (*self.outputs, *self.states)
        rows = [every.index(choose("output or state", name, dict.fromkeys(every))) for name in outs]
        return replace(
            self,
            B=self.B[:, columns],
            C=np.concatenate((self.C, np.eye(len(self.A))))[rows],
            D=np.concatenate((self.D, np.zeros(self.B.shape)))[rows][:, columns],
            inputs=tuple(ins),
            outputs=tuple(outs),
            u_at=self.u_at[columns],
        )

    # --------------------------------------------------------------------------------------------------- what it does
    def simulate(self, t: ArrayLike, u: ArrayLike | None = None, x0: ArrayLike | None = None) -> tuple[Array, Array]:
        """(x, y) at times t (T,), equally spaced from t[0], with u held from each time to the next, exactly.

        u: (m,) or (T, m), zero if not given; x0 (n,) is the state at t[0]. x (T, n), y (T, p)."""
        times = array("t", t, (None,))
        n, m = self.B.shape
        if times.size < 2:
            raise InputError("wrong-shape", "t", times, expected="an array of at least two times")
        h = float(times[-1] - times[0]) / (times.size - 1)
        if not (h > 0 and np.abs(np.diff(times) - h).max() <= 1e-6 * h):
            raise InputError("wrong-value", "t", expected="equally spaced and strictly increasing")
        if self.dt is not None and abs(h - self.dt) > 1e-6 * h:
            raise InputError("conflict", "t", h, expected=f"in steps of the sample time {self.dt:g} s")
        step = self if self.dt is not None else self.discretize(h)
        given = np.zeros(m) if u is None else array("u", u, (m,), (times.size, m))
        held = np.broadcast_to(given, (times.size, m))
        x = np.empty((times.size, n))
        x[0] = _vector("x0", x0, n)
        driven = held @ step.B.T
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(times.size - 1):
                x[k + 1] = step.A @ x[k] + driven[k]
            return x, x @ self.C.T + held @ self.D.T

    def step(self, t: ArrayLike, input: str | int = 0) -> Array:
        """The outputs under a unit step of one input, from rest.  (T, p)."""
        u = np.zeros(len(self.inputs))
        u[_place("input", input, self.inputs)] = 1.0
        return self.simulate(t, u)[1]

    def flow(self) -> Flow:
        """As `simulate` takes it, over any scalar; the outputs are observed. Not for sampled systems."""
        if self.dt is not None:
            raise InputError("unsupported", problem="a sampled system has no rate, so it has no flow")
        A, B, C, D = (M.tolist() for M in (self.A, self.B, self.C, self.D))

        def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
            return [small.inner(a, x) + small.inner(b, u) for a, b in zip(A, B, strict=True)]

        def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
            return [small.inner(c, x) + small.inner(d, u) for c, d in zip(C, D, strict=True)]

        names = tuple(f"y_{name}" if name in self.states else name for name in self.outputs)
        return Flow("linear system", self.states, self.inputs, rate, outputs=names, observe=observe)

    def to_control(self) -> Any:
        """The same in python-control (extra `control`)."""
        names = {"states": list(self.states), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        clock = {} if self.dt is None else {"dt": self.dt}
        return python_control().ss(self.A, self.B, self.C, self.D, **clock, **names)


def read_single(system: object) -> StateSpace | TransferFunction:
    """Return a system of one input and one output: the given one, or that of `.transfer()` or `.state_space()`."""
    made = [f for name in ("transfer", "state_space") if callable(f := getattr(system, name, None))]
    found = system if isinstance(system, (StateSpace, TransferFunction)) or not made else made[0]()
    if not isinstance(found, (StateSpace, TransferFunction)):
        raise InputError(
            "wrong-type", "system", system, expected="a TransferFunction, a StateSpace or an object with .transfer()"
        )
    if isinstance(found, StateSpace) and (len(found.inputs), len(found.outputs)) != (1, 1):
        raise InputError(
            "wrong-shape",
            "system",
            problem=f"`system` has {len(found.inputs)} inputs and {len(found.outputs)} outputs",
            remedy="Choose one of each with .of(inputs=…, outputs=…).",
        )
    return found


def read_plant(plant: object) -> TransferFunction:
    """Return the transfer function of a system that `read_single` takes."""
    found = read_single(plant)
    return found if isinstance(found, TransferFunction) else found.transfer()


# -------------------------------------------------------------------------------------------------- small helpers
def _names(kind: str, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    if len(names) != count:
        raise InputError("wrong-shape", kind, names, problem=f"there are {count} {kind}, and {len(names)} names")
    if len(set(names)) != count:
        raise InputError("duplicate", kind, names, expected="different names")
    return names


def _vector(name: str, value: ArrayLike | None, n: int) -> Array:
    return np.zeros(n) if value is None else array(name, value, (n,))


def _place(kind: str, name: str | int, names: tuple[str, ...]) -> int:
    if isinstance(name, str):
        return names.index(choose(kind, name, names))
    if not 0 <= name < len(names):
        raise InputError("out-of-range", kind, name, expected=f"an index below {len(names)}")
    return int(name)


def _krylov_rank(A: Array, B: Array) -> int:
    """The rank of (B, A B, A² B, …), found as a growing orthonormal basis: powers of A alone would overflow it."""
    n = len(A)
    Q = np.zeros((n, 0))
    new = B / (np.abs(B).max() or 1.0)
    size = float(np.linalg.norm(A)) or 1.0
    for _ in range(n):
        if new.shape[1] == 0:
            break
        new = new - Q @ (Q.T @ new)
        U, s, _ = np.linalg.svd(new, full_matrices=False)
        new = U[:, s > n * np.finfo(float).eps * 16]
        Q = np.concatenate((Q, new), 1)
        new = A @ new / size
    return Q.shape[1]


# ------------------------------------------------------------------------------------------- systems, linearized
def linearize(
    system: object,
    x: ArrayLike | None = None,
    u: ArrayLike | None = None,
    outputs: Sequence[str] | str | None = None,
    friction: bool = False,
) -> StateSpace:
    """A system about a state, as a linear one: ẋ ≈ A (x − x_at) + B (u − u_at).

    A `Robot` or `LagrangianSystem`: x = (q, q̇), or q alone for a state of rest; u = τ, that which holds it there if not
    given. A `DrivenRobot` or `FlexibleRobot`: x is its whole state, or for rest q alone. Any `Flow`: x and u (zero if
    not given). What has `.state_space()` gives its own. `outputs` are states by name, all of them if not given. A and B
    tell what happens for long only where the system rests at (x, u), which is not asked for.
    `friction` (of a robot) counts its damping and springs."""
    own: Any = getattr(system, "state_space", None)
    at: Any = getattr(system, "linearize_at", None)
    flow: Any = getattr(system, "flow", None)
    if callable(at):
        near = at(x, u, friction=True) if friction else at(x, u)
        found = StateSpace(near.A, near.B, states=near.states, inputs=near.inputs, x_at=near.x, u_at=near.u)
    elif friction:
        raise InputError(
            "no-effect",
            "friction",
            friction,
            problem=f"`friction` is an option of a Robot, and this is a {_kind(system)}",
        )
    elif isinstance(system, StateSpace) or callable(own):
        if x is not None or u is not None:
            raise InputError(
                "no-effect",
                "x",
                problem=f"a {_kind(system)} is linear, and so has the same matrices at every state",
                remedy="Leave out `x` and `u`.",
            )
        found = system if isinstance(system, StateSpace) else own()
    elif isinstance(system, Flow) or callable(flow):
        found = _linearize_flow(system if isinstance(system, Flow) else flow(), x, u)
    else:
        raise InputError(
            "wrong-type",
            "system",
            system,
            expected="a Robot, LagrangianSystem, DrivenRobot, FlexibleRobot, Flow or an object with .flow()",
        )
    return found if outputs is None else found.of(outputs=outputs)


def _kind(system: object) -> str:
    return type(system).__name__


@lru_cache(maxsize=32)
def _differentiate(flow: Flow) -> Kernel:
    n, m, rate = len(flow.states), len(flow.inputs), flow.plain_rate
    if m == 0:
        whole = compile_function(lambda x: rate(0.0, x, []), [(n,)], [(n,)], "flow", arguments=("x",))
        return whole.derivative("x")
    whole = compile_function(lambda x, u: rate(0.0, x, u), [(n,), (m,)], [(n,)], "flow", arguments=("x", "u"))
    return whole.derivative("x", "u")


def _linearize_flow(flow: Flow, x: ArrayLike | None, u: ArrayLike | None) -> StateSpace:
    n, m = len(flow.states), len(flow.inputs)
    state = read_state(x, {n: "the states " + ", ".join(flow.states[:4])})
    given = _vector("u", u, m)
    if m == 0:
        A, B = np.asarray(_differentiate(flow)(state)), np.zeros((n, 0))
    else:
        A, B = (np.asarray(M) for M in _differentiate(flow)(state, given))
    return StateSpace(A, B, states=flow.states, inputs=flow.inputs, x_at=state, u_at=given)
