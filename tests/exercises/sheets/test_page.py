"""The page that grades: what is in it, and what is not to be read there. The browser is asked in test_page_browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re

from made import MADE

from dalembert.exercises.sheets import Sheet
from dalembert.exercises.sheets.page import POINTS, write_html

SHEET = Sheet("Week <1>", (MADE,), 'Ada "x" </script>')


def stored(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1])


def decoded(text: str, seed: int) -> dict:
    """What `decode` of page.js does."""
    state, out = seed, bytearray()
    for byte in base64.b64decode(text):
        state = (state * 1664525 + 1013904223) % 2**32
        out.append(byte ^ state >> 24)
    return json.loads(out)


def test_answers_hints_and_solutions_are_not_in_clear_text():
    page = write_html(SHEET, "inside")
    for secret in ("I2 + m2*", "This is y", "Draw the arm", "Step 1", "-3,-3", "-3.0,-3.0"):
        assert secret not in page
    data = stored(page)
    (one,) = (decoded(text, data["seed"] + k) for k, text in enumerate(data["exercises"]))
    assert one["family"] == "made" and one["seed"] == 7 and "Step 2." in one["solution"] and len(one["hints"]) == 2
    x, _, m12, j, *_, kind = one["answers"]
    assert x["right"] == [[2.0]] and [w["credit"] for w in x["wrong"]] == [0.0, 0.5]
    assert len(m12["right"]) == len(m12["at"]) == POINTS and set(m12["at"][0]) == set(MADE.answers[2].symbols)
    assert j["right"] == [[-3.0, -3.0, 2.0, 0.0]] and j["shape"] == [2, 2]
    assert kind["choice"] == 1 and kind["wrong"][0]["choice"] == "never"
    assert decoded(stored(write_html(SHEET))["exercises"][0], stored(write_html(SHEET))["seed"])["solution"] == ""


def test_the_page_is_safe_and_whole():
    page = write_html(SHEET)
    assert "Week &lt;1&gt;" in page and page.count("</script>") == 2, "what people named ends no script"
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page and "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="', page), "nothing is fetched"
    assert write_html(SHEET) == page, "the same sheet is the same page"
    assert page.count('data-answer="0-3"') == 4 and page.count('type="radio"') == 3


def test_solutions_alone_are_a_page_without_script():
    page = write_html(SHEET, "only")
    assert "Step 2" in page and "<script" not in page and "<math" in page and "Often seen" in page
