# ruff: noqa: E501  formulas stand on one line each
"""Systems that every textbook has, with their formulas as they are printed there."""

from __future__ import annotations

import sympy as sp

import dalembert as dl


def double_pendulum() -> dl.LagrangianSystem:
    """Two point masses, both angles from the vertical."""
    a, b = dl.lagrange.coordinates("theta1 theta2")
    m1, m2, l1, l2, g = sp.symbols("m1 m2 l1 l2 g", positive=True)
    x1, y1 = l1 * sp.sin(a), -l1 * sp.cos(a)
    bodies = [dl.lagrange.Particle(m1, (x1, y1)), dl.lagrange.Particle(m2, (x1 + l2 * sp.sin(b), y1 - l2 * sp.cos(b)))]
    return dl.LagrangianSystem.from_bodies((a, b), bodies, (0, -g), name="double pendulum")


def crane() -> dl.LagrangianSystem:
    """A trolley with a hanging load."""
    x, theta = dl.lagrange.coordinates("x theta")
    M, m, l, g = sp.symbols("M m l g", positive=True)
    F = sp.Symbol("F")
    load = (x + l * sp.sin(theta), -l * sp.cos(theta))
    return dl.LagrangianSystem.from_bodies(
        (x, theta),
        [dl.lagrange.Particle(M, (x, 0)), dl.lagrange.Particle(m, load)],
        (0, -g),
        forces=[F, 0],
        inputs=[F],
        name="crane",
    )


def ball_and_beam() -> dl.LagrangianSystem:
    """A ball that rolls on a beam turned by a torque (Hauser, Sastry, Kokotović)."""
    r, alpha = dl.lagrange.coordinates("r alpha")
    m, J, J_b, R, g = sp.symbols("m J J_b R g", positive=True)
    u = sp.Symbol("u")
    rd, w = dl.lagrange.rate(r), dl.lagrange.rate(alpha)
    kinetic = (m + J_b / R**2) * rd**2 / 2 + (J + J_b + m * r**2) * w**2 / 2
    return dl.LagrangianSystem(
        (r, alpha), kinetic, m * g * r * sp.sin(alpha), forces=[0, u], inputs=[u], name="ball and beam"
    )


def spherical_pendulum() -> dl.LagrangianSystem:
    theta, phi = dl.lagrange.coordinates("theta phi")
    m, l, g = sp.symbols("m l g", positive=True)
    bob = l * sp.Matrix([sp.sin(theta) * sp.cos(phi), sp.sin(theta) * sp.sin(phi), -sp.cos(theta)])
    return dl.LagrangianSystem.from_bodies(
        (theta, phi), dl.lagrange.Particle(m, bob), (0, 0, -g), name="spherical pendulum"
    )


def furuta() -> dl.LagrangianSystem:
    """A pendulum hinged at the end of an arm that turns about the vertical."""
    alpha, theta = dl.lagrange.coordinates("alpha theta")
    J, m, L, l, g = sp.symbols("J m L l g", positive=True)
    tau = sp.Symbol("u")
    c, s = sp.cos(alpha), sp.sin(alpha)
    bob = sp.Matrix([L * c - l * sp.sin(theta) * s, L * s + l * sp.sin(theta) * c, l * sp.cos(theta)])
    arm = J * dl.lagrange.rate(alpha) ** 2 / 2
    point = dl.lagrange.Particle(m, bob)
    return dl.LagrangianSystem(
        (alpha, theta),
        arm + point.kinetic_energy((alpha, theta)),
        point.potential_energy((0, 0, -g)),
        forces=[tau, 0],
        inputs=[tau],
        name="Furuta pendulum",
    )


def bead() -> dl.LagrangianSystem:
    from dalembert.lagrange import EXAMPLES

    return EXAMPLES["bead-on-a-hoop"]()


