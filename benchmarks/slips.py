"""How well slips are named: formulas of 20 systems, in three algebraic forms, with slips injected, and what `compare`
says of them.

    python benchmarks/slips.py [--count 2000] [--double 200] [--seed 1] [--show 20]

The injector works on the text of right formulas and knows nothing of the namer: it changes Python syntax trees in the
ways in which students slip, and draws place and kind at random. A slip is named rightly if one edit of the name that
`compare` gave, at any place of the right formula in one of its forms, gives a text of the same values. Edits that
change nothing are left out.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

import numpy as np
import sympy as sp

# ------------------------------------------------------------------------------------------------------ the injector

Edit = Iterator[ast.expr]
Tree = ast.expr
NAME = re.compile(r"([A-Za-z]+?)(d{0,2})(\d+)(\w*)")
LENGTHS = ("l", "r", "a", "x", "d", "z", "y")


def nodes(tree: Tree) -> list[Tree]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.expr)]


def with_change(tree: Tree, node: Tree, new: Tree) -> Tree:
    """A copy of the tree in which this node is another."""

    def put(n: Tree) -> Tree:
        if n is node:
            return new
        n = copy.copy(n)
        for field, value in ast.iter_fields(n):
            if isinstance(value, ast.expr):
                setattr(n, field, put(value))
            elif isinstance(value, list):
                setattr(n, field, [put(v) if isinstance(v, ast.expr) else v for v in value])
        return n

    return put(tree)


def call(name: str, *arguments: Tree) -> Tree:
    return ast.Call(ast.Name(name), list(arguments), [])


def is_op(n: Tree, *kinds: type) -> bool:
    return isinstance(n, ast.BinOp) and isinstance(n.op, kinds)


def is_function(n: Tree, *names: str) -> bool:
    return isinstance(n, ast.Call) and n.func.id in (names or ("sin", "cos"))


def functions_in(tree: Tree) -> set[int]:
    return {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}


def symbols(tree: Tree) -> list[ast.Name]:
    heads = functions_in(tree)
    return [n for n in nodes(tree) if isinstance(n, ast.Name) and id(n) not in heads and n.id != "pi"]


def terms(tree: Tree) -> list[tuple[ast.BinOp, Tree, bool]]:
    """(sum, summand, whether it is the right one)."""
    return [
        (n, x, right)
        for n in nodes(tree)
        if is_op(n, ast.Add, ast.Sub)
        for x, right in ((n.left, False), (n.right, True))
    ]


def sign(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if is_op(n, ast.Add, ast.Sub):
            yield with_change(
                tree, n, ast.BinOp(n.left, ast.Sub() if isinstance(n.op, ast.Add) else ast.Add(), n.right)
            )
            if not is_op(n.left, ast.Add, ast.Sub):
                left = n.left.operand if isinstance(n.left, ast.UnaryOp) else ast.UnaryOp(ast.USub(), n.left)
                yield with_change(tree, n, ast.BinOp(left, n.op, n.right))
        elif isinstance(n, ast.UnaryOp):
            yield with_change(tree, n, n.operand)
    yield ast.UnaryOp(ast.USub(), tree)


def factor(tree: Tree, _: list[str]) -> Edit:
    """Another number in front, a number dropped, a term doubled in size."""
    for n in nodes(tree):
        if is_op(n, ast.Mult) and isinstance(n.left, ast.Constant):
            yield with_change(tree, n, n.right)
            for c in (1, 2, 3, 4):
                yield with_change(tree, n.left, ast.Constant(c))
        if is_op(n, ast.Div) and isinstance(n.right, ast.Constant):
            yield with_change(tree, n, n.left)
            yield with_change(tree, n.right, ast.Constant(2 * n.right.value))
    for _sum, x, _right in terms(tree):
        yield with_change(tree, x, ast.BinOp(ast.Constant(2), ast.Mult(), x))
        yield with_change(tree, x, ast.BinOp(x, ast.Div(), ast.Constant(2)))
    yield ast.BinOp(ast.Constant(2), ast.Mult(), tree)
    yield ast.BinOp(tree, ast.Div(), ast.Constant(2))


def half(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if is_op(n, ast.Div) and isinstance(n.right, ast.Constant) and n.right.value == 2:
            yield with_change(tree, n, n.left)
        if isinstance(n, ast.Constant) and n.value == 0.5:
            yield with_change(tree, n, ast.Constant(1))


def sine(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if is_function(n):
            yield with_change(tree, n, call("cos" if n.func.id == "sin" else "sin", *n.args))


def index(tree: Tree, known: list[str]) -> Edit:
    for n in symbols(tree):
        for other in known:
            if other != n.id and re.sub(r"\d", "", other) == re.sub(r"\d", "", n.id):
                yield with_change(tree, n, ast.Name(other))


def length(tree: Tree, known: list[str]) -> Edit:
    for n in symbols(tree):
        if n.id[0] in LENGTHS and n.id[1:].isdigit():
            for letter in LENGTHS:
                if letter != n.id[0] and letter + n.id[1:] in known:
                    yield with_change(tree, n, ast.Name(letter + n.id[1:]))


def missing(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if is_op(n, ast.Add, ast.Sub):
            yield with_change(tree, n, n.left)
            if not is_op(n.left, ast.Add, ast.Sub):
                yield with_change(tree, n, n.right if isinstance(n.op, ast.Add) else ast.UnaryOp(ast.USub(), n.right))


def doubled(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if is_op(n, ast.Add, ast.Sub):
            yield with_change(tree, n, ast.BinOp(n, n.op, n.right))
            if not is_op(n.left, ast.Add, ast.Sub):
                yield with_change(tree, n, ast.BinOp(n, ast.Add(), n.left))


def square(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if is_op(n, ast.Pow) and isinstance(n.right, ast.Constant) and n.right.value in (2, 3, 4):
            down = n.left if n.right.value == 2 else ast.BinOp(n.left, ast.Pow(), ast.Constant(n.right.value - 1))
            yield with_change(tree, n, down)


def angles(known: list[str]) -> list[str]:
    return [x for x in known if re.fullmatch(r"(q|theta|phi)\d*", x)]


def frame(tree: Tree, known: list[str]) -> Edit:
    """The angle of another link: a joint too few or too many."""
    for n in nodes(tree):
        if not is_function(n):
            continue
        inside = {x.id for x in symbols(n.args[0])}
        for angle in missing(n.args[0], known):
            yield with_change(tree, n, call(n.func.id, angle))
        for name in angles(known):
            if name not in inside:
                yield with_change(tree, n, call(n.func.id, ast.BinOp(n.args[0], ast.Add(), ast.Name(name))))


def degrees(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if is_function(n):
            for a, b in ((ast.Name("pi"), ast.Constant(180)), (ast.Constant(180), ast.Name("pi"))):
                angle = ast.BinOp(ast.BinOp(n.args[0], ast.Mult(), a), ast.Div(), b)
                yield with_change(tree, n, call(n.func.id, angle))


def is_rate(n: Tree) -> bool:
    return isinstance(n, ast.Name) and bool(re.fullmatch(r"(q|theta|phi|x|y|z|s)d+\d*", n.id))


def chain(tree: Tree, known: list[str]) -> Edit:
    """A rate left out: as a factor, or in the sum of an inner derivative; an inner derivative's number left out."""
    for n in nodes(tree):
        if is_op(n, ast.Mult):
            for rate, other in ((n.left, n.right), (n.right, n.left)):
                if is_rate(rate):
                    yield with_change(tree, n, other)
                if is_op(rate, ast.Add, ast.Sub) and all(is_rate(x) for x in symbols(rate)) and symbols(rate):
                    yield with_change(tree, n, other)
                    yield with_change(tree, rate, rate.left)
                    yield with_change(tree, rate, rate.right)
                if is_op(rate, ast.Pow) and is_rate(rate.left):
                    yield with_change(tree, n, other)
    for n in nodes(tree):
        if is_op(n, ast.Add, ast.Sub):
            for x, right in ((n.left, False), (n.right, True)):
                if any(is_rate(y) for y in symbols(x)) and not is_op(x, ast.Add, ast.Sub):
                    kept = (
                        n.left if right else n.right if isinstance(n.op, ast.Add) else ast.UnaryOp(ast.USub(), n.right)
                    )
                    yield with_change(tree, n, kept)


