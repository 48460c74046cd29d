"""The built-in plugins, where releases differ."""

from __future__ import annotations

import pytest

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST, SPECIFICATION
from tests.server.admission.conftest import World

#: Classes, the mark of default ones, and what gets them.
CLASSES = [
    ("storage.{abbr}.io", "storageclasses", "storageclass", "", "persistentvolumeclaims", "storageClassName"),
    ("networking.{abbr}.io", "ingressclasses", "ingressclass", "networking.{abbr}.io", "ingresses", "ingressClassName"),
]


@pytest.mark.parametrize(("class_group", "classes", "mark", "group", "plural", "member"), CLASSES)
def test_several_default_classes(
    world: type[World], class_group: str, classes: str, mark: str, group: str, plural: str, member: str
) -> None:
    """The release of the specification refuses objects; later ones take the newest class, and the first by name of equally old ones."""
    for release in (SPECIFICATION, NEWEST):
        w = world(release=release)
        marks = {ORCH(f"{mark}.{{long}}.io/is-default-class"): "true"}
        for name, created in (
            ("a", "2026-01-01T00:00:00Z"),
            ("c", "2026-01-02T00:00:00Z"),
            ("b", "2026-01-02T00:00:00Z"),
        ):
            metadata = {"name": name, "annotations": marks, "creationTimestamp": created}
            w.put(classes, {"metadata": metadata}, class_group)
        new: Object = {"metadata": {"name": "x"}, "spec": {}}
        if release is SPECIFICATION:
            assert "3 default" in w.refusal(plural, new, group=group).message
        else:
            assert w.run(plural, new, group=group)["spec"][member] == "b"


@pytest.mark.parametrize(
    ("labels", "warned"),
    [
        ({"enforce": "restricted"}, "restricted:latest"),
        ({"enforce": "restricted", "enforce-version": "v1.30"}, "restricted:v1.30"),
        ({"enforce": "restricted", "enforce-version": "v1.30", "warn-version": "v1.29"}, "restricted:v1.29"),
        ({"enforce": "restricted", "warn": "privileged"}, ""),
        ({"enforce": "unknown"}, ""),
        ({"audit": "restricted"}, ""),
        ({"audit": "unknown"}, ""),
    ],
)
def test_enforced_pod_security_warns_of_controllers(world: type[World], labels: dict[str, str], warned: str) -> None:
    """Release 1.35 warns by the enforced level where no level of warnings is set."""
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    deployment: Object = {"metadata": {"name": "d"}, "spec": {"template": template}}
    for release in (SPECIFICATION, NEWEST):
        w = world(only=["PodSecurity"], release=release)
        w.namespace("ns", {ORCH(f"pod-security.{{long}}.io/{name}"): value for name, value in labels.items()})
        w.run("deployments", deployment, group="apps")
        expected = warned if release is NEWEST else ""
        assert [text.partition('"')[2].partition('"')[0] for text in w.warnings] == [expected] * bool(expected)
        assert not [note for note in w.notes if "audit-violations" in note] or labels == {"audit": "restricted"}
