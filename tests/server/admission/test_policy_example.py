"""The plugin of docs/extending/policy.md, dropped into a server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import orchd.plugins
from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.testing.doubles.server import InProcessServer, make_server, run

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = (ROOT / "docs" / "examples" / "policy_plugin.py").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "extending" / "policy.md").read_text(encoding="utf-8")
PODS = ResourceRef("", "v1", "pods")
FLAGS = ("--enable-admission-plugins=ImagePolicy", "--disable-admission-plugins=ServiceAccount")


def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str] = ("", "")) -> InProcessServer:
    """A server with the plugin and the configuration of the page, in which a text may be replaced."""
    folder = tmp_path / "dropped"
    folder.mkdir()
    (folder / "drop_in_image_policy.py").write_text(EXAMPLE)
    monkeypatch.setattr(orchd.plugins, "__path__", [*orchd.plugins.__path__, str(folder)])
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    file = tmp_path / "admission.yaml"
    file.write_text(example[1].replace(*change) if change[0] else example[1])
    return make_server(tmp_path / "data", *FLAGS, f"--admission-control-config-file={file}")


def create(server: InProcessServer, image: str, *groups: str) -> None:
    pod = {"metadata": {"generateName": "a-"}, "spec": {"containers": [{"name": "a", "image": image}]}}
    run(server.client("someone", *groups).create(PODS, "default", pod))


def test_the_expression_of_the_page_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod with another image is rejected with the message, unless the user is allowed the verb that the expression
    asks about."""
    server = configured(tmp_path, monkeypatch)
    rules = [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods"]}]
    group = "rbac.authorization.orch.io"
    admin = server.client()
    run(admin.create(ResourceRef(group, "v1", "clusterroles"), "", {"metadata": {"name": "r"}, "rules": rules}))
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "r"}
    subjects = [{"apiGroup": group, "kind": "Group", "name": "g"}]
    binding = {"metadata": {"name": "b"}, "roleRef": role, "subjects": subjects}
    run(admin.create(ResourceRef(group, "v1", "clusterrolebindings"), "", binding))
    create(server, "registry.example/a", "g")
    create(server, "other/a")
    with pytest.raises(ApiError) as refused:
        create(server, "other/a", "g")
    assert refused.value.code == 403 and refused.value.message.endswith("images come from registry.example")
    server.stop()


def test_an_expression_that_does_not_compile_ends_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the plugin and the place in the expression."""
    with pytest.raises(
        ValueError, match=r"ImagePolicy: expression: compilation failed: ERROR: <input>:1:1: undeclared"
    ):
        configured(tmp_path, monkeypatch, ("object.spec", "subject.spec"))
