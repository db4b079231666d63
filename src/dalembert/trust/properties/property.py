"""What is found of a property, and the report of many."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import NamedTuple

from dalembert.display import MathText, VerdictMark
from dalembert.findings import Finding, FindingColumn, Findings, Severity

PROVED, HOLDS, FAILS, SILENT = "proved", "holds", "fails", "does not apply"
SIGNS = {PROVED: "∎", HOLDS: "✓", FAILS: "✗", SILENT: "–"}


class Verdict(NamedTuple):
    """What was found of a property, as the fields of `Property` say."""

    verdict: str
    shown: str
    numbers: Mapping[str, float] = MappingProxyType({})
    note: str = ""
    formulas: Mapping[str, str] = MappingProxyType({})


def silent(why: str) -> Verdict:
    """Of a property that this mechanism does not have the means for."""
    return Verdict(SILENT, why)


@dataclass(frozen=True)
class Property:
    """One property of one mechanism: what is claimed, how it was looked at, what was found.

    `verdict`: "proved" (an identity of polynomials: at every state), "holds" (at every state that was measured),
    "fails", or "does not apply". `shown` says how; `numbers` what was measured; `formulas` what was found in
    symbols; `note` what the verdict does not say."""

    name: str
    statement: str
    latex: str
    source: str
    verdict: str
    shown: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    formulas: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against it."""
        return self.verdict != FAILS

    @property
    def finding(self) -> Finding:
        """The property as a finding: an error where it fails, else a note."""
        severity: Severity = "note" if self.ok else "error"
        return Finding(self.name, severity, f"{self.statement}: {self.verdict}; {self.shown}")

    def data(self) -> dict[str, object]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def __str__(self) -> str:
        lines = [f"{SIGNS[self.verdict]} {self.name}: {self.verdict}", f"  {self.statement}", f"  {self.shown}"]
        lines += [f"  {name} = {write_number(x)}" for name, x in self.numbers.items()]
        lines += [f"  {name} = {x}" for name, x in self.formulas.items()]
        lines += [f"  {self.note}"] if self.note else []
        return "\n".join([*lines, f"  Source: {self.source}"])

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"


def write_number(x: float) -> str:
    """Return a number with four digits, ∞ for infinity."""
    return f"{x:.4g}" if math.isfinite(x) else ("∞" if x > 0 else "-∞")


@dataclass(frozen=True)
class Measured:
    """At how many states the properties were measured."""

    states: int


PropertyReport = Findings[Property, Measured]
KINDS = {PROVED: "good", HOLDS: "good", FAILS: "bad", SILENT: "absent"}
COLUMNS: tuple[FindingColumn[Property], ...] = (
    FindingColumn("", lambda p: VerdictMark(p.verdict, KINDS[p.verdict])),
    FindingColumn("property", lambda p: p.name),
    FindingColumn("claim", lambda p: MathText(p.statement, p.latex)),
    FindingColumn("shown by", lambda p: p.shown),
)


def make_report(system: str, states: int, found: tuple[Property, ...]) -> PropertyReport:
    """Return properties of one mechanism, measured at so many states, as one result."""
    counts = [(sum(p.verdict == v for p in found), v) for v in (PROVED, HOLDS, FAILS, SILENT)]
    words = ", ".join(f"{k} {'do not apply' if v == SILENT and k > 1 else v}" for k, v in counts if k)
    title = f"{system}: {len(found)} properties, {words}; {states} states measured"
    notes = tuple(f"{p.name}: {p.note}" for p in found if p.note)
    return Findings(system, found, Measured(states), "properties", title, COLUMNS, notes)


