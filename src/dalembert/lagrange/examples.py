"""Systems of the course notes, and two classics, each a function that makes a `LagrangianSystem` with numbers in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dalembert.lagrange.bodies import Particle, RigidBody
from dalembert.lagrange.symbols import Expression, coordinates, rate, sp
from dalembert.lagrange.system import LagrangianSystem

if TYPE_CHECKING:
    from sympy import Matrix

GRAVITY = 9.81


def _parameters(names: str) -> Expression:
    return sp.symbols(names, positive=True)


def particle_on_a_line() -> LagrangianSystem:
    """A particle on a vertical line: m ÿ + m g = f.  [Lagrange notes]."""
    y = coordinates("y")
    f = sp.Symbol("f")
    m, g = _parameters("m g")
    numbers = {m: 2, g: GRAVITY}
    return LagrangianSystem(
        y, m * rate(y) ** 2 / 2, m * g * y, forces=[f], inputs=[f], parameters=numbers, name="particle-on-a-line"
    )


def mass_spring_damper() -> LagrangianSystem:
    """m ẍ + b ẋ + k x = u.  [Lee]."""
    x = coordinates("x")
    u = sp.Symbol("u")
    m, b, k = _parameters("m b k")
    return LagrangianSystem(
        x,
        m * rate(x) ** 2 / 2,
        k * x**2 / 2,
        dissipation=b * rate(x) ** 2 / 2,
        forces=[u],
        inputs=[u],
        parameters={m: 1, b: 0.4, k: 4},
        name="mass-spring-damper",
    )


def mass_spring() -> LagrangianSystem:
    """m ẍ + k x = f.  [Lee]."""
    x = coordinates("x")
    f = sp.Symbol("f")
    m, k = _parameters("m k")
    return LagrangianSystem(
        x, m * rate(x) ** 2 / 2, k * x**2 / 2, forces=[f], inputs=[f], parameters={m: 1, k: 4}, name="mass-spring"
    )


def geared_link() -> LagrangianSystem:
    """A link driven by a motor through a gear, θ_m = r θ: (r² J_m + J_l) θ̈ + M g l sin θ = r u.  [Lagrange notes].

    l is the distance of the link's center of mass from the joint, θ = 0 hangs down."""
    theta = coordinates("theta")
    u = sp.Symbol("u")
    r, J_m, J_l, M, g, l = _parameters("r J_m J_l M g l")
    motor = r * theta
    kinetic = J_m * rate(motor, [theta]) ** 2 / 2 + J_l * rate(theta) ** 2 / 2
    return LagrangianSystem(
        theta,
        kinetic,
        M * g * l * (1 - sp.cos(theta)),
        forces=[r * u],
        inputs=[u],
        parameters={r: 50, J_m: 1e-4, J_l: 0.3, M: 2, g: GRAVITY, l: 0.4},
        name="geared-link",
    )


def two_particles_on_a_wire() -> LagrangianSystem:
    """Two particles in space, joined by a massless rigid wire, |r₁ − r₂|² = l²: six coordinates, five freedoms.
    [Lagrange notes]."""
    q = coordinates("x1 y1 z1 x2 y2 z2")
    m1, m2, l, g = _parameters("m1 m2 l g")
    r1, r2 = sp.Matrix(q[:3]), sp.Matrix(q[3:])
    wire = (r1 - r2).dot(r1 - r2) - l**2
    return LagrangianSystem.from_bodies(
        q,
        [Particle(m1, r1), Particle(m2, r2)],
        gravity=(0, 0, -g),
        constraints=[wire],
        parameters={m1: 1, m2: 2, l: 0.5, g: GRAVITY},
        name="two-particles-on-a-wire",
    )


def cartesian_pp() -> LagrangianSystem:
    """Two prismatic joints at right angles, the first one vertical.  [Lagrange notes]."""
    q1, q2 = coordinates("q1 q2")
    m1, m2, g = _parameters("m1 m2 g")
    bodies = [Particle(m1, (0, 0, q1)), Particle(m2, (0, q2, q1))]
    numbers = {m1: 2, m2: 1, g: GRAVITY}
    return LagrangianSystem.from_bodies((q1, q2), bodies, (0, 0, -g), parameters=numbers, name="cartesian-pp")


