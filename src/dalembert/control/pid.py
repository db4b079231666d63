"""PID control of one signal, as it is built: filtered derivative, set-point weights, limits, no wind-up, no bumps.

    u = k_p (b r − y) + I + k_d (ċ r − ẏ) filtered,   İ = k_i (r − y) [+ what keeps it from winding up]

The integral *term* I is the state, not ∫e: a change of k_i then leaves u where it is.
Åström & Hägglund, Advanced PID Control, ch. 3. There are three ways of writing it, each of which turns into the others:

    parallel   k_p + k_i/s + k_d s
    standard   K (1 + 1/(T_i s) + T_d s)
    series     K′ (1 + 1/(T_i′ s)) (1 + T_d′ s)

T_i = ∞ is a law without integral. A series form exists for T_i ≥ 4 T_d only: its two zeros are real.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, NamedTuple

from dalembert.arguments import number, of_kind, switch
from dalembert.control.gains import KeywordGains
from dalembert.control.transfer import TransferFunction
from dalembert.draw.blocks import Diagram, Signal, block, terminal, total
from dalembert.errors import InputError, choose
from dalembert.flow import Scalar, Scalars
from dalembert.law import Act, Law
from dalembert.scalar import exp, where

ANTI_WINDUP = {
    "back-calculation": "İ = k_i e + (u − u_raw)/T_t: what the limit cuts off is taken from the integral",
    "clamping": "İ = 0 while u is at its limit and e drives it further",
    "none": "İ = k_i e, whatever becomes of u",
}
# Name and meaning of every parameter of the law, in this order.
PARAMETERS = ("k_p", "k_i", "k_d", "filter_time", "proportional_weight", "derivative_weight")


def limit(u: Scalar, low: float, high: float) -> Scalar:
    """u within its limits; NaN stays NaN."""
    if high < math.inf:
        u = where(u > high, high, u)
    return where(u < low, low, u) if low > -math.inf else u


# -------------------------------------------------------------------------------------------------- ways of writing it
class Parallel(NamedTuple):
    """k_p + k_i/s + k_d s."""

    k_p: float
    k_i: float = 0.0
    k_d: float = 0.0


class Standard(NamedTuple):
    """K (1 + 1/(T_i s) + T_d s)."""

    K: float
    T_i: float = math.inf
    T_d: float = 0.0


class Series(NamedTuple):
    """K (1 + 1/(T_i s)) (1 + T_d s)."""

    K: float
    T_i: float = math.inf
    T_d: float = 0.0


Form = Parallel | Standard | Series


def check_form(form: object) -> Form:
    """The form, if its numbers can be those of a law."""
    if isinstance(form, Parallel):
        return Parallel(*(number(f"the gain {n} of a PID law", x, "") for n, x in zip(form._fields, form, strict=True)))
    if isinstance(form, (Standard, Series)):
        K = number("the gain K of a PID law", form.K, "")
        T_i = math.inf if form.T_i == math.inf else number("the time T_i of a PID law", form.T_i, "s", above=0.0)
        return type(form)(K, T_i, number("the time T_d of a PID law", form.T_d, "s", least=0.0))
    raise InputError("wrong-type", "form", form, expected="a Parallel, Standard or Series form")


def to_parallel(form: Form) -> Parallel:
    """k_p = K, k_i = K/T_i, k_d = K T_d."""
    form = check_form(form)
    if isinstance(form, Series):
        form = to_standard(form)
    if isinstance(form, Parallel):
        return form
    return Parallel(form.K, form.K / form.T_i, form.K * form.T_d)


def to_standard(form: Form) -> Standard:
    """K = k_p, T_i = k_p/k_i, T_d = k_d/k_p; of a series K = K′ c, T_i = T_i′ c, T_d = T_d′/c, c = 1 + T_d′/T_i′."""
    form = check_form(form)
    if isinstance(form, Standard):
        return form
    if isinstance(form, Series):
        c = 1 + form.T_d / form.T_i
        return Standard(form.K * c, form.T_i + form.T_d, form.T_d / c)
    if form.k_p == 0:
        raise InputError("infeasible", "form", problem="a PID law with k_p = 0 has no standard form")
    T_i = form.k_p / form.k_i if form.k_i else math.inf
    T_d = form.k_d / form.k_p
    if T_i <= 0 or T_d < 0:
        raise InputError(
            "infeasible",
            "form",
            problem=f"gains of different signs (k_p = {form.k_p:g}, k_i = {form.k_i:g}, k_d = {form.k_d:g}) have "
            "no standard form",
        )
    return Standard(form.k_p, T_i, T_d)


def to_series(form: Form) -> Series:
    """With r = √(1 − 4 T_d/T_i): K′ = K (1 + r)/2, T_i′ = T_i (1 + r)/2, T_d′ = 2 T_d/(1 + r)."""
    form = check_form(form)
    if isinstance(form, Series):
        return form
    K, T_i, T_d = to_standard(form)
    if 4 * T_d > T_i:
        raise InputError(
            "infeasible", "form", problem=f"a series form needs T_i ≥ 4 T_d, got T_i = {T_i:g} s and T_d = {T_d:g} s"
        )
    half = (1 + math.sqrt(1 - 4 * T_d / T_i)) / 2
    return Series(K * half, T_i * half, T_d / half)


# -------------------------------------------------------------------------------------------------------------- the law
@dataclass(frozen=True, kw_only=True)
class PID(KeywordGains):
    """A PID law in parallel form; `PID.of(Standard(K, T_i, T_d))` takes the others.

    `filter_time` T_f [s] of the derivative, k_d s/(1 + T_f s); needed where k_d is not zero, unless `rate` says that ẏ
    is measured (and ṙ given), which then is taken as it is. `proportional_weight` b and `derivative_weight` c weigh the
    set point: b < 1 lessens overshoot, c = 0 spares u the kick of a step; neither changes what disturbances do.
    `low`, `high`: limits of u; others, that come after the law, it does not see, and winds up.
    `anti_windup`: a row of `ANTI_WINDUP`, with `tracking_time` T_t [s], √(T_i T_d) or T_i if not given. `names`: of
    what is measured, of the set point, of the output."""

    k_p: float
    k_i: float = 0.0
    k_d: float = 0.0
    filter_time: float | None = None
    proportional_weight: float = 1.0
    derivative_weight: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    anti_windup: str = "back-calculation"
    tracking_time: float | None = None
    rate: bool = False
    names: tuple[str, str, str] = ("y", "r", "u")

    def __post_init__(self) -> None:
        who = "a PID law"
        for name in ("k_p", "k_i", "k_d"):
            object.__setattr__(self, name, number(f"the gain {name} of {who}", getattr(self, name), ""))
        for name in ("proportional_weight", "derivative_weight"):
            object.__setattr__(self, name, number(f"the {name.replace('_', ' ')} of {who}", getattr(self, name), "1"))
        choose("anti-windup", self.anti_windup, ANTI_WINDUP)
        switch("rate", self.rate)
        for name in ("low", "high"):
            value = getattr(self, name)
            ok = isinstance(value, Real) and not math.isnan(value)
            if not ok:
                raise InputError("wrong-type", name, value, expected="a number or infinite")
        if not self.low < self.high:
            raise InputError("out-of-range", "low", self.low, expected=f"less than `high`, {self.high:g}")
        self._check_filter(who)
        if self.tracking_time is not None:
            T = number(f"the tracking time of {who}", self.tracking_time, "s", above=0.0)
            object.__setattr__(self, "tracking_time", T)
        if not isinstance(self.names, (tuple, list)) or [type(name) for name in self.names] != [str] * 3:
            raise InputError(
                "wrong-type",
                "names",
                self.names,
                expected="three names: of the measurement, the set point and the output",
            )

    def _check_filter(self, who: str) -> None:
        if self.rate:
            if self.filter_time is not None:
                raise InputError(
                    "conflict",
                    "filter_time",
                    problem="with rate=True the derivative is measured, so there is nothing to filter",
                )
            return
        if self.filter_time is None:
            if self.k_d:
                raise InputError(
                    "missing",
                    "filter_time",
                    problem="the derivative of a measured signal needs a filter",
                    remedy="Pass filter_time, usually a tenth of T_d = k_d/k_p, or rate=True if the rate is measured.",
                )
        else:
            T = number(f"the filter time of {who}", self.filter_time, "s", above=0.0)
            object.__setattr__(self, "filter_time", T)

    @classmethod
    def of(cls, form: Form, filter_ratio: float = 10.0, **options: Any) -> PID:
        """From any form; without a filter_time the derivative is filtered with T_f = T_d/`filter_ratio`."""
        k_p, k_i, k_d = to_parallel(form)
        ratio = number("the filter ratio of a PID law", filter_ratio, "1", above=0.0)
        if k_d and not options.get("rate") and "filter_time" not in options:
            if k_p == 0:
                raise InputError(
                    "missing",
                    "filter_time",
                    problem="a PID law with k_p = 0 has no T_d that sets its filter",
                    remedy="Pass filter_time.",
                )
            options["filter_time"] = abs(k_d / k_p) / ratio
        return cls(k_p=k_p, k_i=k_i, k_d=k_d, **options)

    # ------------------------------------------------------------------------------------------------- as formulas
    @property
    def parallel(self) -> Parallel:
        return Parallel(self.k_p, self.k_i, self.k_d)

    @property
    def standard(self) -> Standard:
        return to_standard(self.parallel)

    @property
    def series(self) -> Series:
        return to_series(self.parallel)

    @property
    def tracking(self) -> float:
        """T_t [s], by which the integral follows a limited output."""
        if self.tracking_time is not None:
            return self.tracking_time
        if self.k_i == 0 or self.k_p == 0:
            return 1.0
        T_i, T_d = abs(self.k_p / self.k_i), abs(self.k_d / self.k_p)
        return math.sqrt(T_i * T_d) if T_d else T_i

    def transfer(self) -> TransferFunction:
        """C(s) = k_p + k_i/s + k_d s/(1 + T_f s), from the error to u, limits left aside."""
        T = self.filter_time if self._filtered and self.filter_time is not None else 0.0
        num = [self.k_p * T + self.k_d, self.k_p + self.k_i * T, self.k_i]
        return TransferFunction(num, [T, 1.0, 0.0]) if self.k_i else TransferFunction(num[:2], [T, 1.0])

    @property
    def limits_something(self) -> bool:
        return self.low > -math.inf or self.high < math.inf

    def diagram(self) -> Diagram:
        """The law with its limit and what keeps the integral from winding up, drawn."""
        nodes = [
            terminal("r", "r", 0, 0),
            block("P", "k_p (b r − y)", 1, 0, tone="servo"),
            block("I", "k_i (r − y)", 1, 1, tone="servo"),
            block("D", "k_d s/(1 + T_f s) (c r − y)", 1, 2, tone="servo"),
            total("in", 2, 1),
            block("integral", "1/s", 3, 1, tone="servo"),
            total("sum", 4, 1),
            block("limit", "limit", 5, 1, tone="servo"),
            block("system", "system", 6, 1, tone="plant"),
        ]
        signals = [
            *(Signal("r", name, into=-0.6) for name in "PID"),
            Signal("I", "in", sign="+"),
            Signal("in", "integral"),
            Signal("integral", "sum", sign="+"),
            Signal("P", "sum", sign="+"),
            Signal("D", "sum", sign="+"),
            Signal("sum", "limit", "u_{raw}"),
            Signal("limit", "system", "u"),
        ]
        if self.anti_windup == "back-calculation" and self.limits_something:
            nodes += [total("cut", 5, 3), block("tracking", "1/T_t", 3, 3, flip=True, tone="servo")]
            signals += [
                Signal("limit", "cut", sign="+", enter="right"),
                Signal("sum", "cut", sign="−", lane=2, enter="top"),
                Signal("cut", "tracking", leave="left"),
                Signal("tracking", "in", sign="+"),
            ]
        bottom = max(node.row for node in nodes)
        for k, name in enumerate("PID"):
            signals.append(Signal("system", name, "y" if k == 0 else "", lane=bottom, rise=0, into=0.6))
        equation = "u_{raw} = k_p (b r − y) + ∫k_i (r − y) dt + k_d s/(1 + T_f s) (c r − y)"
        return Diagram("PID control", tuple(nodes), tuple(signals), equation)

    # --------------------------------------------------------------------------------------------------- over scalars
    @property
    def _filtered(self) -> bool:
        return not self.rate and self.k_d != 0

    def _raw(self, y: Scalars, r: Scalars, z: Scalars, p: Scalars, derivative: Scalar) -> Scalar:
        """u before its limits."""
        return p[0] * (p[4] * r[0] - y[0]) + z[0] + derivative

    def _integral_rate(self, y: Scalars, r: Scalars, raw: Scalar, p: Scalars) -> Scalar:
        drive = p[1] * (r[0] - y[0])
        if not self.limits_something or self.anti_windup == "none":
            return drive
        if self.anti_windup == "clamping":
            still = where(raw > self.high, where(drive > 0.0, 0.0, drive), drive)
            return where(raw < self.low, where(drive < 0.0, 0.0, drive), still)
        return drive + where(p[1] * p[1] > 0.0, (limit(raw, self.low, self.high) - raw) / self.tracking, 0.0)

    def law(self, period: float | None = None, start: tuple[float, float, float] | None = None) -> Law:
        """The law over scalars: states integral and (with a filter) the filtered (c r − y); gains are parameters.

        Continuous, or sampled every `period` [s]: then the derivative is the backward difference, which stays well at
        any filter time. A continuous law that is run sampled must have T_f above its sample time.
        `start` = (u, y, r): begin without a bump, with this output at this measurement and set point."""
        h = None if period is None else number("the period of a sampled PID law", period, "s", above=0.0)
        filtered = self._filtered

        def derivative(y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> Scalar:
            if self.rate:
                return p[2] * (p[5] * r[1] - y[1])
            if not filtered:
                return 0.0
            return p[2] * (p[5] * r[0] - y[0] - z[1]) / (p[3] if h is None else p[3] + h)

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            return [limit(self._raw(y, r, z, p, derivative(y, r, z, p)), self.low, self.high)]

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            raw = self._raw(y, r, z, p, derivative(y, r, z, p))
            own = [(p[5] * r[0] - y[0] - z[1]) / p[3]] if filtered else []
            return [self._integral_rate(y, r, raw, p), *own]

        def update(sample: float) -> Act:
            if h is not None and abs(sample - h) > 1e-9 * h:
                raise InputError(
                    "conflict",
                    "period",
                    sample,
                    problem=f"the law was made for a period of {h:g} s, and runs every {sample:g} s",
                )
            if h is None and filtered and self.filter_time is not None and self.filter_time < sample:
                raise InputError(
                    "conflict",
                    "filter_time",
                    self.filter_time,
                    problem=f"a derivative that is filtered with {self.filter_time:g} s cannot run every {sample:g} s",
                    remedy=f"Make the law with .law(period={sample:g}).",
                )

            def advance(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
                raw = self._raw(y, r, z, p, derivative(y, r, z, p))
                integral = z[0] + sample * self._integral_rate(y, r, raw, p)
                if not filtered:
                    return [integral]
                share = 1.0 - exp(-(sample / p[3])) if h is None else sample / (p[3] + sample)
                return [integral, z[1] + share * (p[5] * r[0] - y[0] - z[1])]

            return advance

        measured, wanted, output = self.names
        weights = (self.proportional_weight, self.derivative_weight)
        values = (self.k_p, self.k_i, self.k_d, self.filter_time or 1.0, *weights)
        return Law(
            "PID",
            (measured, f"{measured}_rate") if self.rate else (measured,),
            (wanted, f"{wanted}_rate") if self.rate else (wanted,),
            (output,),
            act,
            states=("integral", "filtered") if filtered else ("integral",),
            initial=self._initial(start),
            rate=rate,
            update=update,
            parameters=dict(zip(PARAMETERS, values, strict=True)),
        )

    def _initial(self, start: tuple[float, float, float] | None) -> tuple[float, ...]:
        """The state that gives the output asked for, the derivative at rest."""
        if start is None:
            return (0.0, 0.0) if self._filtered else (0.0,)
        u, y, r = (number(f"the {name} of the start", x, "") for name, x in zip(("u", "y", "r"), start, strict=True))
        integral = u - self.k_p * (self.proportional_weight * r - y)
        return (integral, self.derivative_weight * r - y) if self._filtered else (integral,)

    def controller(self, period: float, start: tuple[float, float, float] | None = None) -> SampledPID:
        """One that is called every `period` [s], and keeps its state."""
        return SampledPID(self, period, start)


class SampledPID:
    """A PID law that runs: u = controller(y, r) once every `period` [s].

    `start` and `set` never make u jump; only its limits can."""

    def __init__(self, pid: PID, period: float, start: tuple[float, float, float] | None = None) -> None:
        of_kind(pid, PID, "a SampledPID runs a PID, not")
        self.pid, self.period = pid, number("the period of a sampled PID law", period, "s", above=0.0)
        self._last: tuple[list[float], list[float]] | None = None
        self._fresh = start is None
        self._take(pid, start)

    def _take(self, pid: PID, start: tuple[float, float, float] | None = None) -> None:
        law = pid.law(self.period, start)
        assert law.update is not None
        self.pid, self._law, self._advance = pid, law, law.update(self.period)
        self._p = list(law.parameters.values())
        self.z = list(law.initial)

    def __call__(self, y: float, r: float, y_rate: float | None = None, r_rate: float = 0.0) -> float:
        """u for what is measured now; the state then moves on by one period."""
        measured = [number("the y of the measurement", y, "")]
        wanted = [number("the r of the set point", r, "")]
        if self.pid.rate:
            if y_rate is None:
                raise InputError(
                    "missing",
                    "y_rate",
                    problem="a PID law with rate=True needs the measured rate",
                    remedy="Pass `y_rate`.",
                )
            measured.append(number("the rate of the measurement", y_rate, ""))
            wanted.append(number("the rate of the set point", r_rate, ""))
        elif y_rate is not None:
            raise InputError(
                "no-effect",
                "y_rate",
                problem="this PID law differentiates the measurement itself",
                remedy="Leave out `y_rate`, or make the PID with rate=True.",
            )
        if self._fresh and self.pid._filtered:  # nothing is known of a rate before the first measurement
            self.z[1] = self.pid.derivative_weight * wanted[0] - measured[0]
        self._fresh = False
        u = self._law.act(0.0, measured, wanted, self.z, self._p)[0]
        self._last = (measured, wanted)
        self.z = list(self._advance(0.0, measured, wanted, self.z, self._p))
        return float(u)

    def start(self, u: float, y: float, r: float) -> None:
        """Take over from a hand or another law that gives u at (y, r): the next output there is u again."""
        self.z = list(self.pid._initial((u, y, r)))
        self._last, self._fresh = None, False

    def set(self, **changes: Any) -> None:
        """Change gains, weights, filter or limits while running, without a bump: at the last (y, r) the next output is
        what the old numbers would have given. The integral takes up the difference, and u goes on from there."""
        old, z, last = self.pid, list(self.z), self._last
        known = [field.name for field in fields(old)]
        for name in changes:
            choose("number of a PID law", name, known)
        new = replace(old, **changes)
        before = None if last is None else _unlimited(old, self.period, *last, z)
        self._take(new)
        self.z = [z[0], *self.z[1:]]
        if new._filtered and old._filtered:  # the filter follows c r − y: a new weight moves it along
            moved = 0.0 if last is None else (new.derivative_weight - old.derivative_weight) * last[1][0]
            self.z[1] = z[1] + moved
        elif new._filtered and last is not None:
            self.z[1] = new.derivative_weight * last[1][0] - last[0][0]
        if last is not None and before is not None:
            self.z[0] += before - _unlimited(new, self.period, *last, self.z)


def _unlimited(pid: PID, period: float, y: list[float], r: list[float], z: list[float]) -> float:
    """u before its limits, in a given state."""
    law = replace(pid, low=-math.inf, high=math.inf).law(period)
    return float(law.act(0.0, y, r, z, list(law.parameters.values()))[0])
