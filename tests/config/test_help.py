"""Texts made from the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchd.config.help import flags_markdown, usage_text
from orchd.config.table import table
from orchd.dialect import KUBERNETES, ORCH

DOCS = Path(__file__).resolve().parents[2] / "docs" / "flags.md"


def test_documentation_is_current() -> None:
    """docs/flags.md is what the tables say; `python -m orchd.config` writes it."""
    if not DOCS.exists():
        pytest.skip("docs/flags.md is not there")
    assert DOCS.read_text() == flags_markdown(table())


def test_every_flag_is_documented() -> None:
    """The documentation names every flag, and whether it is built."""
    text = flags_markdown(table())
    for flag in table():
        line = next(line for line in text.splitlines() if line.startswith(f"| `--{flag.spelled()}` |"))
        assert ("Not built yet" in line) is not (flag.built or flag.own or bool(flag.void))
        assert ("Only in a process of its own" in line) is (flag.own and not flag.built)


def test_help_follows_the_dialect() -> None:
    """--help spells names as the chosen dialect does, within the width asked for."""
    for dialect in (ORCH, KUBERNETES):
        text = usage_text(table(), dialect, 72)
        assert f"--{dialect('{long}-service-node-port')}=int" in text
        assert "{" not in text
        assert max(map(len, text.splitlines())) < 110
