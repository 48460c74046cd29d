"""A browser for a session, a server for a module, and the page of a test. Without a browser the tests are skipped."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from orchd.dialect import DIALECTS, KUBERNETES, Dialect
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess
from tests.ui.page import STEP, Page

TOKENS = 'admin-token,root,root-uid,"system:masters"\nfew-token,few,few-uid,"guests"\n'


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    program = shutil.which("chromedriver")
    if browser is None or program is None:
        pytest.skip("no chromium with chromedriver here")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    # The server's certificate is of an authority that no browser knows. Sandboxes need rights that test machines lack.
    for each in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--ignore-certificate-errors",
    ):
        options.add_argument(each)
    # A page that was left would keep its watches, and with them connections, of which there are six to a server, for a
    # minute.
    options.add_argument("--disable-back-forward-cache")
    options.add_argument("--window-size=1280,800")
    # The page asks before it is left with text that is not stored.
    options.unhandled_prompt_behavior = "accept"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(program))
    # Only a hang takes that long. Selenium's own limit for scripts is 30 s.
    chrome.set_page_load_timeout(PATIENCE)
    chrome.set_script_timeout(PATIENCE)
    yield chrome
    chrome.quit()


@contextmanager
def _running(folder: Path, *flags: str, dialect: Dialect) -> Iterator[DaemonProcess]:
    tokens = folder / "tokens.csv"
    tokens.write_text(TOKENS)
    with DaemonProcess(folder, f"--token-auth-file={tokens}", *flags, dialect=dialect) as process:
        yield process


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """The server of modules whose tests keep to objects of their own: with two simulated nodes, of the stock
    dialect."""
    with _running(tmp_path_factory.mktemp("ui"), "--simulated-nodes=2", dialect=KUBERNETES) as process:
        yield process


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A running server: the shared one, or one of the module's own with its `FLAGS` or one of its `DIALECT_NAMES`."""
    flags = getattr(request.module, "FLAGS", None)
    dialect = DIALECTS[getattr(request, "param", KUBERNETES.name)]
    if flags is None and dialect is KUBERNETES:
        yield request.getfixturevalue("shared_server")
    else:
        with _running(tmp_path_factory.mktemp("ui"), *(flags or ()), dialect=dialect) as process:
            yield process


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = getattr(metafunc.module, "DIALECT_NAMES", None)
    if names and "server" in metafunc.fixturenames:
        metafunc.parametrize("server", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def window(driver: Any, server: DaemonProcess) -> Iterator[Any]:
    """The browser, which leaves the page before its server ends."""
    yield driver
    driver.get("about:blank")


@pytest.fixture
def page(window: Any, server: DaemonProcess) -> Iterator[Page]:
    """The page, not signed in. Afterwards the browser must have complained of nothing: no error, no violated policy."""
    page = Page(window, server)
    page.load()
    yield page
    complaints = [each["message"] for each in window.get_log("browser") if not _expected(each)]
    assert complaints == []


def _expected(entry: dict[str, Any]) -> bool:
    """Answers of 400 and above, and a server that is away, are noted by the browser itself."""
    return "Failed to load resource" in entry["message"] or "net::ERR_" in entry["message"]


@pytest.fixture
def namespace(server: DaemonProcess, request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own, with its service account."""
    name = f"{request.node.originalname.removeprefix('test_').replace('_', '-')[:50]}-ns"
    assert server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})[0] in (201, 409)
    end = time.monotonic() + PATIENCE
    while server.request("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default")[0] != 200:
        assert time.monotonic() < end
        time.sleep(STEP)
    return name
