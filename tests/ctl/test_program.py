"""How the program ends."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from orchd.ctl import main as script
from orchd.ctl import program
from orchd.ctl.cluster import connection
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.ctl.program import main
from orchd.errors import ApiError


def _session(outcome: Exception | Callable[[], object]) -> Session:
    """Sessions of which each request ends with an error, or as a function does."""

    def connect(session: Any, work: Any) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome()

    return Session(connect, {"HOME": "/dev/null"}, lambda text: None)


@pytest.mark.parametrize(
    ("error", "status", "printed"),
    [
        (click.Abort(), 130, ""),
        (click.ClickException("a b"), 1, "orchctl: a b\n"),
        (CommandError("one", "two\nlines", status=2), 2, "orchctl: one\norchctl: two lines\n"),
        (ApiError(404, "NotFound", "no such pod"), 1, "orchctl: no such pod: check the name; api-resources lists what the server has\n"),
        (TypeError("x" * 201), 1,
         "orchctl: unexpected response of the server, or a fault of this program: TypeError: " + "x" * 200 + ": see it with -v=8\n"),
    ],
)  # fmt: skip
def test_errors(capsys: pytest.CaptureFixture[str], error: Exception, status: int, printed: str) -> None:
    """An error is a line on standard error, and a status."""
    assert main(["api-versions"], _session(error)) == status
    assert capsys.readouterr().err == printed


def test_places_of_unexpected_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """-v=8 prints the traceback."""
    for level, shown in (("7", False), ("8", True)):
        assert main(["-v", level, "api-versions"], _session(KeyError("x"))) == 1
        assert ("Traceback (most recent call last):" in capsys.readouterr().err) is shown


@pytest.mark.parametrize(
    ("words", "status", "printed"),
    [
        ("", 0, ""), ("config", 1, "orchctl: which command? See orchctl config --help\n"),
        ("nope", 1, "orchctl: no command 'nope': --help lists the commands\n"),
        ("api-versions x", 1, "orchctl: Got unexpected extra argument (x): see orchctl api-versions --help\n"),
    ],
)  # fmt: skip
def test_usage(capsys: pytest.CaptureFixture[str], words: str, status: int, printed: str) -> None:
    """The program alone prints its help; a group needs a command."""
    assert main(words.split(), _session(KeyError())) == status
    out, error = capsys.readouterr()
    assert error == printed and ("Usage: orchctl" in out) is (words in ("", "config"))


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        (BrokenPipeError(), ""),
        (OSError(28, "No space left on device"), "orchctl: output: No space left on device\n"),
        (OSError(2, "No such file", "/x"), "orchctl: /x: No such file\n"),
    ],
)
def test_output_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, error: OSError, printed: str
) -> None:
    """What standard output still holds is dropped."""
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        out.write("held")
        assert main(["api-versions"], _session(error)) == 1
    assert (tmp_path / "out").read_text() == "" and capsys.readouterr().err == printed


def test_without_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        status = main(["options"])
    assert status == 1


def test_garbage_is_collected_from_the_first_request_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was imported by then is set aside."""
    counts: list[int] = []
    monkeypatch.setattr(connection, "connect", lambda session, work: counts.append(gc.get_freeze_count()))
    gc.unfreeze()
    gc.disable()
    try:
        program._connect(_session(KeyError()), lambda api: None)  # type: ignore[arg-type, return-value]  # not called
        assert gc.isenabled() and counts[0] > 0
    finally:
        gc.enable()
        gc.unfreeze()


def test_the_console_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes the status on, runs without collecting garbage, and lets nobody import what the client does not use."""
    monkeypatch.setitem(sys.modules, "twisted.web._http2", None)
    monkeypatch.delitem(sys.modules, "twisted.web._http2")
    collecting: list[bool] = []

    def run() -> int:
        collecting.append(gc.isenabled())
        return 3

    monkeypatch.setattr(program, "main", run)
    with pytest.raises(SystemExit) as ended:
        script.run()
    gc.enable()
    assert (ended.value.code, collecting) == (3, [False])
    assert sys.modules["twisted.web._http2"] is None
    monkeypatch.setattr(script, "find_spec", lambda name: None if name == "rich" else SimpleNamespace())
    with pytest.raises(SystemExit, match="rich not installed: pip install"):
        script.run()