# Right formulas: system, quantity, as a textbook or a blackboard has it.
RIGHT = [
    (
        double_pendulum,
        "K",
        r"\frac{1}{2}(m_1+m_2) l_1^2 \dot\theta_1^2 + \frac{1}{2} m_2 l_2^2 \dot\theta_2^2 + m_2 l_1 l_2 \dot\theta_1 \dot\theta_2 \cos(\theta_1-\theta_2)",
    ),
    (double_pendulum, "P", "-(m1+m2) g l1 cos(theta1) - m2 g l2 cos(theta2)"),
    (
        double_pendulum,
        "L",
        "½(m1+m2) l1² θ̇₁² + ½ m2 l2² θ̇₂² + m2 l1 l2 θ̇₁ θ̇₂ cos(θ₁−θ₂) + (m1+m2) g l1 cos θ₁ + m2 g l2 cos θ₂",
    ),
    (double_pendulum, "M12", "m2*l1*l2*cos(theta1 - theta2)"),
    (double_pendulum, "M", "[[(m1+m2)*l1^2, m2*l1*l2*cos(theta1-theta2)], [m2*l1*l2*cos(theta1-theta2), m2*l2^2]]"),
    (
        double_pendulum,
        "dL/dthetad1",
        r"(m_1+m_2) l_1^2 \dot{\theta}_1 + m_2 l_1 l_2 \dot{\theta}_2 \cos(\theta_1-\theta_2)",
    ),
    (double_pendulum, "dL/dtheta1", "-m2 l1 l2 thetad1 thetad2 sin(theta1-theta2) - (m1+m2) g l1 sin(theta1)"),
    (double_pendulum, "Gamma221", "m2*l1*l2*sin(theta1-theta2)"),
    (
        double_pendulum,
        "tau2",
        "m2*l2^2*thetadd2 + m2*l1*l2*thetadd1*cos(theta1-theta2) - m2*l1*l2*thetad1^2*sin(theta1-theta2) + m2*g*l2*sin(theta2)",
    ),
    (
        double_pendulum,
        "qdd1",
        "(-g*(2*m1+m2)*sin(theta1) - m2*g*sin(theta1-2*theta2) - 2*sin(theta1-theta2)*m2*(thetad2^2*l2 + thetad1^2*l1*cos(theta1-theta2)))/(l1*(2*m1+m2-m2*cos(2*theta1-2*theta2)))",
    ),
    (crane, "tau1", "(M+m) ẍ + m l θ̈ cos θ − m l θ̇² sin θ"),
    (crane, "qdd1", r"\frac{F + m\sin\theta (l\dot\theta^2 + g\cos\theta)}{M + m\sin^2\theta}"),
    (crane, "Alin", "[[0,0,1,0],[0,0,0,1],[0, m*g/M, 0, 0],[0, -(M+m)*g/(M*l), 0, 0]]"),
    (crane, "Blin", "[0, 0, 1/M, -1/(M*l)]"),
    (crane, "psi", "[F, 0]"),
    (ball_and_beam, "M11", "m + J_b/R^2"),
    (ball_and_beam, "tau1", r"(m + \frac{J_b}{R^2})\ddot r - m r \dot\alpha^2 + m g \sin\alpha"),
    (ball_and_beam, "tau2", r"(m r^2 + J + J_b)\ddot\alpha + 2 m r \dot r \dot\alpha + m g r \cos\alpha"),
    (ball_and_beam, "C", "[[0, -m*r*alphad], [m*r*alphad, m*r*rd]]"),
    (spherical_pendulum, "K", r"\frac12 m l^2 (\dot\theta^2 + \sin^2\theta \dot\phi^2)"),
    (spherical_pendulum, "qdd1", r"\sin\theta\cos\theta\dot\phi^2 - \frac{g}{l}\sin\theta"),
    (spherical_pendulum, "qdd2", "-2*thetad*phid*cos(theta)/sin(theta)"),
    (spherical_pendulum, "dL/dphid", "m l^2 sin(theta)^2 phid"),
    (furuta, "M", "[[J + m*L^2 + m*l^2*sin(theta)^2, m*L*l*cos(theta)], [m*L*l*cos(theta), m*l^2]]"),
    (
        furuta,
        "tau1",
        r"(J + m L^2 + m l^2 \sin^2\theta)\ddot\alpha + m L l \cos\theta \ddot\theta + 2 m l^2 \sin\theta\cos\theta \dot\alpha\dot\theta - m L l \sin\theta \dot\theta^2",
    ),
    (
        furuta,
        "tau2",
        "m L l cos(theta) alphadd + m l^2 thetadd - m l^2 sin(theta) cos(theta) alphad^2 - m g l sin(theta)",
    ),
    (bead, "qdd1", r"\Omega^2 \sin\theta\cos\theta - \frac{g}{R}\sin\theta"),
    (bead, "K", "1/2 m R^2 (theta_dot^2 + Omega^2 sin(theta)^2)"),
]
