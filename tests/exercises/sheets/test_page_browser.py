"""The page that grades, in a real browser: right, wrong and hostile answers earn what `grade` gives them.

Needs Chromium and playwright; says so and is skipped where they are not."""

from __future__ import annotations

import shutil
import tomllib

import numpy as np
import pytest

from dalembert.exercises.classes import grade_file, read_answers
from dalembert.exercises.exercise import Answer, Exercise, all_families
from dalembert.exercises.grading import grade
from dalembert.exercises.sheets import Sheet, write_sheet
from dalembert.exercises.sheets.sheet import answer_text

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pages are not looked at")
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("browser")]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium is installed: pages are not looked at", allow_module_level=True)
SEED = 2
MADE = Exercise(
    "Every kind of blank",
    "What is $M_{12}$?",
    (
        Answer("x", "number", 2.0, "m", points=2),
        Answer("phi", "number", np.pi / 6, "rad"),
        Answer("M12", "formula", "I2 + m2*(r2**2 + l1*r2*cos(q2))", points=2,
               symbols=("I2", "m2", "r2", "l1", "q1", "q2")),
        Answer("v", "formula", "qd1**2*l1/2 + theta2", symbols=("qd1", "l1", "theta2")),
        Answer("A", "matrix", [["l1*cos(q1)", "0"], ["-l1*sin(q1)", "1"]], symbols=("l1", "q1"), points=2),
        Answer("c", "choice", "$a < b$", choices=("$a < b$", "$a > b$ <script>")),
    ),
    ("A hint.", "Another, $x^2$."),
    ("A step.",),
    family="made",
)  # fmt: skip
HOSTILE = (
    "__import__('os').system('true')",
    "constructor",
    "constructor(1)",
    "__proto__",
    "toString()",
    "<img src=x onerror=\"document.title='run'\">",
    "document.title='run'",
    "9^9^9^9^9^9",
    "(" * 500 + "1" + ")" * 500,
    "1e400",
    "NaN",
    "Infinity",
    "1/0",
    "0/0",
    "2" * 1_000_000,
    "a" * 1999,
    "1+" * 900 + "1",
    "\u0410\u0415",  # Cyrillic look-alikes of A and E
    "2 \u202e m",
    "; DROP TABLE marks",
    "\\frac{1}{",
    "{{7*7}}",
    "m" * 40 + "x",
)
# Texts into the blanks of an answer, then the button; what the page says.
FILL = """([k, i, texts]) => {
  const fields = [...document.querySelectorAll(`[data-answer="${k}-${i}"]`)];
  fields.forEach((f, j) => {
    if (f.type === "radio") f.checked = f.value === texts[0]; else f.value = texts[j] ?? "";
    if (f.type !== "radio" || f.checked) f.dispatchEvent(new Event("input"));
  });
  document.querySelector(`#form-${k} button[type=submit]`).click();
  return document.getElementById(`why-${k}-${i}`).textContent;
}"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Look:
    """A page that is open, and what the browser had to say about it."""

    def __init__(self, browser, path, width: int = 1100, scheme: str = "light") -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.said: list[str] = []
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
        self.page.on("request", lambda r: self.said.append(r.url) if not r.url.startswith(("file:", "blob:")) else None)
        self.page.goto(path.as_uri())

    def answer(self, k: int, i: int, *texts: str) -> tuple[float, str]:
        said = self.page.evaluate(FILL, [k, i, texts])
        words, _, points = said.rpartition(" (")
        return float(points.split(" of ")[0]), words


def cells(answer: Answer, value: object) -> list[str]:
    """What is typed into the blanks of an answer."""
    if answer.kind != "matrix":
        return [answer_text(answer, value)]
    return [x if isinstance(x, str) else f"{x:.10g}" for x in np.array(value, dtype=object).reshape(-1)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "made.html"
    write_sheet(Sheet("Made", (MADE,)), path, "html", "inside")
    return path


def test_every_family_is_graded_as_python_grades_it(browser, tmp_path):
    exercises = tuple(family.variant(SEED) for family in all_families())
    write_sheet(Sheet("All", exercises), tmp_path / "all.html", "html")
    look, count = Look(browser, tmp_path / "all.html"), 0
    for k, e in enumerate(exercises):
        for i, a in enumerate(e.answers):
            for value in (a.value, *(w.value for w in a.wrong)):
                wanted = next(m for m in grade(e, {a.name: answer_text(a, value)}).marks if m.name == a.name)
                earned, words = look.answer(k, i, *cells(a, value))
                assert earned == pytest.approx(wanted.earned, abs=0.006), (
                    e.family,
                    a.name,
                    value,
                    words,
                    wanted.reason,
                )
                count += 1
    assert count > 3 * len(exercises) and not look.said


@pytest.mark.parametrize(
    ("i", "texts", "share"),
    [
        (0, ["2 m"], 1),
        (0, ["200 cm"], 1),
        (0, ["2,0"], 1),
        (0, ["x = 2.00 m"], 1),
        (0, ["4/2 m"], 1),
        (0, ["\\sqrt{4}\\,\\mathrm{m}"], 1),
        (0, ["-2 m"], 0.5),
        (0, ["2 kg"], 0.5),
        (0, ["3 m"], 0),
        (1, ["30°"], 1),
        (1, ["30 deg"], 1),
        (1, ["π/6"], 1),
        (1, ["0.5236"], 1),
        (1, ["30"], 0.5),
        (2, ["I2 + m2*r2^2 + m2*l1*r2*cos(q2)"], 1),
        (2, ["I₂ + m₂(r₂² + l₁r₂c₂)"], 1),
        (2, ["M12 = I_2 + m_2 r_2^2 + m_2 l_1 r_2 \\cos q_2"], 1),
        (2, ["I2 + m2 lc2^2 + m2 L1 lc2 cos(theta2)"], 1),
        (2, ["\\frac{2 I_2 + 2 m_2 r_2^{2} + 2 m_2 l_1 r_2 \\cos\\left(\\theta_2\\right)}{2}"], 1),
        (2, ["I2 + m2(r2**2 - l1 r2 c2)"], 0.5),
        (2, ["I2 + m2(r2**2 + l1 r2 s2)"], 0.5),
        (2, ["I2 + m2(r2**2 + 2 l1 r2 c2)"], 0.5),
        (2, ["I2 + m2(r2**2 + l1 r2 c1)"], 0.5),
        (2, ["I2 + m2(r2 + l1 r2 c2)"], 0.5),
        (2, ["I2"], 0),
        (2, ["I2 + x"], 0),
        (3, ["½ l₁ q̇₁² + θ₂"], 1),
        (3, ["\\tfrac12 l_1 \\dot{q}_1^2 + \\theta_2"], 1),
        (3, ["\\frac{1}{2} l_1 \\dot q_1^2 + q_2"], 1),
        (4, ["l1 c1", "0", "-l1 sin q1", "1"], 1),
        (4, ["l1 c1", "-l1 s1", "0", "1"], 0.5),
        (4, ["l1 c1", "0", "l1 s1", "1"], 0.5),
        (4, ["l1 c1", "", "l1 s1", "1"], 0),
        (5, ["$a < b$"], 1),
        (5, ["$a > b$ <script>"], 0),
    ],
)
def test_what_students_write(browser, made, i, texts, share):
    look = Look(browser, made)
    earned, words = look.answer(0, i, *texts)
    assert earned == share * MADE.answers[i].points, words
    assert not look.said
    look.page.close()


def test_hostile_answers_are_harmless(browser, made):
    look = Look(browser, made)
    for text in HOSTILE:
        for i, a in enumerate(MADE.answers[:5]):
            earned, words = look.answer(0, i, *[text] * (4 if a.kind == "matrix" else 1))
            assert earned == 0 and words.endswith(".") and len(words) < 400, (text[:40], words)
    assert look.page.title() == "Made" and not look.said
    assert look.page.evaluate("document.querySelectorAll('img').length") == 0


def test_hints_solution_state_and_the_file_of_answers(browser, made, tmp_path):
    look = Look(browser, made)
    page = look.page
    look.answer(0, 0, "200 cm")
    look.answer(0, 2, "I2 + m2*(r2^2 + l1*r2*c2)")
    look.answer(0, 4, "l1 c1", "0", "-l1 s1", "1")
    look.answer(0, 5, "$a < b$")
    assert page.locator("#total").inner_text() == "7 of 9 points"
    assert page.locator("#hints-0 li").count() == 0
    page.locator("#hint-0").click()
    page.locator("#hint-0").click()
    assert page.locator("#hints-0 li").count() == 2 and page.locator("#hint-0").is_hidden()
    assert "A step." not in page.content()
    page.locator("#solution-0 summary").click()
    page.wait_for_function("document.querySelector('#solution-0 div').textContent.includes('A step.')")
    page.locator("#student").fill('Ada "Countess" Lovelace')
    page.reload()  # all is as it was
    assert page.locator("#total").inner_text() == "7 of 9 points" and page.locator("#hints-0 li").count() == 2
    with page.expect_download() as wait:
        page.locator("#save").click()
    file = tmp_path / wait.value.suggested_filename
    wait.value.save_as(file)
    assert file.name == "Ada-Countess-Lovelace.toml"
    student, ((family, seed, given),) = read_answers(file)
    assert (student, family, seed) == ('Ada "Countess" Lovelace', "made", 0)
    assert grade(MADE, given).earned == 7
    assert "made" in grade_file(file).trouble, "no such family comes with Dalembert"
    assert tomllib.loads(file.read_text(encoding="utf-8"))["exercise"][0]["answers"]["phi"] == ""
    page.locator("#clear").click()
    page.wait_for_function("document.getElementById('total').textContent === '0 of 9 points'")
    assert not look.said


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_page(browser, tmp_path, width, scheme):
    write_sheet(Sheet("All", tuple(f.variant(SEED) for f in all_families())), tmp_path / "all.html", "html", "inside")
    look = Look(browser, tmp_path / "all.html", width, scheme)
    assert look.page.evaluate("document.documentElement.scrollWidth") <= width
    assert look.page.evaluate("document.querySelectorAll('main pre').length") == 0, "every formula is MathML"
    assert not look.said
    look.page.close()
