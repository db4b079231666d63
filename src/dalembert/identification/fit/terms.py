"""Which terms a log asks for: friction, rotors, offsets and springs, chosen by the error on what was not fitted.

A log is cut into blocks of time. Each block's rows of [Y_b τ] are kept as their squares, YᵀY, from which every choice
of columns is fitted to all blocks but one, and judged on that one, without a second pass over the log:

    e_k = ‖τ_k − Y_k β₋ₖ‖² / rows,      β₋ₖ fitted to all blocks but k, joints weighted by their residuals

A term is taken if the mean of e_k falls by more than one standard error of that fall over the blocks (two, and 2 % of
the mean, for what few arms have: friction of other shapes, springs), and given up if without it the mean rises by less:
of models that are as good, the simplest (Hastie, Tibshirani & Friedman 2009, §7.10).
The errors of blocks differ by far more than the models do, so that differences are judged block by block. Terms are
taken for all joints together: a drive's kind is the arm's, and seven choices from one log would be chosen from noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.identification.fit.regression import Compressed, Regression, join
from dalembert.identification.fit.regressor import FRICTION, Base, Columns, base
from dalembert.identification.log.samples import Samples

Integers = NDArray[np.int64]
BLOCKS = 6
# Columns that may be given up or taken, for all joints together; and those that a fit begins with. (Coulomb friction of
# another level for either direction is Coulomb friction and an offset.)
TERMS = ("rotor", "viscous", "coulomb", "offset", "root", "cubic", "load", "spring")
START = ("rotor", *FRICTION)
BRAKES = ("viscous", "coulomb", "root", "cubic", "load")
# A term beyond these must earn its place by so many standard errors, and by this part of the squares: of five that are
# tried, one gains something by chance, and what bends friction for little misleads outside of what was recorded.
SURE, LEAST_GAIN = 2.0, 0.02
EXACT = 1e-6  # of the torques: what is less is rounding
PULL = 1e-3  # of the weighted squares, what a body that is off by its whole size costs: as in a consistent fit
LOOSE = 1e-9  # of each column's square, added to it: a block that is left out may leave columns alike


@dataclass(frozen=True)
class Trial:
    """A term, whether it was taken, and by which part the mean of the held-out squares would grow if it were decided
    otherwise, ± its standard error over the blocks."""

    term: str
    taken: bool
    change: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.term} {100 * self.change:+.2g} ± {100 * self.deviation:.1g} %"


@dataclass(frozen=True, eq=False)
class Blocks:
    """[Y_b τ] of blocks of time: `parts`, each with its triangles, and which columns these have."""

    columns: Columns
    base: Base
    parts: tuple[Compressed, ...]
    squares: Array  # (blocks, n, p + 1, p + 1), YᵀY

    @property
    def rows(self) -> Array:
        return np.array([part.rows for part in self.parts], float)

    def whole(self, wanted: Iterable[int] | None = None) -> Compressed:
        """Some of the blocks as one."""
        return join(self.parts[k] for k in (range(len(self.parts)) if wanted is None else wanted))

    def places(self, terms: Sequence[str]) -> Integers:
        """Of the base parameters, those of bodies and of these terms."""
        return np.array([k for k, kind in enumerate(self.kinds) if kind not in TERMS or kind in terms], np.int64)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Of each base parameter what it is: "m", "Ixx", "viscous"."""
        return tuple(self.base.names[k].rsplit(":", 1)[-1] for k in self.base.kept)

    @cached_property
    def near(self) -> tuple[Array, Array]:
        """β₀ of the model that was given, and a size for each base parameter: what is not small for it (p,). For
        bodies, what the largest of its kind has; for the rest none, zero."""
        beta = self.base.of(self.columns.model_values()[self.columns.free])
        kinds = np.array([kind[0] if kind not in TERMS else "" for kind in self.kinds])
        sizes = {kind: np.abs(beta[kinds == kind]).max() for kind in ("m", "I") if (kinds == kind).any()}
        return beta, np.array([sizes.get(kind, 0.0) for kind in kinds])

    def weights(self, places: Integers) -> Array:
        """One over each joint's residual, of a fit to everything in these columns, by turns (n,)."""
        total, rows, where = self.squares.sum(0), self.rows.sum(), np.append(places, self.base.rank)
        G = total[:, where][..., where]
        power = G[:, -1, -1] / rows
        least = np.maximum(1e-18 * power, 1e-300)
        w = 1 / np.sqrt(np.maximum(power, least))
        for _ in range(6):
            A = np.einsum("j,jab->ab", w**2, G)
            size = np.sqrt(np.diag(A)[:-1])
            size = np.where(size > 0, size, 1.0)
            A, b = A[:-1, :-1] / np.outer(size, size) + LOOSE * np.eye(len(size)), A[:-1, -1] / size
            v = np.append(np.linalg.solve(A, b) / size, -1.0)
            w = 1 / np.sqrt(np.maximum(np.einsum("a,jab,b->j", v, G, v) / rows, least))
        return np.asarray(w)

    def errors(self, places: Integers, weights: Array, judged: Array | None = None, pull: float = PULL) -> Array:
        """Squares per joint of each block that was left out, (blocks, n): fitted to the others in the columns
        `places`, joints weighted, and bodies pulled toward the model that was given. `judged`: the squares of the same
        blocks from samples of another kind."""
        p = self.base.rank
        A = np.einsum("j,kjab->kab", weights**2, self.squares)
        A = (A.sum(0) - A)[:, places][:, :, np.append(places, p)]
        left, right = A[..., :-1], A[..., -1]
        size = np.sqrt(np.einsum("kii->ki", left))
        size = np.where(size > 0, size, 1.0)
        scaled = left / (size[:, :, None] * size[:, None, :]) + LOOSE * np.eye(len(places))
        target, large = (x[places] for x in self.near)
        strength = (large > 0) * pull * self.rows.sum() * len(weights) / np.where(large > 0, large, 1.0) ** 2
        scaled = scaled + (strength / size**2)[:, :, None] * np.eye(len(places))
        right = right + strength * target
        # Friction takes: where a fit would let it give, it is none, as in the robot that is made of the fit.
        taking = np.array([name in BRAKES for name in self.kinds])[places]
        beta = np.linalg.solve(scaled, (right / size)[..., None])[..., 0]
        for _ in range(2):
            none = 1e9 * (taking & (beta < 0))
            if not none.any():
                break
            beta = np.linalg.solve(scaled + none[:, :, None] * np.eye(len(places)), (right / size)[..., None])[..., 0]
        beta = beta / size
        v = np.concatenate([beta, -np.ones((len(beta), 1))], axis=1)
        where = np.append(places, p)
        squares = (self.squares if judged is None else judged)[:, :, where][..., where]
        return np.maximum(np.einsum("ka,kjab,kb->kj", v, squares, v), 0.0)


