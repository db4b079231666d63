"""Lagrange's equations as taught: energies of each link, L, the three derivatives for each joint, and what is collected
from them: M, the Christoffel symbols, the choices of C, g, the regressor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dalembert.algorithms import joints, kinematics
from dalembert.spatial import Pose
from dalembert.spatial.vector import Vector, dot, matvec
from dalembert.symbolic.blackboard import Blackboard, title
from dalembert.symbolic.document import Fold, Formulas, Heading, Line, MatrixFormula, Pair, Part, Words, braced, pair_of
from dalembert.symbolic.entries import body_mass_matrix, entries, named
from dalembert.symbolic.expression import ZERO, Expression, Name, Sum, coefficient, total
from dalembert.symbolic.parameters import center, is_planar, tensor
from dalembert.symbolic.polynomial import Polynomial
from dalembert.symbolic.text import SUBSCRIPTS

READABLE = 3000  # terms in all of what is printed at once
ONE_BY_ONE = 20  # Christoffel symbols that stand open
CHOICES = {
    "christoffel": "@Cₖⱼ = Σᵢ @Γᵢⱼₖ @q̇ᵢ",
    "kronecker": "@C = ½ (@Ṁ + Uᵀ − U)",
    "mdot-u/2": "@C = @Ṁ − ½ U",
    "ut-u/2": "@C = Uᵀ − ½ U",
}


def lagrange(board: Blackboard) -> Iterator[Part]:
    yield from _energies(board)
    yield from _lagrangian(board)
    for k in range(board.e.n):
        yield from _equation(board, k)
    all_of_it = Collected(board)
    yield from _collected(board, all_of_it)
    yield from _by_jacobians(board)
    yield from _christoffel(board, all_of_it)
    if any(any(row) for row in board.e.C):
        yield from _choices(board, all_of_it)
    yield from _joint_equations(board, all_of_it)
    yield from _regressor(board)


# ---------------------------------------------------------------------- energies


def _energies(board: Blackboard) -> Iterator[Part]:
    e = board.e
    model = e.model
    T = kinematics.world_poses(model, e.q)
    twists = joints.twists(model, joints.poses(model, e.q), e.qd)
    yield Heading("Energies, link by link")
    yield board.words(
        "Of each link: where its center of mass is, how fast it moves, how fast the link turns; then {0} and {1}, with "
        "gravity {2} in the base frame.",
        "@K = ½ m vᵀv + ½ ωᵀ I ω",
        "@P = −m gᵀp",
        ("g = " + board.vector(model.gravity)[0], "g = " + board.vector(model.gravity)[1]),
    )
    for i in range(len(model.bodies)):
        yield from _link(board, i, T[i], twists[i].w)
    if e.has_rotors:
        rates = joints.rates(model, e.qd)
        total = board.total(b.rotor_inertia * r * r / 2 for b, r in zip(model.bodies, rates, strict=True))
        yield Words("The rotors of the drives turn with their joints; J is their inertia times the gear ratio squared:")
        yield Formulas((board.line("K0", total),))


def _link(board: Blackboard, i: int, T: Pose, w: Vector) -> Iterator[Part]:
    """Position, velocity and energies of one link."""
    body, k, plane = board.e.model.bodies[i], i + 1, is_planar(board.e.model)
    m, c, I = body.inertia.m, tuple(center(body.inertia)), tensor(body.inertia)
    index = str(k).translate(SUBSCRIPTS)
    p, v, omega = f"p_c{index}", f"v_c{index}", f"ω{index}"
    where = T.point(c)
    velocity = tuple(map(board.e.rate_of, where))
    square, turning = dot(velocity, velocity), dot(w, matvec(I, w))
    yield Heading(title("Link", k, body.name), 3)
    lines, energies = [], []
    if m:
        placed = Words("the point {0} of the link's frame, seen from the base", (board.vector(c),))
        lines += [board.line(p, where, placed), board.line(v, velocity, "its rate, by the chain rule")]
        if square:
            energies.append(board.line(f"{v}ᵀ{v}", square, board.words("with {0}", "s² + c² = 1")))
    if any(w):
        lines.append(board.line(omega, w, "" if plane else "in the link's own axes, in which its inertia is constant"))
    yield Formulas(tuple(lines))
    if turning and not plane:
        yield from board.matrix(f"I{k}", I)
        energies.append(board.line(f"{omega}ᵀ I{index} {omega}", turning))
    mass, inertia = board.name(f"m{k}")[0], f"½ {omega}ᵀ I{index} {omega}"
    shares = [f"½ {mass} {v}ᵀ{v}"] * bool(square) + [inertia] * bool(turning)
    energies += [Line(board.name(f"K{k}"), " + ".join(shares))] * bool(shares)
    energies.append(board.line("" if shares else f"K{k}", board.total([m * square / 2, turning / 2])))
    if m:
        energies.append(board.line(f"P{k}", -m * dot(board.e.model.gravity, where), "weight times height"))
    yield Formulas(tuple(energies))


def _lagrangian(board: Blackboard) -> Iterator[Part]:
    e = board.e
    yield Heading("Lagrangian")
    many = e.n > 1
    yield Formulas(
        (
            board.line("K", e.K, "the sum over all links, collected by the rates" if many else ""),
            board.line("P", e.P, "the sum over all links" if many else ""),
            Line("L", board.math("@K − @P")),
        )
    )


# ---------------------------------------------------------------------- one equation


def _equation(board: Blackboard, k: int) -> Iterator[Part]:
    """∂L/∂q̇ₖ, its rate, ∂L/∂qₖ, and the equation of joint k."""
    e, n = board.e, board.e.n
    q, qd = board.name(f"q{k + 1}")[0], board.name(f"qd{k + 1}")[0]
    momentum = board.total(e.M[k][j] * e.qd[j] for j in range(n))
    rate = board.total(e.M[k][j] * e.qdd[j] + e.M_dot[k][j] * e.qd[j] for j in range(n))
    slope = e.K.by_coordinate(k) - e.g[k]
    constant = all(not momentum.by_coordinate(j) for j in range(n))
    why = "only the rates change" if constant else "product rule: the rates change, and so do the angles beside them"
    yield Heading(f"Equation of {title('joint', k + 1, e.model.coordinates[k].name)}")
    yield Formulas(
        (
            board.line(f"∂L/∂{qd}", momentum, board.words("{0} has no rates in it", "@P")),
            board.line(f"d/dt ∂L/∂{qd}", rate, why),
            board.line(f"∂L/∂{q}", slope, "" if slope else board.words("{0} does not occur in L", q)),
            Line(board.name(f"tau{k + 1}"), f"d/dt ∂L/∂{qd} − ∂L/∂{q}" + (" + friction" if e.friction else "")),
            board.line("", e.tau[k]),
        )
    )


# ---------------------------------------------------------------------- collected


class Collected:
    """What the joint equations are made of, in one set of lumped constants: M, its partial derivatives, Γ, every choice
    of C, Ṁ − 2C."""

    def __init__(self, board: Blackboard) -> None:
        e, n = board.e, board.e.n
        self.board, self.e, self.span = board, e, range(n)
        U = [[board.total(e.dM[k][i][j] * e.qd[i] for i in range(n)) for j in range(n)] for k in range(n)]
        self.choices = {name: e.coriolis_matrix(name) for name in CHOICES}
        matrices: dict[str, Sequence[Sequence[Polynomial]]] = {"M": e.M, "C christoffel": e.C, "Mdot": e.M_dot, "U": U}
        for name, C in self.choices.items():
            matrices |= {
                f"C {name}": C,
                f"N {name}": [[e.M_dot[i][j] - 2 * C[i][j] for j in range(n)] for i in range(n)],
            }
        matrices |= {f"dM {i}": A for i, A in enumerate(e.dM)} | {f"Gamma {i}": A for i, A in enumerate(e.christoffel)}
        matrices["tau"] = [[e.tau[k] - e.g[k], e.centripetal[k] + e.coriolis[k]] for k in range(n)]
        given = {f"{name} {i} {j}": x for name, A in matrices.items() for i, r in enumerate(A) for j, x in enumerate(r)}
        self.form = board.legible(given, lump=True)

    def __getitem__(self, place: tuple[str, int, int]) -> Expression:
        return self.form.entries["{} {} {}".format(*place)]

    def matrix(self, left: str, name: str) -> MatrixFormula:
        rows = tuple(tuple(self[name, i, j] for j in self.span) for i in self.span)
        return MatrixFormula(self.board.math(left), rows, self.form.decimals)


def _collected(board: Blackboard, all_of_it: Collected) -> Iterator[Part]:
    form = all_of_it.form
    yield Heading("The equations in matrix form")
    yield board.words(
        "{0}. What multiplies {1} in equation k is {2}, which is {3} too, and so is symmetric. Constants that come "
        "together have a letter:",
        "@M @q̈ + @C @q̇ + @g = τ",
        "@q̈ⱼ",
        "@Mₖⱼ",
        "∂²@K/∂@q̇ₖ∂@q̇ⱼ",
    )
    if form.lumps:
        yield Formulas.of(form.lumps, form.decimals)
    yield all_of_it.matrix("@M", "M")
    yield board.words("What is left without rates is {0}:", "@g = ∂@P/∂@q")
    yield from board.formulas(entries(board.e, "g"))


def _by_jacobians(board: Blackboard) -> Iterator[Part]:
    """The same M by the Jacobians of the centers of mass, body by body."""
    e = board.e
    formulas = ("(v; ω) = J @q̇", "@M = Σᵢ mᵢ JᵥᵢᵀJᵥᵢ + J_ωᵢᵀ Iᵢ J_ωᵢ")
    parts: list[Part] = [board.words("{0}, and so {1}:", *formulas)]
    for k, body in enumerate(e.model.bodies):
        if body.inertia.m:
            parts += board.matrix(f"Jc{k + 1}", e.com_jacobian(body.name))
        parts += board.matrix(f"M({k + 1})", body_mass_matrix(e, k + 1))
    yield Fold("The same M from the Jacobians of the centers of mass, link by link", tuple(parts))


# ---------------------------------------------------------------------- Christoffel symbols and C


def _christoffel(board: Blackboard, all_of_it: Collected) -> Iterator[Part]:
    e, n = board.e, board.e.n
    yield Heading("Christoffel symbols, one by one")
    definition = "@Γᵢⱼₖ = ½ (∂@Mₖⱼ/∂@qᵢ + ∂@Mₖᵢ/∂@qⱼ − ∂@Mᵢⱼ/∂@qₖ)"
    if not any(any(any(row) for row in A) for A in e.dM):
        yield board.words("{0}: all are zero, since {1} is constant.", definition, "@M")
        return
    yield board.words("{0}, the index of the equation last; {1}.", definition, "@Γⱼᵢₖ = @Γᵢⱼₖ")
    symbols = [(i, j, k) for k in range(n) for i in range(n) for j in range(i, n)]
    lines = Formulas(tuple(line for s in symbols for line in _symbol(board, all_of_it, *s)), all_of_it.form.decimals)
    if len(symbols) <= ONE_BY_ONE:
        yield lines
        return
    yield Fold(f"All {len(symbols)} of them, with the three partial derivatives of each", (lines,))
    yield Words("Those that are not zero:")
    short = [Line(_gamma(board, *s), all_of_it[f"Gamma {s[0]}", s[1], s[2]]) for s in symbols]
    yield Formulas(tuple(line for line in short if line.right != ZERO), all_of_it.form.decimals)


def _gamma(board: Blackboard, i: int, j: int, k: int) -> Pair:
    return board.name(named("Gamma", (i + 1, j + 1, k + 1)))


def _symbol(board: Blackboard, all_of_it: Collected, i: int, j: int, k: int) -> Iterator[Line]:
    """½ (∂ᵢMₖⱼ + ∂ⱼMₖᵢ − ∂ₖMᵢⱼ), the three written out."""
    three = ((i, k, j), (j, k, i), (k, i, j))
    entry = [board.name(named("M", sorted((a + 1, b + 1))))[0] for _, a, b in three]
    names = [f"∂{M}/∂{board.name(f'q{by + 1}')[0]}" for M, (by, _, _) in zip(entry, three, strict=True)]
    values = [all_of_it[f"dM {by}", a, b] for by, a, b in three]
    nothing = all(x == ZERO for x in values)
    yield Line(_gamma(board, i, j, k), "½ ({} + {} − {})".format(*names) + " = 0" * nothing)
    if not nothing:
        plain, tex = zip(*(_bracketed(x, all_of_it.form.decimals) for x in values), strict=True)
        yield Line("", ("½ ({} + {} − {})".format(*plain), "\\tfrac{{1}}{{2}} ({} + {} - {})".format(*tex)))
        yield Line("", all_of_it[f"Gamma {i}", j, k])


def _bracketed(x: Expression, decimals: bool) -> Pair:
    plain, tex = pair_of(x, decimals)
    alone = isinstance(x, Sum) or coefficient(x)[0] < 0
    return (f"({plain})", rf"\left({tex}\right)") if alone else (plain, tex)


def _choices(board: Blackboard, all_of_it: Collected) -> Iterator[Part]:
    """The choices of C, each shown, with what becomes of Ṁ − 2C."""
    e = board.e
    yield Heading("The choices of C")
    yield board.words(
        "Many matrices give the same {0}. With {1} and {2} these are in use; proofs by energy need one that makes {3} "
        "skew-symmetric.",
        "@C @q̇",
        "@Ṁ = Σᵢ @q̇ᵢ ∂@M/∂@qᵢ",
        "Uₖⱼ = Σᵢ @q̇ᵢ ∂@Mᵢⱼ/∂@qₖ",
        "@Ṁ − 2@C",
    )
    yield all_of_it.matrix("@Ṁ", "Mdot")
    yield all_of_it.matrix("U", "U")
    seen: dict[str, object] = {}
    for choice, formula in CHOICES.items():
        C = all_of_it.choices[choice]
        twin = next((name for name, other in seen.items() if other == C), None)
        seen[choice] = C
        yield Heading(choice, 3)
        if twin is not None:
            yield board.words(f"{{0}}: the same matrix as {twin}.", formula)
            continue
        yield board.words("{0}:", formula)
        yield all_of_it.matrix("@C", f"C {choice}")
        yield all_of_it.matrix("@Ṁ − 2@C", f"N {choice}")
        yield Words("It is skew-symmetric." if e.keeps_skew_symmetry(choice) else "It is not skew-symmetric.")


# ---------------------------------------------------------------------- results


def _joint_equations(board: Blackboard, all_of_it: Collected) -> Iterator[Part]:
    e = board.e
    yield Heading("Joint equations")
    if any(any(row) for row in e.C):
        yield board.words(
            "All choices of C give the same {0}; terms with {1} are centripetal, those with {2} are Coriolis terms:",
            "@C @q̇",
            "@q̇ᵢ²",
            "@q̇ᵢ@q̇ⱼ",
        )
        lefts = [board.math(f"(@C @q̇){str(k + 1).translate(SUBSCRIPTS)}") for k in range(e.n)]
        rates = tuple(Line(left, all_of_it["tau", k, 1]) for k, left in enumerate(lefts))
        yield Formulas(rates, all_of_it.form.decimals)
    yield board.words("And so {0}:", "τ = @M @q̈ + @C @q̇ + @g" + (" + friction" if e.friction else ""))
    rows = {}
    for k in range(e.n):
        gravity = Name(e.letters.quantity(f"g{k + 1}")) if e.g[k] else ZERO
        rows[f"tau{k + 1}"] = total([all_of_it["tau", k, 0], gravity])
    yield Formulas.of(rows, all_of_it.form.decimals)


def _regressor(board: Blackboard) -> Iterator[Part]:
    e = board.e
    Y = e.regressor
    columns = [k for k in range(len(Y[0]) if Y else 0) if any(row[k] for row in Y)]
    if not columns or sum(len(row[k]) for row in Y for k in columns) > READABLE:
        return
    names = [e.regressor_columns[k] for k in columns]
    parts: list[Part] = [
        board.words(
            "{0} in the standard parameters (mass, first moments, and inertia about the joint frame's origin, then "
            f"those of the drives). Columns that are not zero: {braced(', '.join(names))}.",
            "τ = Y π",
        )
    ]
    parts += board.formulas({f"Y{i + 1},{k + 1}": Y[i][k] for i in range(e.n) for k in columns if Y[i][k]})
    yield Heading("Regressor")
    yield Fold("The torques as a matrix times the inertial parameters", tuple(parts))
