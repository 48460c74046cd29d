"""The console script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("missing", "says"), [(("click",), "click not"), (("click", "rich"), "click and rich not")])
def test_missing_packages_are_named(tmp_path: Path, missing: tuple[str, ...], says: str) -> None:
    """Without the packages of the extra, the program says in one line what to install."""
    script = tmp_path / "orchctl"
    script.write_text(
        "import sys\n"
        f"class Absent:\n    def find_spec(self, name, *more):\n        if name in {missing!r}: raise ModuleNotFoundError(name)\n"
        "from importlib import util\n"
        f"find = util.find_spec\nutil.find_spec = lambda name, *more: None if name in {missing!r} else find(name, *more)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from orchd.ctl.main import run\nrun()\n"
    )
    ran = subprocess.run(
        [sys.executable, str(script), "get", "pods"], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert (ran.returncode, ran.stderr) == (1, f"{script}: {says} installed: pip install 'orchd[cli]'\n")


def test_http_2_is_not_imported() -> None:
    """twisted.web leaves out what the client does not use."""
    script = (
        "import sys\nfrom orchd.ctl.main import run\ntry:\n    run()\nfinally:\n"
        "    from twisted.web import client, http\n    print(http.H2_ENABLED, 'h2' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, "version", "--client"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "False False"), ran.stderr
