"""The tracing configuration without its optional dependency."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from orchd.dialect import ORCH
from orchd.testing.doubles.server import make_server


def test_missing_tracing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the flag and the package to install."""
    head = {"apiVersion": ORCH("apiserver.config.{abbr}.io/v1"), "kind": "TracingConfiguration"}
    path = tmp_path / "tracing.json"
    path.write_text(json.dumps(head))
    monkeypatch.setitem(sys.modules, "orchd.server.tracing.telemetry", None)
    with pytest.raises(
        ValueError, match=r"--tracing-config-file: needs the OpenTelemetry library \(install orchd\[tracing\]\)"
    ):
        make_server(tmp_path / "server", f"--tracing-config-file={path}")
