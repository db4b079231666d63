"""What a system is to everything else: names, units, kernels by name, and how it moves.

Robots, constrained and motor-driven ones, flexible joints, Lagrangian systems, and any stranger's class that has what
`System` asks for can be simulated, controlled, verified and reported. `KernelTable` says how kernels are made, for all
of them; `Kernels` holds those of one system.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import LAST, array, check_call, in_joint_order, labels_of, plain_array
from dalembert.errors import InputError, unknown

if TYPE_CHECKING:
    from dalembert.compile import Kernel
    from dalembert.flow import Flow
    from dalembert.model import Model

Array = NDArray[np.float64]
Shape = tuple[int, ...]
Options = dict[str, Any]
Arguments = dict[str, Any]  # of a kernel while it is traced: arrays of scalars of any kind, by name
Key = tuple[Any, ...]  # (name of a kernel, optional arguments given, *options in the order of its row)
S = TypeVar("S")
T = TypeVar("T")

# What a compiled call raises where it is not there yet, or refuses its input; the long way then says what is wrong.
REFUSED = (KeyError, TypeError, ValueError)


@dataclass(frozen=True)
class Limits:
    """Per coordinate: position [rad or m], effort [N m or N], velocity [rad/s or m/s]; ±inf where none."""

    lower: Array
    upper: Array
    effort: Array
    velocity: Array


SYSTEM = ("name", "states", "inputs", "units", "flow", "kernel")  # what a `System` has


@runtime_checkable
class System(Protocol):
    """Whatever moves: ẋ = f(t, x, u).

    `states` and `inputs` name the entries of x and u of `flow()`, and `units` gives the unit of each by its name (""
    where nobody knows). `flow(**options)` is the system as simulation and control take it: each system's own method
    says which options it takes (friction=, wrenches=, energies=, …), and refuses others. `kernel(name, given,
    **options)` is a compiled function by its name, "mass_matrix", "forward_dynamics", … where the system has such a
    thing; unknown names are refused by `errors.unknown`."""

    @property
    def name(self) -> str: ...

    @property
    def states(self) -> tuple[str, ...]: ...

    @property
    def inputs(self) -> tuple[str, ...]: ...

    @property
    def units(self) -> Mapping[str, str]: ...

    @property
    def flow(self) -> Callable[..., Flow]: ...

    @property
    def kernel(self) -> Callable[..., Kernel]: ...


class Jointed(System, Protocol):
    """A system that is a model of bodies and joints with its kernels: what kinematics and bounds take.

    The methods are those of `Robot`, which it stands for below."""

    model: Model
    threads: int

    @property
    def n(self) -> int: ...

    @property
    def nv(self) -> int: ...

    @property
    def joint_names(self) -> tuple[str, ...]: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def gravity(self) -> Array: ...

    @property
    def home(self) -> Array: ...

    def run(self, key: Key, *arguments: object) -> Any: ...

    def once(self, key: Hashable, make: Callable[[], T]) -> T: ...

    def random_configuration(
        self, size: int | tuple[int, ...] = (), *, seed: int | np.random.Generator | None = None
    ) -> Array: ...

    def fk(self, q: ArrayLike, frame: str | None = None) -> Array: ...

    def jacobian(self, q: ArrayLike, frame: str | None = None, expressed_in: str = "world") -> Array: ...

    def jacobian_dot(
        self, q: ArrayLike, qd: ArrayLike, frame: str | None = None, expressed_in: str = "world"
    ) -> Array: ...

    def analytic_jacobian(self, q: ArrayLike, frame: str | None = None, angles: str = "zyz") -> Array: ...

    def mass_matrix(self, q: ArrayLike) -> Array: ...

    def gravity_torque(self, q: ArrayLike) -> Array: ...

    def bias_torque(self, q: ArrayLike, qd: ArrayLike) -> Array: ...

    def coriolis_torque(self, q: ArrayLike, qd: ArrayLike) -> Array: ...


class Linearization(NamedTuple):
    """ẋ ≈ f + A (x − x_at) + B (u − u_at): `A` (N, N), `B` (N, m), the state `x` (N,) and input `u` (m,) it is about,
    and the names of their entries."""

    A: Array
    B: Array
    x: Array
    u: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]


def read_state(x: ArrayLike | None, sizes: Mapping[int, str]) -> Array:
    """The state that a system is linearized about, one of these lengths; what each means is said where x is none."""
    if x is None:
        wanted = (f"{k} numbers ({what})" if k > 1 else f"a number ({what})" for k, what in sizes.items())
        raise InputError(f"say about which state: x, {' or '.join(wanted)}")
    return array("x", x, *((k,) for k in sizes), meaning=" or ".join(sizes.values()))


def second_order(D_q: Array, D_qd: Array, D_u: Array) -> tuple[Array, Array]:
    """(A, B) of ẋ ≈ A δx + B δu, x = (q, q̇), from the derivatives of q̈(q, q̇, u), (..., n, ·) each."""
    *batch, n, m = D_u.shape
    A, B = np.zeros((*batch, 2 * n, 2 * n)), np.zeros((*batch, 2 * n, m))
    A[..., :n, n:] = np.eye(n)
    A[..., n:, :n], A[..., n:, n:], B[..., n:, :] = D_q, D_qd, D_u
    return A, B


@dataclass(frozen=True)
class Row(Generic[S]):
    """How one kernel is made.

    `trace(subject, arguments, options)` runs the algorithm; `shapes(subject, options)` announces its outputs.
    `options` are the accepted ones with their defaults; `optional` arguments are taken when given. `prepare(subject,
    arguments, options)` gives what is traced instead of the subject, or refuses it. With `derivative`, the kernel is
    the derivative of what is traced by these arguments."""

    arguments: tuple[str, ...]
    trace: Callable[[S, Arguments, Options], Any]
    shapes: Callable[[S, Options], tuple[Shape, ...]]
    options: Options = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    prepare: Callable[[S, tuple[str, ...], Options], S] | None = None
    derivative: tuple[str, ...] = ()


@dataclass(frozen=True)
class KernelTable(Generic[S]):
    """Rows by name, and what they have in common.

    `sizes(subject, options)` gives the shape of every argument; `read(row, option, value)` checks an option's value;
    `added(options)` are arguments that options bring with them, and how messages call them; `singular(subject, name)`
    is the error for a division by zero in every state, met while tracing."""

    rows: dict[str, Row[S]]
    sizes: Callable[[S, Options], dict[str, Shape]]
    singular: Callable[[S, str], Exception]
    read: Callable[[Row[S], str, object], object] = lambda row, option, value: value
    added: Callable[[Options], dict[str, str]] = lambda options: {}

    def row(self, name: str) -> Row[S]:
        if name not in self.rows:
            raise unknown("kernel", name, self.rows)
        return self.rows[name]

    def read_options(self, name: str, options: Mapping[str, object]) -> Options:
        """The options of a kernel, checked, and completed by their defaults; unknown ones are refused."""
        row = self.row(name)
        for option in options:
            if option not in row.options:
                raise unknown(f"option of {name}", option, row.options)
        return {**row.options, **{option: self.read(row, option, value) for option, value in options.items()}}

    def names(self, name: str, given: Sequence[str], options: Options) -> tuple[str, ...]:
        """The arguments of a kernel; `given` are the optional ones that will be passed."""
        row = self.row(name)
        for argument in given:
            if argument not in row.optional:
                raise unknown(f"optional argument of {name}", argument, row.optional)
        return row.arguments + tuple(a for a in row.optional if a in given) + tuple(self.added(options))

    def make(self, subject: S, name: str, given: Sequence[str], options: Options) -> Kernel:
        """The kernel of a row for a subject, of options that were read."""
        from dalembert.compile import compile_function  # a robot that is only looked at needs no compiler

        row, names = self.row(name), self.names(name, given, options)
        subject = subject if row.prepare is None else row.prepare(subject, names, options)
        sizes = self.sizes(subject, options)

        def function(*arguments: object) -> object:
            return row.trace(subject, dict(zip(names, arguments, strict=True)), options)

        traced = name.removesuffix("_derivatives") if row.derivative else name
        try:
            kernel = compile_function(
                function, [sizes[a] for a in names], row.shapes(subject, options), traced, arguments=names
            )
        except ZeroDivisionError:
            raise self.singular(subject, name) from None
        return kernel.derivative(*row.derivative) if row.derivative else kernel


class Kernels(Generic[S]):
    """The kernels of one system: compiled when first asked for, called by their keys.

    `subject()` is what the table's rows trace. `name` and `joints` are for messages. `inspect(kernel, names, values)`
    refuses values that no kernel could make sense of."""

    def __init__(
        self,
        table: KernelTable[S],
        subject: Callable[[], S],
        name: str,
        joints: tuple[str, ...],
        threads: int = 1,
        inspect: Callable[[str, Sequence[str], Sequence[object]], None] | None = None,
    ) -> None:
        self.table, self.subject, self.name, self.joints, self.threads = table, subject, name, joints, threads
        self.inspect = inspect
        self.calls: dict[Key | str, Callable[..., Any]] = {}  # the plain call of a kernel also by its name alone
        self.made: dict[Key, Kernel] = {}

    def get(self, name: str, given: Sequence[str], options: Mapping[str, object]) -> Kernel:
        """The kernel of a row; `given` names the optional arguments that will be passed."""
        complete = self.table.read_options(name, options)
        names = self.table.names(name, given, complete)
        key = (name, names, *complete.values())
        if key not in self.made:
            self.made[key] = self.table.make(self.subject(), name, given, complete)
        return self.made[key]

    def run(self, key: Key, out: object, *arguments: object) -> Any:
        """What the kernel of a key gives for these arguments."""
        try:
            if out is None:
                return self.calls[key](*arguments)
            return self.calls[key](*arguments, out)
        except REFUSED:
            pass  # what is raised below, outside this block, stands alone
        return self.run_first(key, out, *arguments)

    def run_first(self, key: Key, out: object, *arguments: object) -> Any:
        """The long way: compile what is missing, look at the input and say what is wrong with it, or call."""
        name, given, *values = key
        row = self.table.row(name)
        options = dict(zip(row.options, values, strict=False))
        kernel = self.get(name, given, options)
        names = row.arguments + given + tuple(self.table.added(options).values())
        arguments = self._ordered(names, kernel, arguments)
        if key not in self.calls and self.joints:  # without joints NumPy cannot check shapes: all calls come this way
            self.calls[key] = self._inspected(name, names, kernel)
            if not given and options == row.options:
                self.calls[name] = self.calls[key]  # a shorter look-up
        check = partial(check_call, self.name, self.joints, names, arguments, kernel.inputs, kernel.outputs, out)
        if not self.joints:
            check()
        if self.inspect is not None:
            self.inspect(name, names, arguments)
        try:
            return kernel(*arguments, out=out, threads=self.threads)
        except Exception as caught:
            error = caught
        check()
        raise error

    def _ordered(self, names: Sequence[str], kernel: Kernel, arguments: Sequence[object]) -> tuple[object, ...]:
        """The arguments, tables with named columns as arrays: those of the joints in the order of the joints."""
        found = []
        for name, core, a in zip_longest(names, kernel.inputs, arguments):
            if labels_of(a) is not None:
                own = core == (len(self.joints),) and name not in LAST and not name.startswith("wrench")
                a = plain_array(in_joint_order(name, a, self.joints) if own else a, name)
            found.append(a)
        return tuple(found[: len(arguments)])

    def _inspected(self, name: str, names: Sequence[str], kernel: Kernel) -> Callable[..., Any]:
        """The plain call of a kernel, of arguments that were looked at where they must be."""
        call = kernel.direct if self.threads == 1 else partial(kernel, threads=self.threads)
        inspect = self.inspect
        if inspect is None:
            return call

        def inspected(*arguments: object) -> Any:
            inspect(name, names, arguments)
            return call(*arguments)

        return inspected
