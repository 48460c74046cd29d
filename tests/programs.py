"""Programs of the distribution, run to their end as forks of a process that has imported them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from orchd.testing.forking.process import ForkedProcess
from orchd.testing.processes.daemon import PATIENCE

_ROOT = Path(__file__).resolve().parents[1]


def run_program(
    entry: str, *words: str, folder: Path | None = None, environment: Mapping[str, str] | None = None, send: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the script of an entry point (``module:function``) in a process of its own. The first word is the program's
    name; `environment` is added to that of the test run, and `send` is what it reads from a pipe."""
    with tempfile.TemporaryDirectory() as scratch:
        streams = [Path(scratch) / name for name in ("in", "out", "err")]
        os.mkfifo(streams[0])
        threading.Thread(target=_write, args=(streams[0], send), daemon=True).start()
        variables = {**os.environ, "PYTHONPATH": str(_ROOT), **(environment or {})}
        program = ForkedProcess(
            entry, words, folder=folder or Path.cwd(), environment=variables,
            streams=(str(streams[0]), str(streams[1]), str(streams[2])),
        )  # fmt: skip
        try:
            status = program.wait(PATIENCE)
        finally:
            program.kill()
        return subprocess.CompletedProcess(words, status, streams[1].read_text(), streams[2].read_text())


def _write(pipe: Path, text: str) -> None:
    with suppress(BrokenPipeError):
        pipe.write_text(text)
