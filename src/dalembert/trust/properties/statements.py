"""Every property of the lab as data: what it claims, in text and in LaTeX, and where it is proved."""

from __future__ import annotations

from typing import NamedTuple


class Statement(NamedTuple):
    text: str
    latex: str
    source: str


STATEMENTS: dict[str, Statement] = {
    "symmetric mass matrix": Statement(
        "M = Mᵀ, its columns being the torques that unit accelerations need",
        r"M(q) = M(q)^\mathsf{T}",
        "seeds 000 §5.2.2, 004",
    ),
    "positive definite mass matrix": Statement(
        "q̇ᵀ M q̇ > 0 for every q̇ ≠ 0, so that M⁻¹ exists",
        r"\dot q^\mathsf{T} M(q)\,\dot q > 0 \quad \forall\, \dot q \neq 0",
        "seeds 000 §5.2.2, 004",
    ),
    "mass matrix of position alone": Statement(
        "τ(q, q̇, q̈ + x) − τ(q, q̇, q̈) = M(q) x, whatever q̇ and q̈ are",
        r"\tau(q,\dot q,\ddot q + x) - \tau(q,\dot q,\ddot q) = M(q)\,x",
        "seed 004",
    ),
    "kinetic energy": Statement(
        "½ q̇ᵀ M q̇ is the sum of the bodies' kinetic energies",
        r"K = \tfrac12\,\dot q^\mathsf{T} M(q)\,\dot q"
        r" = \sum_i \tfrac12 m_i v_i^2 + \tfrac12 \omega_i^\mathsf{T} I_i \omega_i",
        "seeds 000 §4.1, 002, 004",
    ),
    "bounded mass matrix": Statement(
        "μ₁ 1 ≤ M(q) ≤ μ₂ 1 with constants if no sliding joint enters M; else μ₂ may grow with q",
        r"\mu_1 I \preceq M(q) \preceq \mu_2 I",
        "seeds 000 eq. (56), 004",
    ),
    "quadratic velocity torque": Statement(
        "c(q, λq̇) = λ² c(q, q̇), C(q, 0) = 0, c_k = Σ Γ_ijk q̇ᵢ q̇ⱼ",
        r"c(q,\lambda\dot q) = \lambda^2 c(q,\dot q),\quad c_k = \sum_{ij}\Gamma_{ijk}\,\dot q_i \dot q_j",
        "seed 004",
    ),
    "bounded velocity torque": Statement(
        "‖c‖₂ ≤ c_b ‖q̇‖₂² with c_b = n² max |Γ_ijk|",
        r"\|c(q,\dot q)\|_2 \le n^2 \max_{ijk}|\Gamma_{ijk}(q)|\;\|\dot q\|_2^2",
        "seed 004",
    ),
    "choices of C": Statement(
        "many matrices C have the same C q̇ = c, and some of them make Ṁ − 2C skew",
        r"C\,\dot q = c \;\Rightarrow\; (C + N)\,\dot q = c \text{ for every } N \text{ with } N\dot q = 0",
        "seed 004; Echeandia & Wensing 2021",
    ),
    "skew symmetry": Statement(
        "Ṁ − 2C is skew-symmetric: xᵀ(Ṁ − 2C) x = 0 for every x",
        r"x^\mathsf{T}\bigl(\dot M - 2C\bigr)x = 0 \quad \forall\, x",
        "seeds 000 eqs. (52), (53), 002, 004",
    ),
    "workless velocity torque": Statement(
        "q̇ᵀ(Ṁ − 2C) q̇ = 0 for every choice of C", r"\dot q^\mathsf{T}\bigl(\dot M - 2C\bigr)\dot q = 0", "seed 004"
    ),
    "rate of the mass matrix": Statement("Ṁ = C + Cᵀ", r"\dot M = C + C^\mathsf{T}", "seed 004"),
    "symmetry of C in its velocities": Statement(
        "C(q, x) y = C(q, y) x", r"C(q,x)\,y = C(q,y)\,x", "Kelly, Santibáñez & Loría 2005, §4.2"
    ),
    "gravity is a gradient": Statement(
        "g = ∂P/∂q, so that ∂g/∂q is symmetric", r"g(q) = \partial P/\partial q", "seeds 000, 002, 004"
    ),
    "bounded gravity": Statement(
        "‖g(q)‖ ≤ g_b with a constant if no sliding joint enters g; else g_b may grow with q",
        r"\|g(q)\| \le g_b",
        "seed 004",
    ),
    "work of gravity": Statement(
        "∫ gᵀq̇ dt = P(q(T)) − P(q(0)), whatever way is taken",
        r"\int_0^T g^\mathsf{T}\dot q\,dt = P(q(T)) - P(q(0))",
        "seed 004",
    ),
    "power balance": Statement(
        "Ḣ = q̇ᵀτ with H = ½ q̇ᵀMq̇ + P",
        r"\dot H = \dot q^\mathsf{T}\tau,\quad H = \tfrac12\dot q^\mathsf{T}M\dot q + P",
        "seeds 000 eqs. (54), (55), 002",
    ),
    "passivity": Statement(
        "∫ q̇ᵀτ dt = H(T) − H(0) ≥ −β with β = H(0) − min P",
        r"\int_0^T \dot q^\mathsf{T}\tau\,dt = H(T) - H(0) \ge -\beta",
        "seeds 000 §5.2.1, 002",
    ),
    "dissipation": Statement(
        "with friction ∫ q̇ᵀτ dt = H(T) − H(0) + losses, and losses never shrink",
        r"\int_0^T \dot q^\mathsf{T}\tau\,dt = H(T) - H(0) + \int_0^T \dot q^\mathsf{T} f(\dot q)\,dt,\quad"
        r" \dot q^\mathsf{T} f \ge 0",
        "seeds 000 eq. (26), 002",
    ),
    "L₂ gain": Statement(
        "with damping D ≥ d 1: ∫ q̇ᵀτ dt ≥ d ∫ |q̇|² dt − β and ∫ |q̇|² dt ≤ ∫ |τ|² dt / d² + 2β / d",
        r"\int|\dot q|^2 dt \le \frac{1}{d^2}\int|\tau|^2 dt + \frac{2\beta}{d}",
        "seed 000 §5.2.1; van der Schaft 2017, ch. 2",
    ),
    "feedback of passive systems": Statement(
        "under τ = K_p(q_d − q) − K_d q̇ the sum V = H + ½ eᵀK_p e of both storages has V̇ = −q̇ᵀK_d q̇ ≤ 0",
        r"V = H + \tfrac12 e^\mathsf{T}K_p e,\quad \dot V = -\dot q^\mathsf{T}K_d\,\dot q \le 0",
        "seed 000 §5.2.1; Takegaki & Arimoto 1981",
    ),
    "linear in the parameters": Statement(
        "M q̈ + C q̇ + g = Y(q, q̇, q̈) π, and Y does not know π",
        r"M\ddot q + C\dot q + g = Y(q,\dot q,\ddot q)\,\pi",
        "seeds 000 eq. (57), 004",
    ),
    "energy linear in the parameters": Statement(
        "H = h(q, q̇) π, and column by column ∫ q̇ᵀY dt = h(T) − h(0)",
        r"H = h(q,\dot q)\,\pi,\quad \int_0^T \dot q^\mathsf{T} Y\,dt = h(T) - h(0)",
        "Gautier & Khalil 1988",
    ),
}
