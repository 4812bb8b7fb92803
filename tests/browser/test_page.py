"""The report page in Chromium, with data made by hand: everything a reader can do with it."""

import csv
import io
from pathlib import Path

import pytest

from tests.report.sample import ATTRIBUTE, HOSTILE, LETTER

N_ROWS, N_FLAGGED = 120, 35


@pytest.fixture
def page(open_page, sample_path):
    return open_page(sample_path, viewport={"width": 1200, "height": 900})


def labels(page):
    return page.locator("#rows .opener").all_inner_texts()


def test_shows_the_table_and_its_figures(page):
    assert page.inner_text("h1") == "cars & <b>friends</b>.parquet"
    assert "1,000 rows, 6 columns · 2025-11-15" in page.inner_text("#subtitle")
    assert str(N_FLAGGED) in page.inner_text("#figures")
    assert "at most 1 row in 100" in page.inner_text("#scores")
    assert page.locator("#scores svg rect.flagged").count() > 0
    assert page.locator("#rows tbody tr").count() == 25
    assert page.locator("#column-table tbody tr").count() == 6
    assert "every value is different" in page.inner_text("#columns")
    assert page.locator("#pattern-list li").count() == 1
    assert "none" in page.inner_text("#column-table")


def test_sorts_by_every_heading(page):
    assert page.get_attribute("#rows th[aria-sort]", "aria-sort") == "descending"
    top = labels(page)[0]
    for heading in ("Row", "Score", "Evidence", "Kind", "Main column", "Why"):
        button = page.get_by_role("button", name=heading, exact=True)
        button.click()
        assert page.locator("#rows th[aria-sort]").inner_text().startswith(heading)
        first = labels(page)
        button.click()
        assert heading in ("Main column", "Why") or labels(page) != first
    page.get_by_role("button", name="Score", exact=True).click()
    assert labels(page)[0] == top
    page.get_by_role("button", name="Row", exact=True).click()
    # Rows by their number, not by their text: 7 comes before 14 and 105.
    assert labels(page)[:4] == ["Car 0", HOSTILE, "Car 14", "Car 21"]


def test_searches_labels_values_and_reasons(page):
    page.fill("#search", "car 42")
    assert "Car 42" in labels(page)
    assert page.inner_text("#count").endswith(f"of {N_ROWS} rows")
    page.fill("#search", "nearly all anomalous")
    assert page.locator("#rows .badge:not(.association)").count() == 0
    page.fill("#search", "no such thing")
    assert "No row matches" in page.inner_text("#rows tbody")
    page.get_by_role("button", name="Clear").click()
    assert page.inner_text("#count") == f"{N_ROWS} rows"


def test_filters_by_column_kind_and_context(page):
    page.select_option("#filter-kind", label="by association")
    association = page.inner_text("#count")
    assert association == "13 of 120 rows"
    page.select_option("#filter-kind", label="on its own")
    assert page.inner_text("#count") == "107 of 120 rows"
    page.get_by_role("button", name="Clear").click()
    page.select_option("#filter-context", index=1)
    assert page.inner_text("#count") == association
    page.get_by_role("button", name="Clear").click()
    page.select_option("#filter-column", label="weight (kg)")
    assert page.inner_text("#count") == "107 of 120 rows"


def test_pages(page):
    first = labels(page)
    assert page.get_by_label("Previous page").is_disabled()
    page.get_by_label("Next page").click()
    assert labels(page)[0] not in first
    assert "Page 2 of 5" in page.inner_text("#pager")
    for _ in range(3):
        page.get_by_label("Next page").click()
    assert page.get_by_label("Next page").is_disabled()
    page.get_by_label("Rows per page").select_option("100")
    assert len(labels(page)) == 100


