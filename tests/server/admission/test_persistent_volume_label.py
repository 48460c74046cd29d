"""PersistentVolumeLabel without a cloud provider."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from tests.server.admission.conftest import World

ZONE, REGION = ORCH("topology.{long}.io/zone"), ORCH("topology.{long}.io/region")
BETA = tuple(ORCH(f"failure-domain.beta.{{long}}.io/{k}") for k in ("zone", "region"))
MADE = {ORCH("pv.{long}.io/provisioned-by"): "x"}


def volume(labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": "v", "labels": labels or {}, "annotations": annotations or {}}, "spec": spec}


@pytest.fixture
def chain(world: type[World]) -> Any:
    return world(only=["PersistentVolumeLabel"])


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"awsElasticBlockStore": {"volumeID": "a"}}, "AWS EBS volume a: unable to build AWS cloud provider for EBS"),
        ({"gcePersistentDisk": {"pdName": "a"}}, "GCE PD volume a: unable to build GCE cloud provider for PD"),
        ({"azureDisk": {"diskName": "a"}}, "AzureDisk volume a: unable to build Azure cloud provider for AzureDisk"),
        ({"vsphereVolume": {"volumePath": "a"}}, "vSphere Volume a: unable to build vSphere cloud provider"),
    ],
)
def test_cloud_volume_without_labels_is_refused(spec: Any, text: str, chain: Any) -> None:
    """A cloud volume without trusted labels is rejected; the message names the cloud."""
    error = chain.refusal("persistentvolumes", volume({ZONE: "a", REGION: "b"}, **spec))
    assert error.code == 403
    assert error.message == f'persistentvolumes "v" is forbidden: error querying {text}'


@pytest.mark.parametrize(
    "spec", [{"nfs": {}}, {"hostPath": {}}, {"gcePersistentDisk": {"pdName": "placeholder-for-provisioning"}}]
)
def test_other_volumes_are_unchanged(spec: Any, chain: Any) -> None:
    """Volumes that are not a cloud's, and those that are being provisioned, are unchanged."""
    assert chain.run("persistentvolumes", volume(**spec)) == volume(**spec)


@pytest.mark.parametrize("keys", [(ZONE, REGION), BETA])
def test_provisioner_labels_become_node_affinity(keys: Any, chain: Any) -> None:
    """Labels of a provisioned volume are trusted and become its node affinity, zones with several values."""
    labels = dict(zip(keys, ("b__a", "r"), strict=True))
    stored_volume = chain.run("persistentvolumes", volume(labels, MADE, awsElasticBlockStore={"volumeID": "a"}))
    expected = [
        {"key": keys[0], "operator": "In", "values": ["a", "b"]},
        {"key": keys[1], "operator": "In", "values": ["r"]},
    ]
    assert stored_volume["spec"]["nodeAffinity"] == {
        "required": {"nodeSelectorTerms": [{"matchExpressions": expected}]}
    }


def test_existing_zone_affinity_is_kept(chain: Any) -> None:
    """A node affinity that has one of the keys is not changed."""
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}]}}
    given = volume({ZONE: "a", REGION: "r"}, MADE, nodeAffinity=affinity)
    assert chain.run("persistentvolumes", given) == given


def test_empty_zone_label_is_refused(chain: Any) -> None:
    """A zone label without a zone is rejected."""
    error = chain.refusal("persistentvolumes", volume({ZONE: "", REGION: "r"}, MADE))
    assert error.message.endswith("failed to convert label string for Zone:  to a Set")
