"""Coordinates and their rates as SymPy symbols, and expressions read into one alphabet.

A coordinate is a real symbol `q1`; its velocity is the symbol `q1d`, its acceleration `q1dd`. SymPy's own way,
functions of time (`dynamicsymbols`) with `Derivative` for velocities, is accepted too: what comes out is written in
what went in.

Expressions polynomial in sines and cosines as sums of cos(Σ kᵢ xᵢ) and sin(Σ kᵢ xᵢ): their Fourier form.

It is unique, so that s² + c² is 1 and zero is zero, with no search for identities.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dalembert.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from sympy import Symbol

Expression = Any  # a SymPy expression: the library is imported late, so its types are not named
TIME = "t"
Complex = tuple[Fraction, Fraction]
Frequency = tuple[tuple[Any, Fraction], ...]  # (angle, its multiple), by the angle's name
Waves = dict[Frequency, Complex]  # Σ c exp(i k·x)
HALF = Fraction(1, 2)


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
        raise InputError(
            "wrong-type",
            "names",
            names,
            problem=f'coordinates are made from their names, as in coordinates("q1 q2"); got {names!r}',
        )
    return sp.symbols(names, real=True)


def rate(x: Expression, coordinates: Sequence[Symbol] | None = None) -> Expression:
    """Time derivative ẋ. Of a coordinate `q1`: its velocity, the symbol `q1d` (and of that, `q1dd`). Of an expression
    or a vector: ẋ = Σ ∂x/∂qᵢ q̇ᵢ over the `coordinates` named. Of functions of time (`dynamicsymbols`): dx/dt."""
    if isinstance(x, (list, tuple)):
        return type(x)(rate(part, coordinates) for part in x)
    try:
        x = sp.sympify(x, strict=True)
    except (sp.SympifyError, TypeError):
        raise InputError(
            "wrong-type", "x", x, problem=f"rate is of a coordinate, an expression or a vector of them, not of {x!r}"
        ) from None
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
    raise InputError(
        "missing",
        "coordinates",
        problem=f"rate({x}) needs to know what moves: rate(x, [q1, q2, …]) names the coordinates",
    )


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
            raise InputError("missing", "coordinates", (), problem="a system needs at least one coordinate")
        taken: dict[str, str] = {}
        for end, what in (("", "coordinate"), ("d", "velocity of"), ("dd", "acceleration of")):
            for name in self.names:
                if name == TIME:
                    raise InputError(
                        "wrong-value",
                        "coordinates",
                        name,
                        problem="the name 't' stands for time and cannot be a coordinate",
                    )
                if name + end in taken:
                    raise InputError(
                        "duplicate",
                        "coordinates",
                        name + end,
                        problem=f"the name {name + end!r} is used twice: {taken[name + end]}, and {what} {name!r}",
                        remedy="Rename one.",
                    )
                taken[name + end] = f"{what} {name!r}"

    def read(self, x: Expression, what: str) -> Expression:
        """An expression in the system's own symbols. `what` names it in messages."""
        if isinstance(x, str):
            raise InputError(
                "wrong-type",
                what,
                x,
                problem=f"{what} must be a SymPy expression, not text: {x!r}; text would be run as code",
            )
        try:
            x = sp.sympify(x, strict=True)
        except (sp.SympifyError, TypeError):
            raise InputError(
                "wrong-type", what, x, problem=f"{what} must be a SymPy expression or a number, got {type(x).__name__}"
            ) from None
        if isinstance(x, sp.Equality):
            x = x.lhs - x.rhs
        if not isinstance(x, sp.Expr) or isinstance(x, (sp.MatrixBase, sp.MatrixExpr)):
            raise InputError(
                "wrong-shape", what, x, problem=f"{what} must be one SymPy expression, got {type(x).__name__}"
            )
        if x.has(sp.I):
            raise InputError(
                "wrong-value",
                what,
                x,
                problem=f"{what} contains the imaginary unit: {x}; sympy.I is not a symbol for an inertia",
            )
        if x.has(sp.zoo, sp.oo, sp.nan):
            raise InputError("not-finite", what, x, problem=f"{what} is not finite: {x}")
        if self._functions:
            x = x.doit()
        x = x.xreplace(self._by_name(x)).xreplace(self._from_functions)
        self._refuse_strangers(x, what)
        return x

    def _refuse_strangers(self, x: Expression, what: str) -> None:
        moving = [str(f) for f in x.atoms(sp.Function) if is_function_of_time(f)]
        if moving:
            raise InputError(
                "missing",
                "coordinates",
                moving[0],
                problem=f"{what} contains {moving[0]}, which moves but is not among the coordinates {self._list}",
            )
        for s in x.free_symbols:
            if s.name == TIME:
                raise InputError(
                    "unsupported",
                    what,
                    x,
                    problem=f"{what} depends on time explicitly; let what moves by itself be a coordinate of its own, "
                    f"held "
                    "by a force, or a constant rate by a parameter",
                )
            if s.name in {a.name for a in self.qdd}:
                raise InputError(
                    "wrong-value",
                    what,
                    s,
                    problem=f"{what} contains the acceleration {s.name}; accelerations are what is solved for",
                )

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
                raise InputError(
                    "duplicate",
                    "coordinates",
                    s.name,
                    problem=f"the name {s.name!r} is used twice: a coordinate, and a symbol",
                    remedy="Rename one.",
                )
            known = self._seen.setdefault(s.name, s)
            if known != s:
                raise InputError(
                    "duplicate",
                    "parameters",
                    s.name,
                    problem=f"the name {s.name!r} is used twice, by two different SymPy symbols ({_assumed(known)} and "
                    f"{_assumed(s)})",
                    remedy="Make the symbol once and use it everywhere, or rename one.",
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
        raise InputError(
            "wrong-type",
            "coordinates",
            coordinates,
            problem=f"coordinates must be a sequence of SymPy symbols, got {coordinates!r}",
        ) from None


def _name(q: str | Expression) -> str:
    if isinstance(q, str):
        return q
    if is_function_of_time(q):
        return str(q.func.__name__)
    if isinstance(q, sp.Symbol):
        return str(q.name)
    raise InputError(
        "wrong-type",
        "coordinates",
        q,
        problem=f"a coordinate is a SymPy symbol or a function of time (dynamicsymbols), not {q!r} "
        f"({type(q).__name__})",
    )


def _assumed(s: Symbol) -> str:
    words = ("integer", "positive", "negative", "nonnegative", "nonpositive", "real", "complex")
    return next((word for word in words if s.assumptions0.get(word)), "no assumptions")


def tidy(x: Expression) -> Expression:
    """The shorter of the expanded expression and its Fourier form."""
    x = sp.expand(x)
    if not x.has(sp.sin, sp.cos):
        return x
    return min((x, fourier(x)), key=lambda y: y.count_ops())


def fourier(x: Expression) -> Expression:
    """The Fourier form of an expanded expression; what is no polynomial in sines and cosines stays as a factor."""
    sums: dict[Any, dict[Frequency, Complex]] = defaultdict(dict)
    for term in sp.Add.make_args(x):
        factor, waves = _term(term)
        total = sums[factor]
        for frequency, (re, im) in waves.items():
            a, b = total.get(frequency, (Fraction(0), Fraction(0)))
            total[frequency] = (a + re, b + im)
    return sp.Add(*(factor * _written(waves) for factor, waves in sums.items()))


def _term(term: Expression) -> tuple[Expression, Waves]:
    """(factor, waves) of a product. The rational coefficient goes with the waves."""
    number, rest = term.as_coeff_Mul()
    if not number.is_Rational:
        number, rest = sp.Integer(1), term
    waves: Waves = {(): (Fraction(int(number.p), int(number.q)), Fraction(0))}
    others = []
    for part in sp.Mul.make_args(rest):
        base, power = part.as_base_exp()
        if isinstance(base, (sp.sin, sp.cos)) and power.is_Integer and power > 0:
            for _ in range(int(power)):
                waves = _product(waves, _wave(base))
        else:
            others.append(part)
    return sp.Mul(*others), waves


def _wave(function: Expression) -> Waves:
    """cos a = ½ e^{ia} + ½ e^{−ia}, sin a = −½i e^{ia} + ½i e^{−ia}."""
    frequency = _frequency(function.args[0])
    opposite = tuple((x, -k) for x, k in frequency)
    if type(function).__name__ == "cos":
        return {frequency: (HALF, Fraction(0)), opposite: (HALF, Fraction(0))}
    return {frequency: (Fraction(0), -HALF), opposite: (Fraction(0), HALF)}


def _frequency(angle: Expression) -> Frequency:
    """The terms of an angle and their rational coefficients; with any other coefficient a term is an angle itself."""
    found: dict[Any, Fraction] = {}
    for part, k in angle.expand().as_coefficients_dict().items():
        x, multiple = (part, Fraction(int(k.p), int(k.q))) if k.is_Rational else (k * part, Fraction(1))
        found[x] = found.get(x, Fraction(0)) + multiple
    return _sorted(found)


def _sorted(found: dict[Any, Fraction]) -> Frequency:
    return tuple(sorted(((x, k) for x, k in found.items() if k), key=lambda pair: str(pair[0])))


def _product(a: Waves, b: Waves) -> Waves:
    result: Waves = {}
    for f, (p, q) in a.items():
        for g, (r, s) in b.items():
            both = dict(f)
            for x, k in g:
                both[x] = both.get(x, Fraction(0)) + k
            frequency = _sorted(both)
            re, im = result.get(frequency, (Fraction(0), Fraction(0)))
            result[frequency] = (re + p * r - q * s, im + p * s + q * r)
    return result


def _written(waves: Waves) -> Expression:
    """Σ c e^{ik·x} of a real function, as cosines and sines; a constant that meets its like as a square."""
    constant = waves.get((), (Fraction(0), Fraction(0)))[0]
    terms = []
    for frequency, (re, im) in waves.items():
        if not frequency or frequency[0][1] < 0:
            continue  # each wave stands here with its opposite: one of the two is written
        angle = sp.Add(*(_rational(k) * x for x, k in frequency))
        cosine, sine = 2 * re, -2 * im
        if cosine and abs(cosine) == abs(constant) and all(k % 2 == 0 for _, k in frequency):
            square = sp.cos(angle / 2) if cosine == constant else sp.sin(angle / 2)
            terms.append(_rational(2 * constant) * square**2)  # α + α cos 2a = 2α cos² a, α − α cos 2a = 2α sin² a
            cosine = constant = Fraction(0)
        terms += [_rational(cosine) * sp.cos(angle), _rational(sine) * sp.sin(angle)]
    return sp.Add(_rational(constant), *terms)


def _rational(x: Fraction) -> Expression:
    return sp.Rational(x.numerator, x.denominator)
