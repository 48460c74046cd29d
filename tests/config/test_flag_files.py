"""The programs accept their flag files in conf/."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchd.config.component import ComponentOptions
from orchd.config.table import COMPONENTS
from orchd.dialect import ORCH

CONF = Path(__file__).resolve().parents[2] / "conf"


@pytest.mark.parametrize("name", COMPONENTS)
def test_shipped_component_flag_files_are_accepted(name: str) -> None:
    """A component accepts its flag file, also with the commented flags enabled."""
    path = CONF / f"{name}.flags"
    options = ComponentOptions(name, ORCH)
    options.parseOptions([f"--flagfile={path}"])
    assert options.component_settings().election.enabled
    text = path.read_text().replace("\n#--", "\n--")
    assert text.count("\n--") > path.read_text().count("\n--")
    whole = ComponentOptions(name, ORCH, read_file=lambda _: text)
    whole.parseOptions(["--flagfile=whole"])
    assert whole.component_settings().port.cert_file
