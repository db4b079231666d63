"""Charts: nothing of the numbers is lost, nothing of the words is taken for markup, the same bytes twice."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, strategies as st

import dalembert as dl
from dalembert.draw.svg import Curve, bars, heat, lines
from dalembert.draw.svg.charts import LEVELS, extremes, shade, straighten
from dalembert.draw.svg.elements import Scale, label, scale_of, width_of

NAMESPACE = "{http://www.w3.org/2000/svg}"
finite = st.floats(-1e12, 1e12, allow_nan=False)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in parsed(svg).iter(f"{NAMESPACE}text")]


def points(path: str) -> np.ndarray:
    """The corners of a path that is one polyline."""
    return np.array(re.findall(r"-?[\d.]+", path), float).reshape(-1, 2)


def curves(svg: str) -> list[str]:
    """The paths that are curves: those with a width and no dashes of an axis."""
    return [p.get("d") for p in parsed(svg).iter(f"{NAMESPACE}path") if p.get("stroke-linejoin")]


# ------------------------------------------------------------------------------------------------------ ticks, labels
@given(finite, finite, st.integers(2, 12))
def test_ticks_are_round_few_and_inside(a, b, most):
    scale = scale_of(min(a, b), max(a, b))
    ticks = scale.ticks(most)
    assert 2 <= len(ticks) <= max(4, most + 1)
    span = scale.high - scale.low
    values = [v for v, _ in ticks]
    assert all(scale.low - 1e-6 * span <= v <= scale.high + 1e-6 * span for v in values)
    assert values == sorted(values) and len({words for _, words in ticks}) == len(ticks)


@given(st.floats(1e-12, 1e12), st.floats(1.0, 1e9))
def test_powers_of_ten_on_a_logarithmic_axis(low, factor):
    for most in (2, 6):
        ticks = scale_of(low, low * factor, log=True).ticks(most)
        assert 2 <= len(ticks) <= max(4, most)
        powers = [k for k in range(-13, 23) for v, _ in ticks if math.isclose(v, 10.0**k, rel_tol=1e-9)]
        assert len(powers) == len(ticks) or len(powers) <= 1  # less than two decades: 2 and 5 stand there too


def test_numbers_are_written_for_reading():
    wanted = {
        0.0: "0",
        12.5: "12.5",
        -3.0: "-3",
        1e-9: "10⁻⁹",
        2.5e7: "2.5·10⁷",
        1234.0: "1234",
        99999.0: "100000",
        math.inf: "∞",
        -math.inf: "-∞",
    }
    assert {x: label(x) for x in wanted} == wanted
    assert label(math.nan) == "–" and label(-0.0) == "0"


def test_a_scale_maps_its_ends():
    assert Scale(2, 4).part(3) == 0.5
    assert Scale(0.01, 100, log=True).part(1) == pytest.approx(0.5)


# ------------------------------------------------------------------------------------------------------------ thinning
@given(st.integers(1, 400), st.integers(0, 10))
def test_no_extreme_is_lost(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    column = np.sort(rng.integers(0, 12, n))
    kept = extremes(column, y)
    assert len(kept) <= 4 * 12 and (np.diff(kept) > 0).all()
    for c in np.unique(column):
        own = y[column == c]
        shown = y[kept][column[kept] == c]
        assert shown.min() == own.min() and shown.max() == own.max()


@given(st.integers(2, 200), st.integers(0, 10), st.floats(0.01, 1.0))
def test_what_is_straightened_stays_within_the_bend(n, seed, bend):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 50, n))
    y = np.cumsum(rng.normal(size=n)) * 0.2
    kept = straighten(x, y, bend)
    assert kept[0] == 0 and kept[-1] == n - 1
    assert np.abs(np.interp(x, x[kept], y[kept]) - y).max() <= bend + 1e-9 or (np.diff(x) == 0).any()


def test_a_spike_among_a_million_samples_is_seen():
    t = np.linspace(0, 1, 1_000_000)
    y = np.sin(20 * t)
    y[444_444] = 9.0
    svg = lines([Curve(t, y, "signal")])
    assert len(svg) < 60_000
    corners = points(curves(svg)[0])
    top = corners[corners[:, 1].argmin()]
    scale = (corners[:, 0].max() - corners[:, 0].min()) * 0.444444 + corners[:, 0].min()
    assert top[0] == pytest.approx(scale, abs=1.0)
    assert np.ptp(corners[:, 1]) > 2 * np.ptp(corners[corners[:, 1] > top[1] + 5][:, 1])


def test_a_straight_line_is_two_points():
    assert len(points(curves(lines([Curve(np.arange(5000.0), 3 * np.arange(5000.0))]))[0])) == 2


def test_a_curve_is_where_its_numbers_are():
    """The drawn corners, mapped back by the axis' own ticks, are the given points."""
    x, y = np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 3.0, -1.0, 2.0])
    svg = lines([Curve(x, y, "a")], y="y")
    corners = points(curves(svg)[0])
    box = next(r for r in parsed(svg).iter(f"{NAMESPACE}rect"))
    left, top, wide, tall = (float(box.get(k)) for k in ("x", "y", "width", "height"))
    assert np.allclose((corners[:, 0] - left) / wide * 4, x, atol=0.01)
    low, high = -1 - 0.06 * 4, 3 + 0.06 * 4
    assert np.allclose(low + (top + tall - corners[:, 1]) / tall * (high - low), y, atol=0.02)


