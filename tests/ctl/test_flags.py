"""Values of flags: durations and pairs."""

from __future__ import annotations

import pytest

from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import done_suffix, dry_query, key_values, seconds, validation_query


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("30", 30.0), ("1.5", 1.5), ("30s", 30.0), ("1m30s", 90.0), ("2h", 7200.0), ("1d", 86400.0), ("500ms", 0.5), ("-5s", -5.0), ("-2", -2.0),
        ("0", 0.0), ("1.5h0.5m", 5430.0), ("", None), ("s", None), ("5x", None), ("5 s", None), ("--5", None), ("1m30", None),
    ],
)  # fmt: skip
def test_durations(text: str, number: float | None) -> None:
    """Numbers are seconds."""
    if number is None:
        with pytest.raises(CommandError, match="is not a duration: write it as 30s, 5m or 1h30m"):
            seconds(text)
    else:
        assert seconds(text) == number


def test_pairs() -> None:
    assert key_values("a=b,,c=d=e,f=", "--f") == {"a": "b", "c": "d=e", "f": ""}
    for wrong in ("a", "=b", "a=b,c"):
        with pytest.raises(CommandError, match=f"--f={wrong}: write --f=KEY=VALUE,KEY=VALUE"):
            key_values(wrong, "--f")


def test_dry_runs() -> None:
    assert [dry_query(each) for each in ("none", "client", "server")] == [{}, {}, {"dryRun": "All"}]
    assert [done_suffix(each) for each in ("none", "client", "server")] == ["", " (dry run)", " (server dry run)"]


@pytest.mark.parametrize(
    ("word", "query"),
    [
        ("", {}),
        ("strict", {"fieldValidation": "Strict"}),
        ("warn", {"fieldValidation": "Warn"}),
        ("false", {"fieldValidation": "Ignore"}),
    ],
)
def test_validation(word: str, query: dict[str, str]) -> None:
    session = Session(lambda session, work: None, {}, lambda text: None)
    session.writing.validation = word
    assert validation_query(session) == query