def _unit(angle: Expression) -> Matrix:
    return sp.Matrix([sp.cos(angle), sp.sin(angle)])


def planar_2r() -> LagrangianSystem:
    """Two links with distributed masses, q₂ relative to the first link, gravity along −y. The numbers are those of the
    bundled robot `planar-2r`.  [Poonawala], [Lagrange notes], [Lee]."""
    q1, q2 = coordinates("q1 q2")
    m1, m2, l1, r1, r2, I1, I2, g = _parameters("m1 m2 l1 r1 r2 I1 I2 g")
    bodies = [
        RigidBody(m1, I1, r1 * _unit(q1), angle=q1),
        RigidBody(m2, I2, l1 * _unit(q1) + r2 * _unit(q1 + q2), angle=q1 + q2),
    ]
    rod = 1 / 12
    numbers = {m1: 1, m2: 1, l1: 1, r1: 0.5, r2: 0.5, I1: rod, I2: rod, g: GRAVITY}
    return LagrangianSystem.from_bodies((q1, q2), bodies, (0, -g), parameters=numbers, name="planar-2r")


def planar_2r_points() -> LagrangianSystem:
    """Two massless links with point masses at their ends; numbers of the robot `planar-2r-points`.  [Lee]."""
    q1, q2 = coordinates("q1 q2")
    m1, m2, l1, l2, g = _parameters("m1 m2 l1 l2 g")
    elbow = l1 * _unit(q1)
    bodies = [Particle(m1, elbow), Particle(m2, elbow + l2 * _unit(q1 + q2))]
    numbers = {m1: 1, m2: 1, l1: 1, l2: 1, g: GRAVITY}
    return LagrangianSystem.from_bodies((q1, q2), bodies, (0, -g), parameters=numbers, name="planar-2r-points")


def five_bar() -> LagrangianSystem:
    """Five-bar linkage as a parallelogram, both angles measured from the base: links 3 and 4 stay parallel to 1 and 2.

    M₁₂ = (m₃ l₂ l_c3 − m₄ l₁ l_c4) cos(q₂ − q₁), zero if m₃ l₂ l_c3 = m₄ l₁ l_c4: then both motors work as if alone, as
    they do with these numbers.  [Lagrange notes], which prints m₂ for m₃ there."""
    q1, q2 = coordinates("q1 q2")
    m1, m2, m3, m4, I1, I2, I3, I4 = _parameters("m1:5 I1:5")
    l1, l2, c1, c2, c3, c4, g = _parameters("l1 l2 lc1 lc2 lc3 lc4 g")
    bodies = [
        RigidBody(m1, I1, c1 * _unit(q1), angle=q1),
        RigidBody(m2, I2, c2 * _unit(q2), angle=q2),
        RigidBody(m3, I3, l2 * _unit(q2) + c3 * _unit(q1), angle=q1),
        RigidBody(m4, I4, l1 * _unit(q1) - c4 * _unit(q2), angle=q2),
    ]
    numbers = {m1: 1, m2: 1.2, m3: 0.5, m4: 0.75, I1: 0.02, I2: 0.03, I3: 0.01, I4: 0.015}
    numbers |= {l1: 0.4, l2: 0.5, c1: 0.2, c2: 0.25, c3: 0.3, c4: 0.25, g: GRAVITY}
    return LagrangianSystem.from_bodies((q1, q2), bodies, (0, -g), parameters=numbers, name="five-bar")


def cart_pole() -> LagrangianSystem:
    """A cart pushed along a rail by a force F, with a pole of length l whose mass m is at its end, hinged on it;
    θ = 0 stands upright."""
    x, theta = coordinates("x theta")
    M, m, l, g = _parameters("M m l g")
    F = sp.Symbol("F")
    bob = (x + l * sp.sin(theta), l * sp.cos(theta))
    return LagrangianSystem.from_bodies(
        (x, theta),
        [Particle(M, (x, 0)), Particle(m, bob)],
        gravity=(0, -g),
        forces=[F, 0],
        inputs=[F],
        parameters={M: 1, m: 0.1, l: 0.5, g: GRAVITY},
        name="cart-pole",
    )


