"""Coordinates and their rates as SymPy symbols, and expressions read into one alphabet.

A coordinate is a real symbol `q1`; its velocity is the symbol `q1d`, its acceleration `q1dd`. SymPy's own way,
functions of time (`dynamicsymbols`) with `Derivative` for velocities, is accepted too: what comes out is written in
what went in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dalembert.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from sympy import Symbol

Expression = Any  # a SymPy expression: the library is imported late, so its types are not named
TIME = "t"


class _SymPy:
    """The module sympy, imported when something of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        try:
            import sympy
        except ImportError:
            raise MissingExtraError(
                "Lagrangian systems need the package 'sympy': pip install 'dalembert[lagrange]'"
            ) from None
        return getattr(sympy, name)


sp: Any = _SymPy()


def coordinates(names: str) -> Expression:
    """Generalized coordinates by their names, `q1, q2 = coordinates("q1 q2")`: real SymPy symbols, a single one alone.

    `rate` gives their velocities."""
    if not isinstance(names, str) or not names.strip(" ,"):
        raise InputError(f'coordinates are made from their names, as in coordinates("q1 q2"); got {names!r}')
    return sp.symbols(names, real=True)


def rate(x: Expression, coordinates: Sequence[Symbol] | None = None) -> Expression:
    """Time derivative ẋ. Of a coordinate `q1`: its velocity, the symbol `q1d` (and of that, `q1dd`). Of an expression
    or a vector: ẋ = Σ ∂x/∂qᵢ q̇ᵢ over the `coordinates` named. Of functions of time (`dynamicsymbols`): dx/dt."""
    if isinstance(x, (list, tuple)):
        return type(x)(rate(part, coordinates) for part in x)
    try:
        x = sp.sympify(x, strict=True)
    except (sp.SympifyError, TypeError):
        raise InputError(f"rate is of a coordinate, an expression or a vector of them, not of {x!r}") from None
    if isinstance(x, sp.MatrixBase):
        return x.applyfunc(lambda part: rate(part, coordinates))
    time = _time_of(x)
    if time is not None:
        return sp.diff(x, time)
    if coordinates is not None:
        chain = [(q, rate(q)) for q in coordinates]
        chain += [(v, rate(v)) for _, v in chain]
        return sp.Add(*(sp.diff(x, a) * b for a, b in chain))
    if x.is_Symbol:
        return sp.Symbol(x.name + "d", **x.assumptions0)
    if not x.free_symbols:
        return sp.Integer(0)
    raise InputError(f"rate({x}) needs to know what moves: rate(x, [q1, q2, …]) names the coordinates")


def _time_of(x: Expression) -> Expression | None:
    """The symbol that functions in x depend on, if they are functions of one symbol (time)."""
    functions = [f for f in x.atoms(sp.Function) if is_function_of_time(f)]
    return functions[0].args[0] if functions else None


def is_function_of_time(x: object) -> bool:
    return isinstance(x, sp.core.function.AppliedUndef) and len(x.args) == 1 and str(x.args[0]) == TIME


