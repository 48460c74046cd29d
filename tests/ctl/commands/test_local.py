"""Commands that need no server: ``convert``, ``completion``, ``store``."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from orchd import storecommands
from orchd.ctl.commands import store
from orchd.ctl.program import cli
from tests.ctl.ctl_runner import Ctl

HPA = """
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: h}
spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: w}, targetCPUUtilizationPercentage: 50}
"""


def test_convert_between_built_in_versions(ctl: Ctl) -> None:
    """Built-in kinds are converted locally; the error for an unknown version lists the existing ones."""
    done = yaml.safe_load(ctl("convert", "-f", "-", "--output-version=v2", send=HPA).out)
    assert done["apiVersion"] == "autoscaling/v2"
    assert done["spec"]["metrics"][0]["resource"]["target"] == {"averageUtilization": 50, "type": "Utilization"}
    assert "status" not in done
    assert "autoscaling/v2beta2" in ctl("convert", "-f", "-", "--output-version=v9", status=1, send=HPA).error


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("apiVersion: v1, kind: ConfigMap, metadata: {name: m}", "v1"),
        ("apiVersion: autoscaling/v2beta2, kind: HorizontalPodAutoscaler, metadata: {name: h}", "autoscaling/v2"),
        ("apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: e}", "events.k8s.io/v1"),
        ("apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: c}", "scheduling.k8s.io/v1"),
        # The preferred version of the group, v1, does not have the kind.
        ("apiVersion: storage.k8s.io/v1beta1, kind: CSIStorageCapacity, metadata: {name: c}", "storage.k8s.io/v1beta1"),
    ],
)
def test_versions_that_objects_are_converted_to(ctl: Ctl, text: str, version: str) -> None:
    """Without --output-version that is the preferred one of the group; nothing is added to the object."""
    obj = yaml.safe_load(f"{{{text}}}")
    done = yaml.safe_load(ctl("convert", "-f", "-", send=f"{{{text}}}").out)
    assert (done["apiVersion"], done["metadata"]) == (version, obj["metadata"])


def test_annotations_tell_whose_names_a_converted_object_has(ctl: Ctl) -> None:
    """Kinds of groups that both dialects have are converted with the names of that of their annotations, by default
    with those of stock clients."""
    for long in "kubernetes", "orch":
        note = (
            f'{{autoscaling.alpha.{long}.io/metrics: \'[{{"type": "Resource", "resource": {{"name": "memory"}}}}]\'}}'
        )
        text = HPA.replace("{name: h}", f"{{name: h, annotations: {note}}}")
        done = yaml.safe_load(ctl("convert", "-f", "-", send=text).out)
        assert [metric["resource"]["name"] for metric in done["spec"]["metrics"]] == ["memory", "cpu"]
        assert "annotations" not in done["metadata"]
    budget = "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {selector: {}}}"
    (requirement,) = yaml.safe_load(ctl("convert", "-f", "-", send=budget).out)["spec"]["selector"]["matchExpressions"]
    assert requirement["key"] == "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"


def test_completion_scripts_for_every_shell(ctl: Ctl) -> None:
    """Each shell has a script, which the program answers."""
    for shell in ("bash", "zsh", "fish"):
        assert "_ORCHCTL_COMPLETE" in ctl("completion", shell).out
    done = CliRunner().invoke(
        cli,
        [],
        prog_name="orchctl",
        env={"_ORCHCTL_COMPLETE": "bash_complete", "COMP_WORDS": "orchctl roll", "COMP_CWORD": "1"},
    )
    assert done.output == "plain,rollout\n"


def test_versions(ctl: Ctl) -> None:
    """Of the program and, unless --client is set, of the server; as text or as a document."""
    client, server = ctl("version").lines
    assert client.startswith("Client Version: v") and server.startswith("Server Version: v")
    assert ctl("version", "--client").lines == [client]
    assert set(yaml.safe_load(ctl("version", "-o", "yaml").out)) == {"clientVersion", "serverVersion"}
    document = json.loads(ctl("version", "--client", "-o", "json").out)
    version = document.pop("clientVersion")
    assert (document, version["gitVersion"], version["compiler"]) == (
        {},
        client.removeprefix("Client Version: "),
        "cpython",
    )
    assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")


@pytest.mark.parametrize(("ended", "status"), [(0, 0), (1, 1), (3, 1)])
@pytest.mark.parametrize("terminal", [False, True])
def test_progress_of_store_commands(monkeypatch: pytest.MonkeyPatch, ended: int, status: int, terminal: bool) -> None:
    """The words are those of orchd-store, which shows its progress at a terminal only."""

    def command(words: list[str], progress: Any = None) -> int:
        assert words == ["backup", "--data-dir=x", "file"] and (progress is not None) is terminal
        if progress is not None:
            progress.say("half way")
            progress.progress(1, 2)
        return ended

    monkeypatch.setattr(storecommands, "main", command)
    monkeypatch.setattr(store, "sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: terminal)))
    ran = CliRunner().invoke(cli, ["store", "backup", "--data-dir=x", "file"])
    assert ran.exit_code == status and ("half way\n" in ran.stderr) is terminal


def test_store_commands_pass_the_exit_status_on(ctl: Ctl, tmp_path: Path) -> None:
    """The commands of orchd-store are available, with their exit status."""
    with pytest.raises(AssertionError, match="orchd-store: "):
        ctl("store", "check", f"--data-dir={tmp_path}")
