"""The page as text: escaping, completeness, size. What it does in a browser is tried elsewhere."""

import json
import re

import pytest

from admercs.report import Report
from tests.report.sample import sample

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--",
    "\u2028\u2029",
    "a & b <i>",
    "@@script@@",
    "\\u003c",
    "\ud800 alone",
    "\x00",
]


def data_of(page):
    found = re.search(
        r'<script type="application/json" id="report-data">(.*?)</script>', page, re.S
    )
    return json.loads(found[1])


@pytest.mark.parametrize("text", HOSTILE)
def test_values_survive_and_stay_text(text):
    summary = {**sample(2), "name": text}
    page = Report(summary).html()
    assert data_of(page)["name"] == text.encode("utf-8", "replace").decode()
    inside = page.split('id="report-data">')[1].split("</script>")[0]
    assert "<" not in inside
    assert "&" not in inside
    assert page.count("</script>") == 2
    page.encode("utf-8")


def test_json_escapes_are_json():
    summary = {**sample(1), "cell": "".join(HOSTILE[:6])}
    assert data_of(Report(summary).html()) == summary


def test_the_page_asks_for_nothing():
    page = Report(sample()).html()
    before = page.split('id="report-data">')[0] + page.split("</script>")[1]
    assert not re.search(r'(src|href)="(?!#)', before)
    assert "url(" not in before
    assert "@import" not in before
    assert "default-src 'none'" in before
    assert "@@" not in before
    assert re.sub(r"http://www\.w3\.org/2000/svg", "", before).count("http:") == 0


def test_a_notebook_gets_a_closed_frame():
    framed = Report(sample(1))._repr_html_()
    assert framed.startswith("<iframe srcdoc=")
    assert framed.count("<") == 2
    assert "allow-same-origin" not in framed