class Alphabet:
    """The symbols of one system: coordinates, velocities, accelerations inside, and how its user writes them.

    `read` turns what a user wrote into real symbols q, q̇ (so that derivatives of |q| exist, and no function of time
    slows SymPy down); `write` turns results back."""

    def __init__(self, coordinates: str | Expression | Iterable[Expression]) -> None:
        given = as_list(coordinates)
        self.names = tuple(_name(q) for q in given)
        self._check_names()
        self.q, self.qd, self.qdd = (
            tuple(sp.Symbol(name + end, real=True) for name in self.names) for end in ("", "d", "dd")
        )
        self._inner = {s.name: s for s in (*self.q, *self.qd)}
        self._seen: dict[str, Any] = {q.name: q for q in given if isinstance(q, sp.Symbol)}
        self._functions = {i: q for i, q in enumerate(given) if is_function_of_time(q)}
        self._from_functions: dict[Any, Any] = {}
        for i, q in self._functions.items():
            t = q.args[0]
            self._from_functions |= {q: self.q[i], sp.diff(q, t): self.qd[i], sp.diff(q, t, 2): self.qdd[i]}

    def _check_names(self) -> None:
        if not self.names:
            raise InputError("a system needs at least one coordinate")
        taken: dict[str, str] = {}
        for end, what in (("", "coordinate"), ("d", "velocity of"), ("dd", "acceleration of")):
            for name in self.names:
                if name == TIME:
                    raise InputError("the name 't' stands for time and cannot be a coordinate")
                if name + end in taken:
                    raise InputError(
                        f"the name {name + end!r} is used twice: {taken[name + end]}, and {what} {name!r}; rename one"
                    )
                taken[name + end] = f"{what} {name!r}"

    def read(self, x: Expression, what: str) -> Expression:
        """An expression in the system's own symbols. `what` names it in messages."""
        if isinstance(x, str):
            raise InputError(f"{what} must be a SymPy expression, not text: {x!r}; text would be run as code")
        try:
            x = sp.sympify(x, strict=True)
        except (sp.SympifyError, TypeError):
            raise InputError(f"{what} must be a SymPy expression or a number, got {type(x).__name__}") from None
        if isinstance(x, sp.Equality):
            x = x.lhs - x.rhs
        if not isinstance(x, sp.Expr) or isinstance(x, (sp.MatrixBase, sp.MatrixExpr)):
            raise InputError(f"{what} must be one SymPy expression, got {type(x).__name__}")
        if x.has(sp.I):
            raise InputError(f"{what} contains the imaginary unit: {x}; sympy.I is not a symbol for an inertia")
        if x.has(sp.zoo, sp.oo, sp.nan):
            raise InputError(f"{what} is not finite: {x}")
        if self._functions:
            x = x.doit()
        x = x.xreplace(self._by_name(x)).xreplace(self._from_functions)
        self._refuse_strangers(x, what)
        return x

    def _refuse_strangers(self, x: Expression, what: str) -> None:
        moving = [str(f) for f in x.atoms(sp.Function) if is_function_of_time(f)]
        if moving:
            raise InputError(f"{what} contains {moving[0]}, which moves but is not among the coordinates {self._list}")
        for s in x.free_symbols:
            if s.name == TIME:
                raise InputError(
                    f"{what} depends on time explicitly; let what moves by itself be a coordinate of its own, "
                    "held by a force, or a constant rate by a parameter"
                )
            if s.name in {a.name for a in self.qdd}:
                raise InputError(f"{what} contains the acceleration {s.name}; accelerations are what is solved for")

    @property
    def _list(self) -> str:
        return ", ".join(self.names)

    def _by_name(self, x: Expression) -> dict[Any, Any]:
        """The map of symbols to those inside. One name is one symbol: SymPy takes two of different assumptions as
        strangers, and derivatives would be silently zero."""
        result = {}
        for s in sorted(x.free_symbols, key=str):
            if s.name == TIME:
                continue
            if s.name in {self.names[i] for i in self._functions}:
                raise InputError(f"the name {s.name!r} is used twice: a coordinate, and a symbol; rename one")
            known = self._seen.setdefault(s.name, s)
            if known != s:
                raise InputError(
                    f"the name {s.name!r} is used twice, by two different SymPy symbols ({_assumed(known)} and "
                    f"{_assumed(s)}); make the symbol once and use it everywhere, or rename one"
                )
            if s.name in self._inner:
                result[s] = self._inner[s.name]
        return result

    def known(self, s: Symbol) -> Symbol:
        """The symbol of this name that was read, if one was, else s itself."""
        return self._seen.get(s.name, s)

    def parameters(self, inputs: Iterable[Any]) -> tuple[Any, ...]:
        """Every symbol read that is neither a coordinate, a velocity nor an input, by name."""
        taken = {*self._inner, *(u.name for u in inputs)}
        return tuple(self._seen[name] for name in sorted(set(self._seen) - taken))

    def outside(self) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
        """Coordinates, velocities and accelerations as their user writes them."""
        triples = [self._triple(i, name) for i, name in enumerate(self.names)]
        q, v, a = zip(*triples, strict=True)
        return q, v, a

    def _triple(self, i: int, name: str) -> tuple[Any, Any, Any]:
        if i in self._functions:
            f = self._functions[i]
            t = f.args[0]
            return f, sp.diff(f, t), sp.diff(f, t, 2)
        x = self._seen.get(name, self.q[i])
        xd = self._seen.get(name + "d") or rate(x)
        return x, xd, rate(xd)


def as_list(coordinates: str | Expression | Iterable[Expression]) -> list[Any]:
    """Coordinates as a list: from text, one symbol, or any sequence or SymPy matrix of them."""
    if isinstance(coordinates, str):
        made = sp.symbols(coordinates, seq=True, real=True) if coordinates.strip(" ,") else ()
        return [s.name for s in made]
    if isinstance(coordinates, sp.Basic) and not isinstance(coordinates, (sp.MatrixBase, sp.Tuple)):
        return [coordinates]
    try:
        return list(coordinates)
    except TypeError:
        raise InputError(f"coordinates must be a sequence of SymPy symbols, got {coordinates!r}") from None


def _name(q: str | Expression) -> str:
    if isinstance(q, str):
        return q
    if is_function_of_time(q):
        return str(q.func.__name__)
    if isinstance(q, sp.Symbol):
        return str(q.name)
    raise InputError(
        f"a coordinate is a SymPy symbol or a function of time (dynamicsymbols), not {q!r} ({type(q).__name__})"
    )


def _assumed(s: Symbol) -> str:
    words = ("integer", "positive", "negative", "nonnegative", "nonpositive", "real", "complex")
    return next((word for word in words if s.assumptions0.get(word)), "no assumptions")
