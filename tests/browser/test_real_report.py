"""Reports on real tables in Chromium: the demo's, and a large one that must open quickly."""

import pytest

from admercs import ADMERCS
from admercs.cli import main
from admercs.datasets import make_electric_vehicles
from tests.report.wide import wide_table


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    assert main(["demo", "--out", str(folder), "--quiet"]) == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    table = wide_table()
    model = ADMERCS(contamination={"evidence": 0.0}).fit(table)
    path = tmp_path_factory.mktemp("large") / "large.html"
    model.report(table, rows=500, name="large").write_html(path)
    return path


def test_every_row_of_the_demo_can_be_opened(open_page, demo):
    page = open_page(demo)
    page.get_by_label("Rows per page").select_option("500")
    for opener in page.locator("#rows .opener").all():
        opener.click()
        assert page.locator(".detail .reason").count() >= 1
        # Reasons about similar rows, relations and what a text resembles have no picture.
        told = page.locator(".detail .reason").filter(has_not_text="like this one")
        assert page.locator(".detail .reason svg").count() <= told.count()
        assert "NaN" not in page.locator(".detail").inner_html()
        assert "undefined" not in page.locator(".detail").inner_html()


def test_demo_shows_wrong_values_and_what_they_should_have_been(open_page, demo):
    page = open_page(demo)
    lines = page.locator("#value-table tbody tr")
    assert lines.count() == 20
    assert "times too large?" in page.inner_text("#value-table")
    lines.locator("a").first.click()
    assert page.locator(".detail .repair").inner_text().startswith("If ")


def test_rows_of_a_context_are_shown(open_page, tmp_path):
    cars = make_electric_vehicles(0).table
    model = ADMERCS().fit(cars)
    assert model.contexts_
    model.report(cars, name="cars").write_html(tmp_path / "cars.html")
    page = open_page(tmp_path / "cars.html")
    page.get_by_role("button", name="Show these rows").first.click()
    assert "of" in page.inner_text("#count")
    assert page.locator("#rows .opener").count() > 3


def test_a_large_report_is_small_and_shows_its_first_rows(open_page, large):
    assert large.stat().st_size < 3_000_000
    page = open_page(large)
    assert page.locator("#rows .opener").count() == 25
    page.fill("#search", "category 3")
    assert page.inner_text("#count").endswith("rows")
