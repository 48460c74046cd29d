"""The admission plugin of docs/extending/admission-plugin.md, dropped into a server."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import orchd.plugins
from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.testing.doubles.server import InProcessServer, make_server, run

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = (ROOT / "docs" / "examples" / "admission_plugin.py").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "extending" / "admission-plugin.md").read_text(encoding="utf-8")
PODS = ResourceRef("", "v1", "pods")
FLAGS = ("--enable-admission-plugins=TeamLabel", "--disable-admission-plugins=ServiceAccount")


@pytest.fixture(autouse=True)
def dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "dropped"
    folder.mkdir()
    (folder / "drop_in_team_label.py").write_text(EXAMPLE)
    monkeypatch.setattr(orchd.plugins, "__path__", [*orchd.plugins.__path__, str(folder)])


def create(server: InProcessServer, name: str, **labels: str) -> dict[str, Any]:
    pod = {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    stored_pod: dict[str, Any] = run(server.client().create(PODS, "default", pod))
    return stored_pod


def test_example_refuses_pods_without_the_label(tmp_path: Path) -> None:
    """Without a default, a pod without the label is rejected with a Status."""
    server = make_server(tmp_path / "data", *FLAGS)
    assert create(server, "a", team="blue")["metadata"]["labels"] == {"team": "blue"}
    with pytest.raises(ApiError) as refused:
        create(server, "b")
    assert (refused.value.code, refused.value.message) == (403, 'pods "b" is forbidden: the label team is required')
    server.stop()


def test_example_follows_the_documented_configuration(tmp_path: Path) -> None:
    """With the configuration of the page the default is set; an invalid field fails the start, and the error names the
    plugin."""
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    file = tmp_path / "admission.yaml"
    file.write_text(example[1])
    flag = f"--admission-control-config-file={file}"
    server = make_server(tmp_path / "data", *FLAGS, flag)
    assert create(server, "a")["metadata"]["labels"] == {"team": "platform"}
    server.stop()
    file.write_text(example[1].replace("default:", "defualt:"))
    with pytest.raises(
        ValueError,
        match=rf"^--admission-control-config-file: {file}: plugins\[0\].configuration: TeamLabel: unknown field defualt",
    ):
        make_server(tmp_path / "other", *FLAGS, flag)


def test_misspelled_subresource_ends_the_start(tmp_path: Path) -> None:
    """A plugin for a subresource that is named behind the group would never run."""
    text = EXAMPLE.replace('("pods",)', '("deployments.apps/scale",)')
    (tmp_path / "dropped" / "drop_in_team_label.py").write_text(text)
    sys.modules.pop("orchd.plugins.drop_in_team_label", None)
    with pytest.raises(ValueError, match=r"^TeamLabel: resources: .*deployments/scale.apps"):
        make_server(tmp_path / "data", *FLAGS)