def factor_out(tree: Tree, _: list[str]) -> Edit:
    """A symbol or function left out of a product; a bracket opened without its factor."""
    for n in nodes(tree):
        if is_op(n, ast.Mult):
            for x, other in ((n.left, n.right), (n.right, n.left)):
                if isinstance(x, (ast.Name, ast.Call)):
                    yield with_change(tree, n, other)
                if is_op(x, ast.Add, ast.Sub):
                    yield with_change(tree, n, ast.BinOp(ast.BinOp(other, ast.Mult(), x.left), x.op, x.right))
                    if not is_op(x.left, ast.Add, ast.Sub):
                        yield with_change(tree, n, ast.BinOp(x.left, x.op, ast.BinOp(other, ast.Mult(), x.right)))


def factor_in(tree: Tree, known: list[str]) -> Edit:
    for _sum, x, _right in terms(tree):
        for name in known:
            yield with_change(tree, x, ast.BinOp(x, ast.Mult(), ast.Name(name)))


def term_in(tree: Tree, known: list[str]) -> Edit:
    """A term of another place, or a lone symbol, added."""
    for name in known:
        yield ast.BinOp(tree, ast.Add(), ast.Name(name))
    yield from doubled(tree, known)


def symbol(tree: Tree, known: list[str]) -> Edit:
    for n in symbols(tree):
        for other in known:
            if other != n.id:
                yield with_change(tree, n, ast.Name(other))


