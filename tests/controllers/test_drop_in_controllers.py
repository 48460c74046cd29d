"""Drop-in controllers: the example of docs/extending/controller.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from twisted.python.usage import UsageError

import orchd.plugins
from orchd.assembly.capabilities import capabilities
from orchd.client.interfaces import ResourceRef
from orchd.config.options import Options, from_options
from orchd.controllers.dropins import drop_ins
from orchd.controllers.objects import CONFIG_MAPS, NAMESPACES
from orchd.dialect import ORCH
from orchd.testing.doubles.server import make_server, run

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (ROOT / "docs" / "examples" / "controller.py").read_text(encoding="utf-8")
CUSTOM_EXAMPLE = (ROOT / "docs" / "examples" / "custom_kind_controller.py").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "extending" / "controller.md").read_text(encoding="utf-8")
REPORTS = ResourceRef("example.com", "v1", "reports")
BINDINGS = ResourceRef(ORCH("rbac.authorization.{abbr}.io"), "v1", "clusterrolebindings")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    dropped = tmp_path / "dropped"
    dropped.mkdir()
    monkeypatch.setattr(orchd.plugins, "__path__", [*orchd.plugins.__path__, str(dropped)])
    yield dropped


def test_documented_example_works_with_the_documented_rights(folder: Path, tmp_path: Path) -> None:
    """The drop-in runs if it is enabled by name, uses its own service account, and labels new and old ConfigMaps."""
    (folder / "drop_in_team_labels.py").write_text(EXAMPLE)
    server = make_server(tmp_path / "data", "--controllers=-*,team-labels,clusterrole-aggregation")
    client = server.client()
    binding = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert binding is not None
    run(client.create(NAMESPACES, "", {"metadata": {"name": "a", "labels": {"team": "blue"}}}))
    run(client.create(CONFIG_MAPS, "a", {"metadata": {"name": "before"}}))
    server.clock.advance(1)
    assert "labels" not in run(client.get(CONFIG_MAPS, "a", "before"))["metadata"], "it has no rights yet"
    run(client.create(BINDINGS, "", yaml.safe_load(binding[1])))
    run(client.create(CONFIG_MAPS, "a", {"metadata": {"name": "own", "labels": {"team": "red"}}}))
    for _ in range(20):
        server.clock.advance(1)
    teams = {name: run(client.get(CONFIG_MAPS, "a", name))["metadata"]["labels"]["team"] for name in ("before", "own")}
    assert teams == {"before": "blue", "own": "red"}
    server.stop()


def test_example_of_a_custom_kind(folder: Path, tmp_path: Path) -> None:
    """A server starts before the controller's kind is defined; then the controller writes its status with the
    documented rights."""
    (folder / "drop_in_reports.py").write_text(CUSTOM_EXAMPLE)
    server = make_server(tmp_path / "data", "--controllers=-*,reports")
    client = server.client()
    documents = next(
        text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "CustomResourceDefinition" in text
    )
    for document in yaml.safe_load_all(documents):
        group, version = document["apiVersion"].split("/")
        run(client.create(ResourceRef(group, version, f"{document['kind'].lower()}s"), "", document))
    server.clock.advance(1)
    report = {"apiVersion": "example.com/v1", "kind": "Report", "metadata": {"name": "a"}}
    run(client.create(REPORTS, "default", report))
    for name, of in (("one", "a"), ("two", "a"), ("three", "b")):
        run(client.create(CONFIG_MAPS, "default", {"metadata": {"name": name, "labels": {"report": of}}}))
    for _ in range(20):
        server.clock.advance(1)
    assert run(client.get(REPORTS, "default", "a"))["status"] == {"count": 2}
    run(client.delete(CONFIG_MAPS, "default", "one"))
    for _ in range(3):
        server.clock.advance(1)
    assert run(client.get(REPORTS, "default", "a"))["status"] == {"count": 1}
    server.stop()


def test_drop_ins_run_only_when_named(folder: Path, tmp_path: Path) -> None:
    """The default of --controllers enables built-in ones only; an unknown name is an error."""
    (folder / "drop_in_team_labels.py").write_text(EXAMPLE)
    for word, runs in (("*", False), ("*,team-labels", True), ("-*", False)):
        options = Options(capabilities=capabilities())
        options.parseOptions([f"--controllers={word}", f"--data-dir={tmp_path}"])
        names = from_options(options).controllers.names
        assert ("team-labels" in names, "deployment" in names) == (runs, word != "-*"), word
    with pytest.raises(UsageError, match='did you mean "team-labels"'):
        make_server(tmp_path / "other", "--controllers=team-label")


def test_drop_in_cannot_replace_a_built_in_controller(folder: Path) -> None:
    """A drop-in with the name of a built-in controller is rejected."""
    (folder / "drop_in_taken_controller.py").write_text(EXAMPLE.replace('"team-labels"', '"job"'))
    with pytest.raises(ValueError, match=r"controller 'job' of .* has a name that is taken"):
        drop_ins()


def test_invalid_factory_is_named(folder: Path) -> None:
    """The error names a module whose factory does not provide the interface."""
    (folder / "drop_in_wrong_controller.py").write_text(EXAMPLE.replace("    help = ", "    halp = "))
    with pytest.raises(ValueError, match=r"controller .*_Factory.* cannot be used: .*help"):
        drop_ins()
