"""What commands read from files and URLs, and warnings."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from tests.ctl.ctl_runner import Ctl

SESSION = Session(lambda session, work: None, {}, lambda text: None)


def test_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A text is that of a file, of a URL, or of standard input."""
    (tmp_path / "f").write_text("é")
    monkeypatch.setattr("sys.stdin", io.StringIO("input"))
    asked: list[Any] = []

    def respond(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(b"\xff response")

    monkeypatch.setattr(urllib.request, "urlopen", respond)
    texts = [SESSION.read(name) for name in (str(tmp_path / "f"), "-", "http://a/b", "https://a/b")]
    assert texts == ["é", "input", "\ufffd response", "\ufffd response"]
    assert asked == ["http://a/b", "https://a/b"]
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: io.BytesIO(bytes(64 * 1024 * 1024)))
    assert len(SESSION.read("http://a")) == 64 * 1024 * 1024


def test_texts_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xff")
    outcomes: list[Any] = [
        urllib.error.URLError("refused"),
        ValueError("no host"),
        io.BytesIO(bytes(64 * 1024 * 1024 + 1)),
    ]

    def respond(url: str, timeout: float) -> io.BytesIO:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        response: io.BytesIO = outcome
        return response

    monkeypatch.setattr(urllib.request, "urlopen", respond)
    for name, says in (
        (str(tmp_path / "f"), "f: not UTF-8 text"),
        (str(tmp_path / "none"), "none: No such file or directory: check the path"),
        ("http://a", "http://a: refused: check the URL"),
        ("http://a", "http://a: no host: check the URL"),
        ("http://a", "http://a: more than 67108864 bytes: fetch it into a file"),
    ):
        with pytest.raises(CommandError, match=says):
            SESSION.read(name)


def test_raw_requests(ctl: Ctl) -> None:
    """A path may have a query; the response is printed as it is, with one line break."""
    assert ctl("get", "--raw=/healthz?x=").out == "ok\n"
    body = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}'
    path = "/api/v1/namespaces/default/configmaps"
    out = ctl("create", f"--raw={path}?dryRun=All", "-f", "-", send=body).out
    assert out.startswith("{") and out.endswith("}\n") and '"name":"m"' in out
    assert 'configmaps "m" not found' in ctl("get", "cm/m", status=1).error
    assert "--raw=api: a path begins with /" in ctl("get", "--raw=api", status=1).error
    assert (
        "/healthz: the server's response is not JSON"
        in ctl("create", "--raw=/healthz", "-f", "-", send=body, status=1).error
    )
