"""The examples of docs/testing.md are run as a reader would."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchd.testing.processes.daemon import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "testing"
#: example -> its requirements and its command
NEEDS = {
    "test_stock_client.py": "kubernetes",
    "test_twisted_service.py": "twisted",
    "test_kopf_operator.py": "kopf",
    "test_kr8s_script.py": "kr8s",
}


def test_every_example_is_on_the_page_and_run() -> None:
    """The page lists each example, and each is run here."""
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(NEEDS)
    assert set(re.findall(r"\(examples/testing/([\w.]+)\)", page)) == set(NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_examples_pass(name: str, tmp_path: Path) -> None:
    """The tests of an example pass in an otherwise empty folder."""
    if importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    shutil.copy(EXAMPLES / name, tmp_path)
    module = ("twisted.trial", Path(name).stem) if name == "test_twisted_service.py" else ("pytest", "-q", name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", *module], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout.lower()


def test_documented_program_runs(tmp_path: Path) -> None:
    """The first program of the page runs as written."""
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    block = re.search(r"\n\n((?:    .*\n|\n)*?    from orchd\.testing import Cluster\n(?:    .*\n|\n)*)", page)
    assert block is not None
    program = "\n".join(line.removeprefix("    ") for line in block.group(1).splitlines())
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
