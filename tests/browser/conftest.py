"""A real browser for the report's tests: Chromium as the system's packages provide it."""

import shutil

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the browser tests need: pip install playwright"
    )
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("the browser tests need Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory):
    from admercs.report import Report
    from tests.report.sample import sample

    path = tmp_path_factory.mktemp("report") / "sample.html"
    path.write_text(Report(sample()).html(), encoding="utf-8")
    return path


@pytest.fixture
def open_page(browser):
    """Open a file in a fresh window; at the end nothing may have gone wrong or been requested."""
    contexts, complaints = [], []

    def opener(path, fragment="", **options):
        context = browser.new_context(accept_downloads=True, **options)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        address = path.as_uri()

        def asked(request):
            if request.url.split("#")[0] != address and not request.url.startswith("blob:"):
                complaints.append(f"requested {request.url}")

        def said(message):
            if message.type in ("error", "warning"):
                complaints.append(f"console: {message.text}")

        page.on("request", asked)
        page.on("console", said)
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.set_default_timeout(5000)
        page.goto(address + fragment)
        contexts.append(context)
        return page

    yield opener
    for context in contexts:
        context.close()
    assert complaints == []