def cut_blocks(runs: Sequence[Samples], labels: Sequence[Integers]) -> list[tuple[Samples, ...]]:
    """The samples of each block, run by run: `labels` say of each sample which block it is in."""
    last = max(int(label.max()) for label in labels)
    parts = [[run.part(label == k) for run, label in zip(runs, labels, strict=True)] for k in range(last + 1)]
    return [tuple(run for run in part if len(run)) for part in parts]


def count_held_blocks(holdout: float) -> int:
    """Return the number of blocks that hold the last part `holdout` of a log."""
    return max(round(BLOCKS * holdout / (1 - holdout)), 1) if holdout else 0


def label_blocks(t: Array, times: Array, holdout: float, period: float | None = None) -> Integers:
    """Of samples at t (N,) of a log with these times, the block each is in: 0 … BLOCKS − 1 for what is fitted, from
    there on for the last part `holdout`, in blocks of as many samples of the log. With a `period` [s] they are blocks
    of its phase: what is held out are then states that the other rounds have not been through either."""
    more = count_held_blocks(holdout)
    parts = np.concatenate([np.linspace(0, 1 - holdout, BLOCKS + 1), np.linspace(1 - holdout, 1, more + 1)[1:]])[1:-1]
    if period is not None:
        return np.searchsorted(parts, ((t - times[0]) / period) % 1.0, side="right")
    return np.searchsorted(times[(parts * len(times)).astype(np.int64)], t, side="right")


def compress_blocks(columns: Columns, parts: Sequence[tuple[Samples, ...]]) -> Blocks:
    """Every block's rows as triangles: one pass over the log."""
    b = base(columns)
    done = tuple(Regression(columns, b, part).compress() for part in parts)
    squares = np.stack([np.einsum("jia,jib->jab", part.triangles, part.triangles) for part in done])
    return Blocks(columns, b, done, squares)


def choose_terms(
    blocks: Blocks, offered: Sequence[str] = TERMS, wanted: Sequence[str] = ()
) -> tuple[tuple[str, ...], list[Trial]]:
    """The terms that the log asks for, of those that are among the columns and offered, beside those that are wanted
    anyway; and of each what it changes."""
    offered = [term for term in TERMS if term in offered and term in blocks.kinds and term not in wanted]
    now = [*wanted, *(term for term in offered if term in START)]
    weights = blocks.weights(blocks.places(now))
    rows = blocks.rows
    power = np.sum([part.power for part in blocks.parts], axis=0) / rows.sum()
    floor = float(EXACT**2 * (power @ weights**2))

    def error(terms: Sequence[str]) -> Array:
        return np.asarray(blocks.errors(blocks.places(terms), weights) @ weights**2 / rows)

    def change(terms: Sequence[str], than: Array) -> tuple[float, float]:
        """By how much the mean error is more, and its standard error."""
        d = error(terms) - than
        return float(d.mean()), max(float(d.std(ddof=1) / np.sqrt(len(d))), floor)

    def earns(term: str, gain: float, deviation: float) -> bool:
        if term in START:
            return gain > deviation
        return gain > max(SURE * deviation, LEAST_GAIN * float(error(now).mean()))

    while more := [t for t in offered if t not in now]:
        trials = {t: change([*now, t], error(now)) for t in more}
        best = min(trials, key=lambda t: trials[t][0])
        if not earns(best, -trials[best][0], trials[best][1]):
            break
        now.append(best)
    while free := [t for t in now if t not in wanted]:
        trials = {t: change([x for x in now if x != t], error(now)) for t in free}
        least = [t for t in free if not earns(t, *trials[t])]
        if not least:
            break
        now.remove(min(least, key=lambda t: trials[t][0]))
    scale = max(float(error(now).mean()), floor)  # the mean of exact data may round to zero
    told = []
    for term in offered:
        other = [x for x in now if x != term] if term in now else [*now, term]
        d, se = change(other, error(now))
        told.append(Trial(term, term in now, d / scale, se / scale))
    return tuple(t for t in TERMS if t in now), told


def with_terms(columns: Columns, terms: Sequence[str]) -> Columns:
    """The columns with all terms but these fixed at zero (and the same kernels)."""
    kinds = {name: name.rsplit(":", 1)[-1] for name in columns.all_names}
    none = {name: 0.0 for name, kind in kinds.items() if kind in TERMS and kind not in terms}
    return replace(columns, fixed=none | dict(columns.fixed))
