"""Documentation and help that are generated from the flag tables."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from orchd.config.help import flags_markdown, usage_text
from orchd.config.options import Options
from orchd.config.table import table
from orchd.dialect import KUBERNETES, ORCH
from orchd.kinds.release import NEWEST, RELEASES

DOCS = Path(__file__).resolve().parents[2] / "docs" / "flags.md"


def test_documentation_is_current() -> None:
    """docs/flags.md equals the output of `python -m orchd.config`."""
    if not DOCS.exists():
        pytest.skip("docs/flags.md is not there")
    assert DOCS.read_text() == flags_markdown(table())


def test_every_flag_is_documented() -> None:
    """The documentation lists every flag, and whether it can have an effect."""
    text = flags_markdown(table())
    for flag in table():
        line = next(line for line in text.splitlines() if line.startswith(f"| `--{flag.spelled()}` |"))
        assert ("Can have no effect" in line) is bool(flag.void)
        assert ("Only in a separate process" in line) is flag.separate


def test_help_follows_the_dialect() -> None:
    """--help spells names as the chosen dialect does, within the requested width."""
    for dialect in (ORCH, KUBERNETES):
        text = usage_text(table(), dialect, 72)
        assert f"--{dialect('{long}-service-node-port')}=int" in text
        assert "{" not in text
        assert max(map(len, text.splitlines())) < 110


def test_help_names_the_defaults_of_both_dialects() -> None:
    """A default that differs between the dialects is given for both, in the help and in docs/flags.md."""
    newest = NEWEST.name
    assert f"(default 1.23, with --dialect=kubernetes {newest})" in " ".join(usage_text(table(), ORCH, 80).split())
    assert f"(default {newest}, with --dialect=orch 1.23)" in " ".join(usage_text(table(), KUBERNETES, 80).split())
    assert f"| `1.23`, with `--dialect=kubernetes` `{newest}` |" in flags_markdown(table())


def test_help_into_a_closed_pipe_ends_quietly() -> None:
    """When the reader of the help, such as `head`, has ended, the process ends without a traceback."""
    program = (
        "import sys; from orchd.config.options import Options; sys.stdin.read(); Options().parseOptions(['--help'])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert process.communicate(b"")[1] == b"" and process.returncode == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints the versions of the program and of the API and exits with status 0; --version=false does
    nothing."""
    with pytest.raises(SystemExit) as ended:
        Options().parseOptions(["--version"])
    assert ended.value.code == 0
    assert re.fullmatch(
        r"orchd \d+\.\d+\.\d+\S*, API releases " + re.escape(", ".join(RELEASES)) + "\n", capsys.readouterr().out
    )
    Options().parseOptions(["--version=false", "--data-dir=d"])
    assert capsys.readouterr().out == ""