def test_opens_a_row_with_reasons_plots_and_values(page):
    opener = page.locator("#row-14 .opener")
    opener.click()
    assert opener.get_attribute("aria-expanded") == "true"
    detail = page.locator("#detail-14")
    assert detail.locator(".reason").count() == 3
    assert "61% of the evidence" in detail.inner_text()
    assert detail.locator("svg path.typical-area").count() == 1
    assert detail.locator("svg .mark-label").text_content() == "296"
    # Nominal: the usual value, this row's value; missing numbers: recorded against missing.
    assert "SUV" in detail.locator("svg").nth(1).text_content()
    assert detail.locator("svg").nth(2).locator(".bar-label.own").first.text_content() == "missing"
    tinted = detail.locator(".cell.tinted")
    assert tinted.count() == 4
    assert "75%" in detail.locator(".cell", has_text="range (km)").inner_text()
    assert page.url.endswith("#row-14")
    opener.click()
    assert page.locator("#detail-14").count() == 0


def test_follows_a_link_to_a_row_on_another_page(open_page, sample_path):
    page = open_page(sample_path, "#row-700")
    assert page.locator("#detail-700").is_visible()
    assert "Page 5 of 5" in page.inner_text("#pager")
    # From within the page too, whatever is filtered at the moment.
    page.fill("#search", "no such thing")
    page.evaluate("location.hash = '#row-28'")
    page.wait_for_selector("#detail-28")
    assert page.input_value("#search") == ""
    page.evaluate("location.hash = '#row-999'")
    page.wait_for_selector("#toast.visible")
    assert "not among the rows" in page.inner_text("#toast")


def test_context_links_lead_to_its_rows(page):
    page.get_by_role("button", name="Show these rows").click()
    assert page.inner_text("#count") == "13 of 120 rows"
    page.get_by_role("button", name="Clear").click()
    page.locator("#context-list .members a").nth(2).click()
    page.wait_for_selector("#detail-14")


def test_copies_explanation_and_link(page):
    page.locator("#row-28 .opener").click()
    page.get_by_role("button", name="Copy explanation").click()
    page.wait_for_selector("#toast.visible")
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("Car 28   score 0.999")
    assert "1. Rows with factory = Ghent" in text
    assert "(27% of the evidence)" in text
    page.get_by_role("button", name="Copy link").click()
    page.locator("#toast", has_text="Link copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").endswith("sample.html#row-28")


def test_long_texts_can_be_read_in_full(page):
    page.locator("#row-14 .opener").click()
    full = page.locator("#detail-14 .values details .full")
    assert not full.is_visible()
    page.locator("#detail-14 .values summary").click()
    assert full.text_content() == LETTER


def test_similar_rows_are_listed_and_lead_to_each_other(page):
    page.locator("#row-28 .opener").click()
    similar = page.locator("#detail-28 .similar li")
    assert similar.all_inner_texts() == ["Car 14", "Car 3000"]
    assert similar.locator("a").count() == 1
    similar.locator("a").click()
    page.wait_for_selector("#detail-14")