# Every property: what it claims, in text and in LaTeX, and where it is proved.
STATEMENTS: dict[str, tuple[str, str, str]] = {
    "symmetric mass matrix": (
        "M = Mᵀ, its columns being the torques that unit accelerations need",
        r"M(q) = M(q)^\mathsf{T}",
        "[Poonawala] §5.2.2; [Fakhari 2]",
    ),
    "positive definite mass matrix": (
        "q̇ᵀ M q̇ > 0 for every q̇ ≠ 0, so that M⁻¹ exists",
        r"\dot q^\mathsf{T} M(q)\,\dot q > 0 \quad \forall\, \dot q \neq 0",
        "[Poonawala] §5.2.2; [Fakhari 2]",
    ),
    "mass matrix of position alone": (
        "τ(q, q̇, q̈ + x) − τ(q, q̇, q̈) = M(q) x, whatever q̇ and q̈ are",
        r"\tau(q,\dot q,\ddot q + x) - \tau(q,\dot q,\ddot q) = M(q)\,x",
        "[Fakhari 2]",
    ),
    "kinetic energy": (
        "½ q̇ᵀ M q̇ is the sum of the bodies' kinetic energies",
        r"K = \tfrac12\,\dot q^\mathsf{T} M(q)\,\dot q"
        r" = \sum_i \tfrac12 m_i v_i^2 + \tfrac12 \omega_i^\mathsf{T} I_i \omega_i",
        "[Poonawala] §4.1; [Lagrange notes]; [Fakhari 2]",
    ),
    "bounded mass matrix": (
        "μ₁ 1 ≤ M(q) ≤ μ₂ 1 with constants if no sliding joint enters M; else μ₂ may grow with q",
        r"\mu_1 I \preceq M(q) \preceq \mu_2 I",
        "[Poonawala] eq. (56); [Fakhari 2]",
    ),
    "quadratic velocity torque": (
        "c(q, λq̇) = λ² c(q, q̇), C(q, 0) = 0, c_k = Σ Γ_ijk q̇ᵢ q̇ⱼ",
        r"c(q,\lambda\dot q) = \lambda^2 c(q,\dot q),\quad c_k = \sum_{ij}\Gamma_{ijk}\,\dot q_i \dot q_j",
        "[Fakhari 2]",
    ),
    "bounded velocity torque": (
        "‖c‖₂ ≤ c_b ‖q̇‖₂² with c_b = n² max |Γ_ijk|",
        r"\|c(q,\dot q)\|_2 \le n^2 \max_{ijk}|\Gamma_{ijk}(q)|\;\|\dot q\|_2^2",
        "[Fakhari 2]",
    ),
    "choices of C": (
        "many matrices C have the same C q̇ = c, and some of them make Ṁ − 2C skew",
        r"C\,\dot q = c \;\Rightarrow\; (C + N)\,\dot q = c \text{ for every } N \text{ with } N\dot q = 0",
        "[Fakhari 2]; Echeandia & Wensing 2021",
    ),
    "skew symmetry": (
        "Ṁ − 2C is skew-symmetric: xᵀ(Ṁ − 2C) x = 0 for every x",
        r"x^\mathsf{T}\bigl(\dot M - 2C\bigr)x = 0 \quad \forall\, x",
        "[Poonawala] eqs. (52), (53); [Lagrange notes]; [Fakhari 2]",
    ),
    "workless velocity torque": (
        "q̇ᵀ(Ṁ − 2C) q̇ = 0 for every choice of C",
        r"\dot q^\mathsf{T}\bigl(\dot M - 2C\bigr)\dot q = 0",
        "[Fakhari 2]",
    ),
    "rate of the mass matrix": ("Ṁ = C + Cᵀ", r"\dot M = C + C^\mathsf{T}", "[Fakhari 2]"),
    "symmetry of C in its velocities": (
        "C(q, x) y = C(q, y) x",
        r"C(q,x)\,y = C(q,y)\,x",
        "Kelly, Santibáñez & Loría 2005, §4.2",
    ),
    "gravity is a gradient": (
        "g = ∂P/∂q, so that ∂g/∂q is symmetric",
        r"g(q) = \partial P/\partial q",
        "[Poonawala]; [Lagrange notes]; [Fakhari 2]",
    ),
    "bounded gravity": (
        "‖g(q)‖ ≤ g_b with a constant if no sliding joint enters g; else g_b may grow with q",
        r"\|g(q)\| \le g_b",
        "[Fakhari 2]",
    ),
    "work of gravity": (
        "∫ gᵀq̇ dt = P(q(T)) − P(q(0)), whatever way is taken",
        r"\int_0^T g^\mathsf{T}\dot q\,dt = P(q(T)) - P(q(0))",
        "[Fakhari 2]",
    ),
    "power balance": (
        "Ḣ = q̇ᵀτ with H = ½ q̇ᵀMq̇ + P",
        r"\dot H = \dot q^\mathsf{T}\tau,\quad H = \tfrac12\dot q^\mathsf{T}M\dot q + P",
        "[Poonawala] eqs. (54), (55); [Lagrange notes]",
    ),
    "passivity": (
        "∫ q̇ᵀτ dt = H(T) − H(0) ≥ −β with β = H(0) − min P",
        r"\int_0^T \dot q^\mathsf{T}\tau\,dt = H(T) - H(0) \ge -\beta",
        "[Poonawala] §5.2.1; [Lagrange notes]",
    ),
    "dissipation": (
        "with friction ∫ q̇ᵀτ dt = H(T) − H(0) + losses, and losses never shrink",
        r"\int_0^T \dot q^\mathsf{T}\tau\,dt = H(T) - H(0) + \int_0^T \dot q^\mathsf{T} f(\dot q)\,dt,\quad"
        r" \dot q^\mathsf{T} f \ge 0",
        "[Poonawala] eq. (26); [Lagrange notes]",
    ),
    "L₂ gain": (
        "with damping D ≥ d 1: ∫ q̇ᵀτ dt ≥ d ∫ |q̇|² dt − β and ∫ |q̇|² dt ≤ ∫ |τ|² dt / d² + 2β / d",
        r"\int|\dot q|^2 dt \le \frac{1}{d^2}\int|\tau|^2 dt + \frac{2\beta}{d}",
        "[Poonawala] §5.2.1; van der Schaft 2017, ch. 2",
    ),
    "feedback of passive systems": (
        "under τ = K_p(q_d − q) − K_d q̇ the sum V = H + ½ eᵀK_p e of both storages has V̇ = −q̇ᵀK_d q̇ ≤ 0",
        r"V = H + \tfrac12 e^\mathsf{T}K_p e,\quad \dot V = -\dot q^\mathsf{T}K_d\,\dot q \le 0",
        "[Poonawala] §5.2.1; Takegaki & Arimoto 1981",
    ),
    "linear in the parameters": (
        "M q̈ + C q̇ + g = Y(q, q̇, q̈) π, and Y does not know π",
        r"M\ddot q + C\dot q + g = Y(q,\dot q,\ddot q)\,\pi",
        "[Poonawala] eq. (57); [Fakhari 2]",
    ),
    "energy linear in the parameters": (
        "H = h(q, q̇) π, and column by column ∫ q̇ᵀY dt = h(T) − h(0)",
        r"H = h(q,\dot q)\,\pi,\quad \int_0^T \dot q^\mathsf{T} Y\,dt = h(T) - h(0)",
        "Gautier & Khalil 1988",
    ),
}
