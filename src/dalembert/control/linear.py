"""Linear systems ẋ = A x + B u, y = C x + D u, of their own or about a state of any system here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.actuation.driven import DrivenRobot
from dalembert.actuation.flexible import FlexibleRobot
from dalembert.algorithms import linear as small
from dalembert.arguments import plain_array
from dalembert.compile import Kernel
from dalembert.compile.kernel import compile_function
from dalembert.control.transfer import TransferFunction, python_control
from dalembert.errors import InputError, choose
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.lagrange.system import LagrangianSystem
from dalembert.robot import Robot

Array = NDArray[np.float64]


def finite_array(name: str, value: object) -> Array:
    """An array of finite real numbers."""
    array = plain_array(value, name)
    if not np.can_cast(array.dtype, np.float64, "same_kind"):
        raise InputError(f"{name} must be an array of numbers, got {value!r:.60}")
    x = np.asarray(array, float)
    if not np.isfinite(x).all():
        raise InputError(f"{name} has an entry that is not finite")
    return x


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
        A_, B_ = finite_array("A", A), finite_array("B", B)
        if A_.ndim != 2 or A_.shape[0] != A_.shape[1]:
            raise InputError(f"A has shape {A_.shape}; it must be square")
        n = len(A_)
        if B_.ndim != 2 or B_.shape[0] != n:
            raise InputError(f"B has shape {B_.shape}; it must have {n} rows, one per state")
        m = B_.shape[1]
        C_ = np.eye(n) if C is None else finite_array("C", C)
        if C_.ndim != 2 or C_.shape[1] != n:
            raise InputError(f"C has shape {C_.shape}; it must have {n} columns, one per state")
        p = C_.shape[0]
        D_ = np.zeros((p, m)) if D is None else finite_array("D", D)
        if D_.shape != (p, m):
            raise InputError(f"D has shape {D_.shape}; it must be {(p, m)}, outputs by inputs")
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
            "dt": None if dt is None else _sample_time(dt),
            "x_at": _vector("x_at", x_at, n),
            "u_at": _vector("u_at", u_at, m),
        }
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value = value.copy()
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
            raise InputError(f"s = {complex(s)} is a pole: there the transfer function is infinite") from None

    @property
    def controllability(self) -> int:
        """The rank of (B, A B, …, Aⁿ⁻¹ B): n where every state can be steered. Each power is scaled to size one."""
        return _krylov_rank(self.A, self.B)

    @property
    def observability(self) -> int:
        """The rank of (C; C A; …): n where every state shows in the outputs."""
        return _krylov_rank(self.A.T, self.C.T)

    def transfer(self, input: str | int = 0, output: str | int = 0) -> TransferFunction:
        """From one input to one output, by the Leverrier–Faddeev recursion. For small systems: with ten states and
        poles of very different size its coefficients lose digits; `__call__` and `to_control` do not."""
        if self.dt is not None:
            raise InputError("a sampled system has a transfer function in z; this gives those in s. See to_control()")
        j, i = _place("input", input, self.inputs), _place("output", output, self.outputs)
        n, b, c = len(self.A), self.B[:, j], self.C[i]
        N, den = np.eye(n), [1.0]
        num = [self.D[i, j]]
        for k in range(1, n + 1):
            AN = self.A @ N
            a = -float(np.trace(AN)) / k
            num.append(float(c @ N @ b) + self.D[i, j] * a)
            den.append(a)
            N = AN + a * np.eye(n)
        size = np.linalg.norm(c) * np.linalg.norm(b) * max(1.0, float(np.linalg.norm(self.A))) ** np.arange(-1, n)
        cleaned = [x if abs(x) > 1e-14 * s or self.D[i, j] else 0.0 for x, s in zip(num, size, strict=True)]
        return TransferFunction(cleaned, den)

    # ------------------------------------------------------------------------------------------------- made from it
    def discretize(self, dt: float) -> StateSpace:
        """Sampled every dt [s] with the input held between (zero-order hold), exact:
        e^([A B; 0 0] dt) = [A_d B_d; 0 I]."""
        from scipy.linalg import expm

        if self.dt is not None:
            raise InputError(f"this system is sampled already, every {self.dt:g} s")
        n, m = self.B.shape
        block = np.zeros((n + m, n + m))
        block[:n, :n], block[:n, n:] = self.A, self.B
        E = expm(block * _sample_time(dt))
        return replace(self, A=E[:n, :n], B=E[:n, n:], dt=dt)

    def closed_loop(self, K: ArrayLike) -> StateSpace:
        """Under u = v − K x: ẋ = (A − B K) x + B v, y = (C − D K) x + D v."""
        gain = finite_array("K", K)
        if gain.shape != (self.B.shape[1], len(self.A)):
            raise InputError(f"K has shape {gain.shape}; it must be {(self.B.shape[1], len(self.A))}, inputs by states")
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
        times = finite_array("t", t)
        n, m = self.B.shape
        if times.ndim != 1 or times.size < 2:
            raise InputError(f"t has shape {times.shape}; it must be a list of at least two times")
        h = float(times[-1] - times[0]) / (times.size - 1)
        if not (h > 0 and np.abs(np.diff(times) - h).max() <= 1e-6 * h):
            raise InputError("t must be equally spaced and rising: each step is the same exact one")
        if self.dt is not None and abs(h - self.dt) > 1e-6 * h:
            raise InputError(f"this system is sampled every {self.dt:g} s, and t steps by {h:g} s")
        step = self if self.dt is not None else self.discretize(h)
        given = np.zeros(m) if u is None else finite_array("u", u)
        if given.shape not in ((m,), (times.size, m)):
            raise InputError(f"u has shape {given.shape}; it must be {(m,)} or {(times.size, m)}")
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
            raise InputError("a sampled system jumps from state to state: it has no rate, and no flow")
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
    """What a user gives as a system of one input and one output: a linear system, or what has one."""
    if not isinstance(system, (StateSpace, TransferFunction)):
        made = next((f for name in ("transfer", "state_space") if callable(f := getattr(system, name, None))), None)
        if made is None:
            raise InputError(
                f"a TransferFunction, a StateSpace or what has one is looked at here, not {type(system).__name__}"
            )
        system = made()
    if isinstance(system, StateSpace) and (len(system.inputs), len(system.outputs)) != (1, 1):
        raise InputError(
            f"this system has {len(system.inputs)} inputs and {len(system.outputs)} outputs: choose one of each with "
            ".of(inputs=…, outputs=…)"
        )
    found: StateSpace | TransferFunction = system
    return found


# -------------------------------------------------------------------------------------------------- small helpers
def _names(kind: str, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    if len(names) != count:
        raise InputError(f"{len(names)} names are given for {count} {kind}")
    if len(set(names)) != count:
        raise InputError(f"a name appears twice among the {kind}: {', '.join(names)}")
    return names


def _sample_time(dt: float) -> float:
    if not (isinstance(dt, (int, float, np.number)) and math.isfinite(dt) and dt > 0):
        raise InputError(f"the sample time must be a positive number of seconds, got {dt!r}")
    return float(dt)


def _vector(name: str, value: ArrayLike | None, n: int) -> Array:
    x = np.zeros(n) if value is None else finite_array(name, value)
    if x.shape != (n,):
        raise InputError(f"{name} has shape {x.shape}; it must be {(n,)}")
    return x


def _place(kind: str, name: str | int, names: tuple[str, ...]) -> int:
    if isinstance(name, str):
        return names.index(choose(kind, name, names))
    if not 0 <= name < len(names):
        raise InputError(f"there is no {kind} {name}: there are {len(names)}")
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
    if friction and not isinstance(system, (Robot, LagrangianSystem)):
        raise InputError(f"friction= is a robot's; a {type(system).__name__} has its own, or none")
    if isinstance(system, StateSpace):
        found = system
        _about_any(system, x, u)
    elif isinstance(system, Flow):
        found = _of_flow(system, x, u)
    elif isinstance(system, (Robot, LagrangianSystem)):
        found = _of_robot(system, x, u, friction)
    elif isinstance(system, DrivenRobot):
        found = _of_driven(system, x, u)
    elif isinstance(system, FlexibleRobot):
        found = _of_flexible(system, x, u)
    elif callable(getattr(system, "state_space", None)):
        found = system.state_space()
        _about_any(system, x, u)
    elif callable(getattr(system, "flow", None)):
        found = _of_flow(system.flow(), x, u)
    else:
        raise InputError(
            "what is linearized is a Robot, LagrangianSystem, DrivenRobot, FlexibleRobot, Flow or what has .flow(); "
            f"got {type(system).__name__}"
        )
    return found if outputs is None else found.of(outputs=outputs)


def _about_any(system: object, x: ArrayLike | None, u: ArrayLike | None) -> None:
    if x is not None or u is not None:
        raise InputError(f"a {type(system).__name__} is linear, the same about any state: leave out x and u")


def _need(name: str, x: ArrayLike | None, sizes: dict[int, str]) -> Array:
    if x is None:
        wanted = " or ".join(f"{k} numbers ({w})" for k, w in sizes.items())
        raise InputError(f"say about which state: {name}, {wanted}")
    state = finite_array(name, x)
    if state.ndim != 1 or state.size not in sizes:
        wanted = " or ".join(f"({k},), {w}" for k, w in sizes.items())
        raise InputError(f"{name} has shape {state.shape}; it must be {wanted}")
    return state


def _of_robot(system: Robot | LagrangianSystem, x: ArrayLike | None, u: ArrayLike | None, friction: bool) -> StateSpace:
    n = system.n
    state = _need("x", x, {n: "q, at rest", 2 * n: "(q, q̇)"})
    q, qd = state[:n], state[n:] if state.size == 2 * n else np.zeros(n)
    zero = np.zeros(n)
    names = tuple(str(name) for name in system.joint_names)
    if isinstance(system, Robot):
        tau = system.inverse_dynamics(q, qd, zero, friction=friction) if u is None else _vector("u", u, n)
        A, B = system.linearize(q, qd, tau, friction)
        inputs = tuple(f"{name}_torque" for name in names)
        given = np.asarray(tau)
    else:
        chosen = tuple(str(s) for s in (system.inputs or system.tau))
        S = np.asarray(system.input_matrix(q)) if system.inputs else np.eye(n)
        if u is None:
            needed = np.asarray(system.inverse_dynamics(q, qd, zero, friction=True))
            given = np.asarray(np.linalg.lstsq(S, needed, rcond=None)[0], float)
        else:
            given = _vector("u", u, len(chosen))
        A, B_tau = system.linearize(q, qd, S @ given, True)
        A, B = np.asarray(A), np.asarray(B_tau) @ S
        inputs = chosen
    rates = tuple(f"{name}_rate" for name in names)
    return StateSpace(A, B, states=names + rates, inputs=inputs, x_at=np.concatenate((q, qd)), u_at=given)


def _of_driven(system: DrivenRobot, x: ArrayLike | None, u: ArrayLike | None) -> StateSpace:
    n, N = system.n, len(system.states)
    state = _need("x", x, {n: "q, held at rest", N: "the whole state"})
    if state.size == n != N:
        held = system.holding(state)
        state = np.concatenate((state, np.zeros(n), held.state))
        given = held.input if u is None else finite_array("u", u)
    elif u is None:
        given = system.holding(state[:n]).input
    else:
        given = finite_array("u", u)
    A, B = system.linearize(state, given)
    return StateSpace(A, B, states=system.states, inputs=system.inputs, x_at=state, u_at=given)


def _of_flexible(system: FlexibleRobot, x: ArrayLike | None, u: ArrayLike | None) -> StateSpace:
    n = system.n
    state = _need("x", x, {n: "q of the links, at rest", 4 * n: "(q, θ, q̇, θ̇)"})
    if state.size == n:
        state = np.concatenate((state, system.motor_positions(state), np.zeros(2 * n)))
    if u is None:
        given = np.array(system.stiffness) * (state[n : 2 * n] - state[:n])
    else:
        given = _vector("u", u, n)
    A, B = system.linearize(state, given)
    return StateSpace(A, B, states=system.states, inputs=system.inputs, x_at=state, u_at=given)


@lru_cache(maxsize=32)
def _derivatives(flow: Flow) -> Kernel:
    n, m = len(flow.states), len(flow.inputs)
    if m == 0:
        whole = compile_function(lambda x: flow.rate(0.0, x, []), [(n,)], [(n,)], "flow", arguments=("x",))
        return whole.derivative("x")
    whole = compile_function(lambda x, u: flow.rate(0.0, x, u), [(n,), (m,)], [(n,)], "flow", arguments=("x", "u"))
    return whole.derivative("x", "u")


def _of_flow(flow: Flow, x: ArrayLike | None, u: ArrayLike | None) -> StateSpace:
    n, m = len(flow.states), len(flow.inputs)
    state = _need("x", x, {n: "the states " + ", ".join(flow.states[:4])})
    given = _vector("u", u, m)
    if m == 0:
        A, B = np.asarray(_derivatives(flow)(state)), np.zeros((n, 0))
    else:
        A, B = (np.asarray(M) for M in _derivatives(flow)(state, given))
    return StateSpace(A, B, states=flow.states, inputs=flow.inputs, x_at=state, u_at=given)
