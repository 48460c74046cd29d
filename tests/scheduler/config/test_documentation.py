"""The examples of docs/scheduler-configuration.md are valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchd.dialect import ORCH
from orchd.scheduler.config.loading import load

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "scheduler-configuration.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_documented_examples_are_valid(example: str) -> None:
    """Each example is a valid configuration."""
    config = load(example.encode(), ORCH)
    assert config.extenders or len(config.profiles) > 1
