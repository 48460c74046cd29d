"""The kind of docs/extending/kind.md is served with its module and functions in the places that the page names."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchd.kinds.builtin import groups
from orchd.testing.doubles.server import InProcessServer, make_server, run

ROOT = Path(__file__).resolve().parents[2]
BACKUPS = "/apis/backup.orch.io/v1/namespaces/default/backups"


@pytest.fixture
def server(tmp_path: Path, builtin_tables: pytest.MonkeyPatch) -> Iterator[InProcessServer]:
    spec = importlib.util.spec_from_file_location("kind_example", ROOT / "docs" / "examples" / "kind.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for place in ("builtin.backup_v1", "objects.validate.backups", "objects.tabulate.backups"):
        builtin_tables.setitem(sys.modules, f"orchd.kinds.{place}", module)
    builtin_tables.setitem(groups.MODULES, "backup/v1", "backup_v1")
    builtin_tables.setattr(groups, "GROUPS", (*groups.GROUPS, ("backup.{abbr}.io", (groups.GroupVersion("v1"),))))
    running = make_server(tmp_path)
    yield running
    running.stop()


def backup(**spec: object) -> dict[str, object]:
    return {"metadata": {"name": "a"}, "spec": {"claimName": "data", **spec}}


def test_example_is_stored_defaulted_and_validated(server: InProcessServer) -> None:
    """Defaults come from the types, validation errors from the row's functions, generation and status from the row."""
    response = run(server.request("POST", BACKUPS, body=backup()))
    assert response.code == 201 and response.json["spec"] == {"claimName": "data", "copies": 3}
    assert response.json["metadata"]["generation"] == 1
    wrong = run(server.request("POST", BACKUPS, body={"metadata": {"name": "b"}, "spec": {"copies": -1}}))
    assert [cause["field"] for cause in wrong.json["details"]["causes"]] == ["spec.claimName", "spec.copies"]
    changed = run(server.request("PUT", f"{BACKUPS}/a", body=backup(claimName="other")))
    assert (changed.code, changed.json["details"]["causes"][0]["field"]) == (422, "spec.claimName")
    changed = run(server.request("PUT", f"{BACKUPS}/a", body=backup(copies=5)))
    assert (changed.code, changed.json["metadata"]["generation"]) == (200, 2)
    headers = {"content-type": "application/merge-patch+json"}
    status = {"spec": {"copies": 9}, "status": {"lastBackupTime": "2026-01-01T00:00:00Z"}}
    told = run(server.request("PATCH", f"{BACKUPS}/a/status", body=status, headers=headers)).json
    assert (told["spec"]["copies"], told["status"]["lastBackupTime"]) == (5, "2026-01-01T00:00:00Z")


def test_example_is_listed_selected_and_printed(server: InProcessServer) -> None:
    """Discovery, field selectors and tables are derived from the row."""
    run(server.request("POST", BACKUPS, body=backup()))
    listed = {each["name"]: each for each in run(server.request("GET", "/apis/backup.orch.io/v1")).json["resources"]}
    assert listed["backups"]["shortNames"] == ["bk"] and "backups/status" in listed
    assert run(server.request("GET", f"{BACKUPS}?fieldSelector=spec.claimName%3Dnone")).json["items"] == []
    assert run(server.request("GET", f"{BACKUPS}?fieldSelector=spec.copies%3D3")).code == 400
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.orch.io"}
    table = run(server.request("GET", f"{BACKUPS}?fieldSelector=spec.claimName%3Ddata", headers=accept)).json
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Claim", "Copies", "Age"]
    assert table["rows"][0]["cells"][:3] == ["a", "data", 3]