def rod_and_ball() -> LagrangianSystem:
    """A rod of length L hung by its end, with a ball of radius R on the other: a pendulum with the moment of inertia
    M_rod L²/3 + (2/5) M_ball R² + M_ball (L + R)².  [Lee]."""
    theta = coordinates("theta")
    M_rod, M_ball, L, R, g = _parameters("M_rod M_ball L R g")
    down = _unit(theta)  # x points down, θ = 0 hangs
    bodies = [
        RigidBody(M_rod, M_rod * L**2 / 12, L / 2 * down, angle=theta),
        RigidBody(M_ball, sp.Rational(2, 5) * M_ball * R**2, (L + R) * down, angle=theta),
    ]
    numbers = {M_rod: 1, M_ball: 2, L: 0.8, R: 0.1, g: GRAVITY}
    return LagrangianSystem.from_bodies(theta, bodies, (g, 0), parameters=numbers, name="rod-and-ball")


def geared_arm() -> LagrangianSystem:
    """Planar 2R with a motor and a gear of ratio N at each joint, driven by armature voltages v:
    (D + N² J_m) q̈ + (C + N² B_m) q̇ + G = N (K_T/R) v, B_m = B + K_T K_m / R, armature inductance left out.  [Lee].

    Back-EMF acts as damping: the dissipation holds the mechanical and the electrical part."""
    arm = planar_2r()
    q = arm.coordinates
    N, J, B, K_T, K_m, R = (_parameters(f"{name}1:3") for name in ("N", "J_m", "B", "K_T", "K_m", "R_m"))
    v = sp.symbols("v1:3")
    rates = [rate(x) for x in q]
    rotors = sp.Add(*(J[i] * (N[i] * rates[i]) ** 2 / 2 for i in range(2)))
    losses = sp.Add(*((B[i] + K_T[i] * K_m[i] / R[i]) * (N[i] * rates[i]) ** 2 / 2 for i in range(2)))
    values = ((N, 50), (J, 1e-4), (B, 1e-4), (K_T, 0.05), (K_m, 0.05), (R, 1.5))
    numbers = {symbol: value for symbols, value in values for symbol in symbols}
    return LagrangianSystem(
        q,
        arm.kinetic + rotors,
        arm.potential,
        dissipation=losses,
        forces=[N[i] * K_T[i] / R[i] * v[i] for i in range(2)],
        inputs=v,
        parameters={**arm.parameters, **numbers},
        name="geared-arm",
    )


def knife_edge() -> LagrangianSystem:
    """A skate on ice: it turns freely and slides along its edge only, ẋ sin θ − ẏ cos θ = 0, which no function of the
    coordinates expresses (non-holonomic)."""
    x, y, theta = coordinates("x y theta")
    m, I = _parameters("m I")
    body = RigidBody(m, I, (x, y), angle=theta)
    across = rate(x) * sp.sin(theta) - rate(y) * sp.cos(theta)
    numbers = {m: 1, I: 0.1}
    return LagrangianSystem.from_bodies((x, y, theta), body, pfaffian=[across], parameters=numbers, name="knife-edge")


def bead_on_a_hoop() -> LagrangianSystem:
    """A bead on a hoop that turns about its vertical diameter at the rate Ω: its kinetic energy has a part without
    velocities, ½ m R² Ω² sin² θ, which enters g."""
    theta = coordinates("theta")
    m, R, Omega, g = _parameters("m R Omega g")
    kinetic = m * R**2 * (rate(theta) ** 2 + Omega**2 * sp.sin(theta) ** 2) / 2
    numbers = {m: 0.1, R: 0.3, Omega: 8, g: GRAVITY}
    return LagrangianSystem(theta, kinetic, -m * g * R * sp.cos(theta), parameters=numbers, name="bead-on-a-hoop")


EXAMPLES: dict[str, Callable[[], LagrangianSystem]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        *(particle_on_a_line, mass_spring_damper, mass_spring, geared_link, two_particles_on_a_wire, cartesian_pp),
        *(planar_2r, planar_2r_points, five_bar, cart_pole, rod_and_ball, geared_arm, knife_edge, bead_on_a_hoop),
    )
}