# --------------------------------------------------------------------------------------------------------------- lines
def test_where_a_curve_is_not_finite_it_is_interrupted():
    y = np.sin(np.linspace(0, 6, 300))
    y[100:120] = np.nan
    assert curves(lines([Curve(np.arange(300.0), y)]))[0].count("M") == 2
    assert curves(lines([Curve([0.0, 1.0], [np.nan, np.inf])])) == []


def test_a_logarithmic_axis_has_a_floor():
    t = np.linspace(0, 1, 50)
    svg = lines([Curve(t, np.zeros(50)), Curve(t, 10.0**-t)], log=True, floor=1e-6)
    assert "nan" not in svg and "inf" not in svg


def test_words_are_words():
    svg = lines([Curve([0, 1], [0, 1], "<script>&\"'")], x="<b>", y="</svg>", title="]]>")
    assert {"<script>&\"'", "<b>", "</svg>", "]]>"} <= set(texts(svg))
    assert len(list(parsed(svg).iter("{*}script"))) == 0


@pytest.mark.parametrize("names", [[f"joint{k}" for k in range(12)], ["a very long name of a controller indeed"] * 5])
def test_a_legend_stays_inside_and_does_not_overlap(names):
    svg = lines([Curve([0, 1], [0, k], name) for k, name in enumerate(names)], width=390)
    spots = [
        (float(t.get("x")), float(t.get("y")), t.text) for t in parsed(svg).iter(f"{NAMESPACE}text") if t.text in names
    ]
    assert len(spots) == len(names)
    rows = {}
    for x, y, words in spots:
        rows.setdefault(y, []).append((x, x + width_of(words)))
    for row in rows.values():
        assert all(a[1] <= b[0] for a, b in zip(sorted(row), sorted(row)[1:], strict=False))
        assert len(row) == 1 or max(b for _, b in row) <= 390


def test_the_same_numbers_are_the_same_bytes():
    rng = np.random.default_rng(0)
    t, y, v = np.arange(500.0), rng.normal(size=500), rng.normal(size=(8, 9))
    draw = [
        lambda: lines([Curve(t, y, "a")], x="t [s]"),
        lambda: heat(np.arange(10.0), np.arange(9.0), v),
        lambda: bars(["a", "b"], [1.0, 2.0]),
    ]
    assert [f() for f in draw] == [f() for f in draw]


def test_bad_curves_are_refused():
    with pytest.raises(dl.InputError, match=r"curve 'a': x has shape \(2,\) and y \(3,\); they must be equal"):
        lines([Curve([0, 1], [0, 1, 2], "a")])
    with pytest.raises(dl.InputError, match="x must be finite and rising"):
        lines([Curve([1, 0], [0, 1])])
    with pytest.raises(dl.InputError, match="x must be finite and rising"):
        lines([Curve([0, np.nan], [0, 1])])


def test_no_curve_is_an_empty_box():
    assert parsed(lines([])) is not None


# ---------------------------------------------------------------------------------------------------- heat maps, bars
def test_cells_have_the_color_of_their_number_and_blanks_have_none():
    v = np.array([[0.0, 1.0, np.nan], [0.5, 1.0, 1.0]])
    svg = heat(np.arange(4.0), np.arange(3.0), v, value_range=(0.0, 1.0))
    paths = [p for p in parsed(svg).iter(f"{NAMESPACE}path") if p.get("fill")[0] == "#"]
    drawn = {p.get("fill"): p.get("d").count("M") for p in paths}
    lowest, highest = shade(0.5 / LEVELS), shade((LEVELS - 0.5) / LEVELS)
    assert drawn[lowest] == 1 and drawn[highest] == 2  # the two ones of the upper row are one rectangle
    assert len(drawn) == 3


def test_colors_grow_lighter():
    weights = ((0.3, 1), (0.59, 3), (0.11, 5))
    gray = [sum(w * int(shade(p)[i : i + 2], 16) for w, i in weights) for p in np.linspace(0, 1, 40)]
    assert (np.diff(gray) > 0).all()


def test_equal_axes_are_equal():
    svg = heat(np.linspace(0, 2, 5), np.linspace(0, 1, 3), np.ones((2, 4)), equal=True)
    box = next(r for r in parsed(svg).iter(f"{NAMESPACE}rect") if r.get("style"))
    assert float(box.get("width")) == pytest.approx(2 * float(box.get("height")), rel=0.01)


def test_bad_maps_and_bars_are_refused():
    with pytest.raises(dl.InputError, match=r"values have shape \(2, 2\); 2 rows and 3 columns are needed"):
        heat(np.arange(4.0), np.arange(3.0), np.ones((2, 2)))
    with pytest.raises(dl.InputError, match="the edges of cells must rise"):
        heat([0.0, 0.0], [0.0, 1.0], [[1.0]])
    with pytest.raises(dl.InputError, match=r"1 × 2 are needed"):
        bars(["a", "b"], [1.0])


def test_bars_are_as_tall_as_their_numbers():
    svg = bars(["a", "b", "c"], [1.0, 2.0, -1.0])
    drawn = [r for r in parsed(svg).iter(f"{NAMESPACE}rect") if "fill:var(--c" in (r.get("style") or "")]
    tall = [float(r.get("height")) for r in drawn]
    assert tall[1] == pytest.approx(2 * tall[0], rel=0.02) and tall[2] == pytest.approx(tall[0], rel=0.02)
    long = bars(["a name that is much too long"] * 12, np.ones(12), width=390)
    assert any(t.endswith("…") for t in texts(long))
