"""Static files of the web page."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from orchd.errors import ApiError
from orchd.server.ui.files import ROOT, page_files
from tests.server.pipeline.test_headers import ask

FILES = page_files()
SCRIPTS = sorted(path for path in FILES if path.endswith(".js"))


def test_every_static_file_is_served() -> None:
    """Every file is served under its name with its type; the root serves index.html."""
    names = {entry.name for entry in resources.files("orchd.server.ui").joinpath("static").iterdir()}
    assert {f"{ROOT}/{name}" for name in names} | {f"{ROOT}/"} == set(FILES)
    assert FILES[f"{ROOT}/"] is FILES[f"{ROOT}/index.html"]
    assert FILES[f"{ROOT}/main.js"].content_type == "text/javascript; charset=utf-8"


def test_matching_etag_is_304() -> None:
    """A matching Etag is 304, also as a weak one in a list; another Etag gets the file."""
    file = FILES[f"{ROOT}/main.js"]
    for tag in (file.etag, f'"other", W/{file.etag}', "*"):
        response = file.respond(ask(if_none_match=tag))
        assert (response.code, response.body) == (304, b"")
    assert file.respond(ask(if_none_match='"other"')).code == 200


def test_files_are_read_only() -> None:
    """Methods other than GET and HEAD are rejected."""
    with pytest.raises(ApiError) as caught:
        FILES[f"{ROOT}/"].respond(ask("POST"))
    assert caught.value.code == 405


def test_security_headers() -> None:
    """The content policy allows only own scripts and styles, no inline code, and no framing by other pages."""
    headers = dict(FILES[f"{ROOT}/"].respond(ask()).headers)
    policy = headers["Content-Security-Policy"]
    assert (
        policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        and "frame-ancestors 'none'" in policy
    )
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"


def test_no_code_or_style_inside_the_page() -> None:
    """The document has no inline script, style or handler."""
    text = FILES[f"{ROOT}/"].body.decode()
    assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|javascript:", text) == []


@pytest.mark.parametrize("path", SCRIPTS)
def test_scripts_parse_no_markup_and_load_nothing_from_elsewhere(path: str) -> None:
    """No script uses an API that parses markup or code from text, or a URL of another server."""
    text = FILES[path].body.decode()
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\('style'|localStorage|document\.cookie"
    if path == "/ui/side_list.js":
        # Which resources are favourites, and which groups are open: nothing of the cluster, and no credentials.
        assert "oken" not in text
        text = text.replace("localStorage.getItem(KEY)", "").replace("localStorage.setItem(KEY, ", "")
    assert re.findall(forbidden, text) == []
    assert [url for url in re.findall(r"https?://[^'\" ]+", text) if url != "http://www.w3.org/2000/svg"] == []
    for module in re.findall(r"from '([^']+)'", text):
        assert f"{ROOT}/{module.removeprefix('./')}" in FILES