def test_downloads_the_flagged_rows(page):
    with page.expect_download() as download:
        page.get_by_role("button", name="Download flagged rows").click()
    content = download.value.path().read_text(encoding="utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(content, newline="")))
    assert len(lines) == N_FLAGGED
    assert lines[1]["row"] == HOSTILE
    assert lines[1]["range (km)"] == "303"
    assert lines[1]["weight (kg)"] == ""
    assert lines[1]["remarks " + ATTRIBUTE] == ATTRIBUTE
    assert float(lines[0]["evidence"]) > float(lines[-1]["evidence"])


def test_downloaded_text_is_no_formula_to_a_spreadsheet(open_page, tmp_path):
    from admercs.report import Report
    from tests.report.sample import sample

    data = sample()
    cells = {
        '=HYPERLINK("http://x")': '\'=HYPERLINK("http://x")',
        "@SUM(A1)": "'@SUM(A1)",
        "+49 170": "'+49 170",
        "-2+3": "'-2+3",
        "\t=A1": "'\t=A1",
        "-2.5": "-2.5",
        "-1e-05": "-1e-05",
        "+7": "+7",
        "-": "-",
        "a=b": "a=b",
    }
    for row, text in zip(data["rows"], cells, strict=False):
        row["values"][0] = row["label"] = text
    data["columns"][0]["name"] = "=A1"
    path = tmp_path / "formulas.html"
    path.write_text(Report(data).html(), encoding="utf-8")
    page = open_page(path)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download flagged rows").click()
    content = download.value.path().read_text(encoding="utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(content, newline="")))[: len(cells)]
    assert [line["'=A1"] for line in lines] == list(cells.values())
    assert [line["row"] for line in lines] == list(cells.values())


def test_works_with_the_keyboard_alone(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("car 28")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('opener')"):
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert page.locator(".detail").is_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Copy explanation"
    page.keyboard.press("Escape")
    assert page.locator(".detail").count() == 0
    assert page.evaluate("document.activeElement.classList.contains('opener')")


def test_values_are_text_and_never_markup(page):
    page.locator("#row-7 .opener").click()
    page.locator("#row-7").hover()
    page.locator("#detail-7 .cell").last.hover()
    assert page.evaluate("window.hacked") is None
    assert page.locator("#rows script, #rows [onmouseover], h1 b").count() == 0
    assert HOSTILE in page.inner_text("#detail-7 h3")
    assert ATTRIBUTE in page.inner_text("#detail-7 .values")
    assert HOSTILE in page.inner_text("#pattern-list")
    assert page.locator("body > script").count() == 2


def test_landmarks_names_and_labels(page):
    page.locator("#row-14 .opener").click()
    for role in ("banner", "main", "contentinfo", "search"):
        assert page.get_by_role(role).count() == 1
    assert page.get_by_role("navigation").count() == 2
    assert page.get_by_role("region", name="Anomalies", exact=True).count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    for name in ("Search", "Column involved", "Kind", "Context"):
        assert page.get_by_label(name, exact=True).count() == 1
    unnamed = page.evaluate(
        "[...document.querySelectorAll('svg')].filter(s => !s.getAttribute('aria-label')).length"
    )
    assert unnamed == 0
    assert page.locator("#rows thead th[scope=col]").count() == 6
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_in_both_schemes(open_page, sample_path, scheme):
    page = open_page(sample_path, "#row-7", color_scheme=scheme)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert dark == (scheme == "dark")
    assert page.evaluate(CONTRAST) == []


def test_a_narrow_table_is_still_a_table(open_page, sample_path):
    page = open_page(sample_path, viewport={"width": 390, "height": 800})
    table = page.get_by_role("table", name="Rows by anomaly score")
    assert table.get_by_role("row").count() == 26
    assert table.get_by_role("rowheader").count() == 25
    assert table.get_by_role("columnheader").count() == 6


@pytest.mark.parametrize("width", [320, 390, 800])
def test_fits_narrow_screens(open_page, sample_path, width):
    page = open_page(sample_path, "#row-7", viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for selector in ("#detail-7 .reason", "#rows thead", "#column-table"):
        box = page.locator(selector).first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_prints_without_controls(page):
    page.locator("#row-14 .opener").click()
    page.emulate_media(media="print")
    for selector in ("#filters", "#pager button", "#pager select", "#download", ".actions"):
        assert not page.locator(selector).first.is_visible()
    # What is on paper is not all there is.
    assert page.get_by_text("Page 1 of 5").is_visible()
    assert page.locator("#detail-14 .reason").first.is_visible()
    assert len(page.pdf()) > 10_000


def test_inside_a_notebook_the_page_is_framed(open_page, tmp_path):
    from admercs.report import Report
    from tests.report.sample import sample

    path = tmp_path / "notebook.html"
    framed = Report(sample())._repr_html_()
    path.write_text(f"<!doctype html><meta charset=utf-8>{framed}", encoding="utf-8")
    page = open_page(path)
    frame = page.frame_locator("iframe")
    frame.locator("#row-14 .opener").click()
    assert frame.locator("#detail-14 .reason").count() == 3