def square_in(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if isinstance(n, (ast.Name, ast.Call)) and id(n) not in functions_in(tree):
            yield with_change(tree, n, ast.BinOp(n, ast.Pow(), ast.Constant(2)))


def upside_down(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if is_op(n, ast.Div) and not isinstance(n.right, ast.Constant):
            yield with_change(tree, n, ast.BinOp(n.right, ast.Div(), n.left))
        if is_op(n, ast.Mult) and isinstance(n.right, ast.Name):
            yield with_change(tree, n, ast.BinOp(n.left, ast.Div(), n.right))


def root(tree: Tree, _: list[str]) -> Edit:
    for n in nodes(tree):
        if is_function(n, "sqrt"):
            yield with_change(tree, n, n.args[0])


Injector = Callable[[Tree, list[str]], Edit]
INJECTED: dict[str, Injector] = {
    "sign": sign,
    "factor": factor,
    "forgotten ½": half,
    "sin/cos": sine,
    "index": index,
    "l ↔ r": length,
    "missing term": missing,
    "doubled term": doubled,
    "lost square": square,
    "wrong frame": frame,
    "degrees": degrees,
    "chain-rule term": chain,
    "missing factor": factor_out,
    "symbol": symbol,
}
# Names that a slip may be given besides: what an edit of that name is.
NAMED = INJECTED | {
    "extra factor": factor_in,
    "extra term": term_in,
    "extra square": square_in,
    "upside down": upside_down,
    "lost root": root,
}

# ------------------------------------------------------------------------------------------------------- the systems

ROBOTS = {
    "planar-1r": "M11 g1 tau1 K",
    "planar-2r": "M11 M12 C11 C12 g1 tau1 tau2 K P J11 T14 det Gamma121",
    "planar-2r-points": "M11 M12 C12 g1 tau1 K P",
    "planar-3r": "M11 M12 M22 C12 g1 g2 J11 T24 P",
    "planar-3r-points": "M12 g1 K",
    "rp": "M11 C11 g1 tau1 tau2 K",
    "cartesian-pp": "tau1 tau2 K",
    "scara": "M11 M12 C12 J11 tau3",
    "elbow-3r": "M11 M22 C11 g2 J11 T14 det",
    "stanford": "J11 T14 g2",
    "puma560": "T14 g3 g2",
}
LAGRANGIAN = {
    "cart-pole": "M12 K L tau1 tau2",
    "geared-link": "tau1 K",
    "rod-and-ball": "M11 K tau1",
    "bead-on-a-hoop": "K P tau1",
    "mass-spring-damper": "K L tau1",
}
FORMULAS = {
    "PD on an inertia": ("kp/(J*s**2 + (b + kv)*s + kp)", "kp kv J b s"),
    "second order": ("omega**2/(s**2 + 2*zeta*omega*s + omega**2)", "omega zeta s"),
    "DC motor": ("km/(s*((L*s + R)*(J*s + b) + km*ke))", "km ke L R J b s"),
    "gains": ("2*zeta*omega*J - b + R*omega**2/km", "zeta omega J b R km"),
    "damped frequency": ("sqrt(k/m - (b/(2*m))**2)", "k m b"),
}


def right_formulas() -> Iterator[tuple[str, str, object, list[str]]]:
    """(system, name, what is compared, the texts in up to three forms)."""
    import dalembert as dl
    from dalembert.lagrange.examples import EXAMPLES
    from dalembert.symbolic.compare import formula_quantity

    for robot, names in ROBOTS.items():
        e = dl.load(robot).equations()
        for name in names.split():
            yield robot, name, e.quantity(name), forms(e.legible(name, lump=False), e.text(name, lump=False, long=True))
    for system, names in LAGRANGIAN.items():
        s = EXAMPLES[system]()
        for name in names.split():
            q = s.quantity(name)
            yield system, name, q, forms(None, f"{name} = {q.derived}")
    for name, (text, letters) in FORMULAS.items():
        q = formula_quantity(name, text, letters.split())
        yield name, "G", q, forms(None, f"G = {text}")


def forms(_: object, line: str) -> list[str]:
    """Expanded, factored or collected, and as it is printed."""
    text = re.sub(r"\b([cs])(\d+)\b", _long, line.split(" = ", 1)[1].strip().replace("^", "**"))
    spare = {name: sp.Symbol(name) for name in set(re.findall(r"[A-Za-z_]\w*", text)) - {"sin", "cos", "sqrt"}}
    x = sp.sympify(text, locals=spare)
    rates = [s for s in spare.values() if re.fullmatch(r"(q|theta|x|phi|y)d+\d*", s.name)]
    masses = [s for s in spare.values() if s.name[0] in "mI"]
    collected = sp.collect(sp.expand(x), rates or masses, sp.factor) if len(text) < 900 else x
    simplified = sp.trigsimp(sp.expand(x)) if len(text) < 300 and "sqrt" not in text else sp.factor(sp.expand(x))
    made = [text, *(str(y) for y in (sp.expand(x), collected, simplified))]
    return [*dict.fromkeys(made)][:4]


def _long(found: re.Match[str]) -> str:
    return f"{'cos' if found[1] == 'c' else 'sin'}({' + '.join('q' + k for k in found[2])})"


# ------------------------------------------------------------------------------------------------------------ judging


class Values:
    """Values of texts at random points, by Python itself."""

    def __init__(self, names: list[str], seed: int) -> None:
        r = np.random.default_rng(seed)
        self.at = {name: r.uniform(0.4, 1.6, 12) for name in names} | {"pi": np.pi}
        self.functions = {name: getattr(np, name) for name in ("sin", "cos", "sqrt")} | {
            "sgn": np.sign,
            "sign": np.sign,
        }

    def __call__(self, text: str) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.broadcast_to(eval(text, {"__builtins__": {}}, {**self.at, **self.functions}), 12)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    both = np.isfinite(a) & np.isfinite(b)
    if (np.isfinite(a) != np.isfinite(b)).any() or not both.any():
        return not both.any() and not np.isfinite(a).any()
    return bool(np.allclose(a[both], b[both], rtol=1e-8, atol=1e-9 * (1 + abs(a[both]).max())))


def is_edit(kind: str, texts: list[str], wanted: np.ndarray, known: list[str], at: Values) -> bool:
    """Whether one edit of that kind makes one of the right texts what was written."""
    for text in texts:
        for edited in NAMED[kind](ast.parse(text, mode="eval").body, known):
            if same(at(ast.unparse(edited)), wanted):
                return True
    return False


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=2000)
    options.add_argument("--double", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--show", type=int, default=0)
    asked = options.parse_args()
    from dalembert.symbolic.compare import compare

    choose = random.Random(asked.seed)
    formulas, right_wrong = [], 0
    for system, name, quantity, texts in right_formulas():
        known = sorted(
            {x for text in texts for x in re.findall(r"[A-Za-z_]\w*", text)}
            - {"sin", "cos", "sqrt", "pi", "sgn", "sign"}
        )
        for text in texts:
            if not compare(quantity, text):
                right_wrong += 1
                print("RIGHT FORMULA CALLED WRONG", system, name, text)
        formulas.append((system, name, quantity, texts, known, Values(known, 7)))
    systems = {f[0] for f in formulas}
    print(
        f"{len(systems)} systems, {len(formulas)} quantities, {sum(len(f[3]) for f in formulas)} right texts, "
        f"called wrong: {right_wrong}"
    )
    by_system = defaultdict(list)
    for f in formulas:
        by_system[f[0]].append(f)

    made, named, missed = Counter(), Counter(), []
    times, seen, shown = [], set(), 0
    kinds = list(INJECTED)
    tries = special = 0
    while sum(made.values()) < asked.count and tries < 40 * asked.count:
        tries += 1
        system, name, quantity, texts, known, at = choose.choice(by_system[choose.choice(sorted(systems))])
        text, kind = choose.choice(texts), choose.choice(kinds)
        edits = list(INJECTED[kind](ast.parse(text, mode="eval").body, known))
        if not edits:
            continue
        written = ast.unparse(choose.choice(edits))
        if (name, written) in seen or same(at(written), at(texts[0])):
            continue
        seen.add((name, written))
        made[kind] += 1
        start = time.process_time()
        result = compare(quantity, written)
        times.append(time.process_time() - start)
        if result.where:
            special += 1
            made[kind] -= 1
            print("right for the system", system, name, kind, written, "|", result)
            continue
        if result:
            missed.append((system, name, kind, written))
            print("WRONG CALLED RIGHT", system, name, kind, written, "|", result)
            continue
        got = result.slips[0].kind if len(result.slips) == 1 else f"{len(result.slips)} slips"
        good = len(result.slips) == 1 and (
            got == kind or (got in NAMED and is_edit(got, texts, at(written), known, at))
        )
        named[kind] += good
        if not good and shown < asked.show:
            shown += 1
            print(f"-- {system} {name} [{kind}] {written}\n   right: {text}\n   {got}: {result.slip}")
    total = sum(made.values())
    print(f"\n{'kind':<18}{'injected':>9}{'named':>8}{'share':>8}")
    for kind in kinds:
        if made[kind]:
            print(f"{kind:<18}{made[kind]:>9}{named[kind]:>8}{named[kind] / made[kind]:>8.1%}")
    print(f"{'all':<18}{total:>9}{sum(named.values()):>8}{sum(named.values()) / total:>8.1%}")
    print(
        f"found: {total - len(missed)} of {total} (and {special} that change nothing for the system); "
        f"CPU time median {statistics.median(times):.3f} s, worst {max(times):.3f} s"
    )

    if not asked.double:
        return
    done = good = 0
    times, shown = [], 0
    while done < asked.double:
        system, name, quantity, texts, known, at = choose.choice(by_system[choose.choice(sorted(systems))])
        text, pair = choose.choice(texts), [choose.choice(kinds) for _ in range(2)]
        tree: Tree | None = ast.parse(text, mode="eval").body
        values = [at(texts[0])]
        for kind in pair:
            edits = list(INJECTED[kind](tree, known)) if tree else []
            tree = choose.choice(edits) if edits else None
            values.append(at(ast.unparse(tree)) if tree else values[-1])
        if tree is None or same(values[0], values[1]) or same(values[1], values[2]) or same(values[0], values[2]):
            continue
        done += 1
        start = time.process_time()
        result = compare(quantity, ast.unparse(tree))
        times.append(time.process_time() - start)
        kinds_found = [s.kind for s in result.slips]
        # Two named, each an edit on the way; or one that is all there is to it (two edits that are one).
        fine = two_edits(kinds_found, texts, at(ast.unparse(tree)), known, at, sorted(pair))
        good += fine
        if not fine and shown < asked.show:
            shown += 1
            print(f"-- {system} {name} {pair} {ast.unparse(tree)}\n   right: {text}\n   {kinds_found}: {result.slip}")
    print(
        f"double slips: {good} of {done} named rightly ({good / done:.1%}); "
        f"CPU time median {statistics.median(times):.3f} s, "
        f"worst {max(times):.3f} s"
    )


def two_edits(
    found: list[str], texts: list[str], wanted: np.ndarray, known: list[str], at: Values, pair: list[str]
) -> bool:
    """Whether edits of these names, one after the other, give what was written."""
    if sorted(found) == pair:
        return True
    if len(found) == 1:
        return found[0] in NAMED and is_edit(found[0], texts, wanted, known, at)
    if len(found) != 2 or any(kind not in NAMED for kind in found):
        return False
    for first, second in (found, found[::-1]):
        for text in texts:
            for edited in NAMED[first](ast.parse(text, mode="eval").body, known):
                for again in NAMED[second](edited, known):
                    if same(at(ast.unparse(again)), wanted):
                        return True
    return False


if __name__ == "__main__":
    main()
