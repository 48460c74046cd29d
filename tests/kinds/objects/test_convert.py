"""Conversion of objects between versions of their kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.convert import convert, same_form
from orchd.kinds.objects.default import apply
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.shape import canonical

CATALOG = builtin_catalog(ORCH, enabled=lambda group, version, default: not group.startswith("internal."))
SETTINGS = ObjectSettings(dialect=ORCH)


def shaped(obj: dict[str, Any]) -> dict[str, Any]:
    resource = CATALOG.kind(obj["apiVersion"], obj["kind"])
    assert resource is not None
    return apply(canonical(obj, resource.type), resource, SETTINGS)


def there_and_back(obj: dict[str, Any], other: str) -> dict[str, Any]:
    return convert(convert(obj, other, CATALOG), obj["apiVersion"], CATALOG)


def test_recorded_objects_survive_their_storage_version(reference: Callable[[str], Any]) -> None:
    """An object that was stored in another version is read as the recorded server returned it."""
    checked = 0
    for example in reference("defaults")["objects"]:
        stored = example["stored"]
        resource = CATALOG.kind(stored["apiVersion"], stored["kind"])
        if resource is None or resource.storage_version == resource.api_version:
            continue
        stored = json.loads(json.dumps(stored))
        stored["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
        assert there_and_back(stored, resource.storage_version) == stored, example["id"]
        checked += 1
    assert checked >= 15


@pytest.mark.parametrize(
    "id", ["autoscaling/v2beta1/HorizontalPodAutoscaler/metrics", "autoscaling/v2/HorizontalPodAutoscaler/behavior"]
)
def test_cpu_target_comes_last_after_v1(reference: Callable[[str], Any], id: str) -> None:
    """After a conversion to v1 and back the CPU target is last, as recorded."""
    example = next(e for e in reference("defaults")["objects"] if e["id"] == id)
    result = there_and_back(shaped(example["sent"]), "autoscaling/v1")
    assert result["spec"] == example["stored"]["spec"]
    assert result["status"] == example["stored"]["status"]
    assert "annotations" not in result["metadata"]


def test_v1_keeps_other_metrics_in_annotations() -> None:
    """v1 has the CPU target; other metrics are in annotations, which later versions do not show."""
    policies = [{"type": "Pods", "value": 2, "periodSeconds": 30}]
    scaler = shaped({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a", "annotations": {"mine": "x"}},
        "spec": {
            "maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
                {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
            ],
            "behavior": {"scaleDown": {"policies": policies}, "scaleUp": {"policies": policies}},
        },
    })  # fmt: skip
    old = convert(scaler, "autoscaling/v1", CATALOG)
    assert old["spec"] == {
        "maxReplicas": 3, "minReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "targetCPUUtilizationPercentage": 60,
    }  # fmt: skip
    assert old["metadata"]["annotations"] == {
        "mine": "x",
        ORCH(
            "autoscaling.alpha.{long}.io/metrics"
        ): '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"10"}}]',
        ORCH("autoscaling.alpha.{long}.io/behavior"): (
            '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max",'
            '"Policies":[{"Type":"Pods","Value":2,"PeriodSeconds":30}]},'
            '"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max",'
            '"Policies":[{"Type":"Pods","Value":2,"PeriodSeconds":30}]}}'
        ),
    }
    assert convert(old, "autoscaling/v2beta2", CATALOG)["metadata"]["annotations"] == {"mine": "x"}


STATES = [
    ({"type": "Object", "object": {
        "describedObject": {"kind": "K", "name": "n"}, "metric": {"name": "m", "selector": {}}, "current": {"value": "1", "averageValue": "2"}}},
     {"type": "Object", "object": {
        "target": {"kind": "K", "name": "n"}, "metricName": "m", "selector": {}, "currentValue": "1", "averageValue": "2"}}),
    ({"type": "Pods", "pods": {"metric": {"name": "m", "selector": {}}, "current": {"averageValue": "2"}}},
     {"type": "Pods", "pods": {"metricName": "m", "selector": {}, "currentAverageValue": "2"}}),
    ({"type": "External", "external": {"metric": {"name": "m", "selector": {}}, "current": {"value": "1", "averageValue": "2"}}},
     {"type": "External", "external": {
        "metricName": "m", "metricSelector": {}, "currentValue": "1", "currentAverageValue": "2"}}),
    ({"type": "Resource", "resource": {"name": "memory", "current": {"averageValue": "2", "averageUtilization": 3}}},
     {"type": "Resource", "resource": {"name": "memory", "currentAverageValue": "2", "currentAverageUtilization": 3}}),
    ({"type": "ContainerResource", "containerResource": {
        "name": "memory", "container": "c", "current": {"averageValue": "2", "averageUtilization": 3}}},
     {"type": "ContainerResource", "containerResource": {
        "name": "memory", "container": "c", "currentAverageValue": "2", "currentAverageUtilization": 3}}),
]  # fmt: skip


@pytest.mark.parametrize(("state", "old"), STATES, ids=[str(state["type"]) for state, _ in STATES])
def test_metric_states_of_autoscalers(state: dict[str, Any], old: dict[str, Any]) -> None:
    """The states of metrics are flat in v2beta1, and in an annotation of v1; they survive both."""
    head = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}}
    conditions = [{"type": "ScalingActive", "status": "True", "lastTransitionTime": None}]
    counts = {"currentReplicas": 1, "desiredReplicas": 2}
    scaler = {**head, "spec": {}, "status": {**counts, "currentMetrics": [state], "conditions": conditions}}
    beta = convert(scaler, "autoscaling/v2beta1", CATALOG)
    assert beta["status"] == {**counts, "currentMetrics": [old], "conditions": conditions}
    assert convert(beta, "autoscaling/v2", CATALOG)["status"] == scaler["status"]
    first = convert(scaler, "autoscaling/v1", CATALOG)
    notes = {ORCH(f"autoscaling.alpha.{{long}}.io/{key}") for key in ("conditions", "current-metrics")}
    assert first["status"] == counts and set(first["metadata"]["annotations"]) == notes
    assert convert(first, "autoscaling/v2", CATALOG)["status"] == scaler["status"]


@pytest.mark.parametrize(
    ("type", "member", "value"),
    [("Object", "object", "currentValue"), ("External", "external", "currentValue"),
     ("Resource", "resource", "currentAverageValue"), ("ContainerResource", "containerResource", "currentAverageValue")],
)  # fmt: skip
def test_states_without_a_value_are_zero_in_old_versions(type: str, member: str, value: str) -> None:
    head = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {}}
    state = {"type": type, member: {"current": {}}}
    beta = convert({**head, "status": {"currentMetrics": [state]}}, "autoscaling/v2beta1", CATALOG)
    assert beta["status"]["currentMetrics"][0][member][value] == "0"


def test_the_share_of_a_cpu_is_a_member_of_v1() -> None:
    """The state of the CPU is in a member as well, and the only state where there is no annotation."""
    state = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7, "averageValue": "1"}}}
    head = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {}}
    first = convert({**head, "status": {"currentMetrics": [state]}}, "autoscaling/v1", CATALOG)
    assert first["status"]["currentCPUUtilizationPercentage"] == 7
    share = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7}}}
    assert convert({**first, "metadata": {}}, "autoscaling/v2", CATALOG)["status"]["currentMetrics"] == [share]


def test_unreadable_annotations_are_ignored() -> None:
    """Invalid annotations do not make reads fail."""
    for text in ("{", "[5]", '[{"type":7}]', "{}"):
        note = {ORCH("autoscaling.alpha.{long}.io/metrics"): text, ORCH("autoscaling.alpha.{long}.io/behavior"): text}
        old = shaped({
            "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"annotations": note},
            "spec": {"targetCPUUtilizationPercentage": 7},
        })  # fmt: skip
        new = convert(old, "autoscaling/v2", CATALOG)
        target = {"type": "Utilization", "averageUtilization": 7}
        assert new["spec"]["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def test_the_first_share_of_a_cpu_remains_in_v1() -> None:
    """The spec of v1 has one share of a CPU: those after the first are lost, and stand in no annotation."""
    share = [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": value}},
        }
        for value in (50, 60)
    ]
    new = shaped(
        {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {"metrics": share}}
    )
    old = convert(new, "autoscaling/v1", CATALOG)
    assert old["spec"]["targetCPUUtilizationPercentage"] == 50 and "annotations" not in old["metadata"]
    assert convert(old, "autoscaling/v2", CATALOG)["spec"]["metrics"] == share[:1]


def test_empty_selectors_keep_their_meaning() -> None:
    """An empty selector matches everything in v1 and nothing in v1beta1; conversion distinguishes them."""

    def budget(version: str, selector: Any) -> dict[str, Any]:
        return shaped(
            {
                "apiVersion": f"policy/{version}",
                "kind": "PodDisruptionBudget",
                "metadata": {},
                "spec": {"selector": selector},
            }
        )

    key = ORCH("pdb.{long}.io/deprecated-v1beta1-empty-selector-match")
    everything, nothing = budget("v1", {}), budget("v1beta1", {})
    old, new = convert(everything, "policy/v1beta1", CATALOG), convert(nothing, "policy/v1", CATALOG)
    assert old["spec"]["selector"] == {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}
    assert new["spec"]["selector"] == {"matchExpressions": [{"key": key, "operator": "Exists"}]}
    assert convert(old, "policy/v1", CATALOG) == everything
    assert convert(new, "policy/v1beta1", CATALOG) == nothing
    unset = budget("v1", None)
    assert there_and_back(unset, "policy/v1beta1") == unset


def test_events_fields_are_renamed_between_groups() -> None:
    """Events of the events group are those of the core group with other field names."""
    event = shaped({
        "apiVersion": ORCH("events.{abbr}.io/v1"), "kind": "Event", "metadata": {"name": "e"},
        "eventTime": "2020-01-01T00:00:00.000000Z", "note": "n", "regarding": {"name": "p"}, "reportingController": "c",
        "series": {"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000000Z"},
    })  # fmt: skip
    core = convert(event, "v1", CATALOG)
    assert core["message"] == "n"
    assert core["involvedObject"] == {"name": "p"}
    assert core["reportingComponent"] == "c"
    assert core["source"] == {}
    assert convert(core, ORCH("events.{abbr}.io/v1beta1"), CATALOG) == {
        **event,
        "apiVersion": ORCH("events.{abbr}.io/v1beta1"),
    }


def test_topology_labels_become_zone_and_node_name() -> None:
    """Zone and node name are taken from the topology labels; the others become deprecatedTopology."""
    labels = {ORCH("topology.{long}.io/zone"): "z", ORCH("{long}.io/hostname"): "n", "x": "y"}
    old = shaped({
        "apiVersion": ORCH("discovery.{abbr}.io/v1beta1"), "kind": "EndpointSlice", "metadata": {}, "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "nodeName": "n", "topology": labels}], "ports": [],
    })  # fmt: skip
    new = convert(old, ORCH("discovery.{abbr}.io/v1"), CATALOG)
    assert new["endpoints"] == [
        {"addresses": ["10.0.0.1"], "nodeName": "n", "zone": "z", "deprecatedTopology": {"x": "y"}, "conditions": {}}
    ]
    assert convert(new, old["apiVersion"], CATALOG) == old


def test_runtime_class_spec_is_flattened() -> None:
    """v1alpha1 has a spec whose fields later versions have at the top level."""
    old = shaped({
        "apiVersion": ORCH("node.{abbr}.io/v1alpha1"), "kind": "RuntimeClass", "metadata": {},
        "spec": {"runtimeHandler": "h", "overhead": {"podFixed": {"cpu": "1"}}},
    })  # fmt: skip
    new = convert(old, ORCH("node.{abbr}.io/v1"), CATALOG)
    assert (new["handler"], new["overhead"], "spec" in new) == ("h", {"podFixed": {"cpu": "1"}}, False)
    assert convert(new, old["apiVersion"], CATALOG) == old


def test_identical_versions_share_the_content() -> None:
    """Only apiVersion changes; the rest of the tree is shared."""
    job = shaped({"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {}, "spec": {"schedule": "* * * * *"}})
    other = convert(job, "batch/v1", CATALOG)
    assert other == {**job, "apiVersion": "batch/v1"}
    assert other["spec"] is job["spec"]
    assert same_form("CronJob", "batch/v1", "batch/v1beta1", CATALOG)
    assert not same_form("Event", "v1", ORCH("events.{abbr}.io/v1"), CATALOG)
    assert same_form("Event", ORCH("events.{abbr}.io/v1"), ORCH("events.{abbr}.io/v1"), CATALOG)


# --- properties ---------------------------------------------------------------------------------

names = st.text("abc", min_size=1, max_size=3)
amounts = st.integers(1, 5000).map(str).map(lambda text: text if not text.endswith("000") else text + "1")
selectors = st.none() | st.fixed_dictionaries({"matchLabels": st.dictionaries(names, names, min_size=1)})
identifiers = st.builds(lambda n, s: {"name": n} if s is None else {"name": n, "selector": s}, names, selectors)
references = st.fixed_dictionaries({"kind": names, "name": names})
values = st.builds(lambda v: {"type": "Value", "value": v}, amounts)
averages = st.builds(lambda v: {"type": "AverageValue", "averageValue": v}, amounts)
shares = st.builds(lambda v: {"type": "Utilization", "averageUtilization": v}, st.integers(1, 100))
metrics = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("Resource"),
            "resource": st.fixed_dictionaries(
                {"name": st.sampled_from(["cpu", "memory"]), "target": averages | shares}
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("ContainerResource"),
            "containerResource": st.fixed_dictionaries(
                {"name": names, "container": names, "target": averages | shares}
            ),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("Pods"), "pods": st.fixed_dictionaries({"metric": identifiers, "target": averages})}
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("Object"),
            "object": st.fixed_dictionaries(
                {"metric": identifiers, "describedObject": references, "target": values | averages}
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("External"),
            "external": st.fixed_dictionaries({"metric": identifiers, "target": values | averages}),
        }
    ),
)
rules = st.fixed_dictionaries({}, optional={"stabilizationWindowSeconds": st.integers(0, 9), "selectPolicy": names})
scalers = st.fixed_dictionaries(
    {"maxReplicas": st.integers(1, 9), "scaleTargetRef": references, "metrics": st.lists(metrics, max_size=4)},
    optional={"behavior": st.fixed_dictionaries({}, optional={"scaleUp": rules, "scaleDown": rules})},
)


def _cpu_last(scaler: dict[str, Any]) -> dict[str, Any]:
    spec = dict(scaler["spec"])
    metrics = list(spec["metrics"])
    shared = [
        m
        for m in metrics
        if m.get("resource", {}).get("name") == "cpu" and m["resource"]["target"]["type"] == "Utilization"
    ]
    # Of several shares of a CPU the first one remains.
    metrics = [metric for metric in metrics if metric not in shared] + shared[:1]
    return {**scaler, "spec": {**spec, "metrics": metrics}}


@given(scalers, st.sampled_from(["v1", "v2beta1", "v2beta2"]))
def test_autoscaler_conversion_is_lossless(spec: dict[str, Any], version: str) -> None:
    """Any autoscaler is unchanged after conversion to any version and back, except for the position of the CPU
    target."""
    scaler = shaped(
        {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": spec}
    )
    expected = _cpu_last(scaler) if version == "v1" else scaler
    assert there_and_back(scaler, f"autoscaling/{version}") == expected


endpoints = st.fixed_dictionaries(
    {"addresses": st.lists(names, min_size=1, max_size=2)},
    optional={"nodeName": names, "zone": names, "deprecatedTopology": st.dictionaries(names, names, min_size=1)},
)


@given(st.lists(endpoints, min_size=1, max_size=3))
def test_endpoint_slice_conversion_is_lossless(endpoints: list[dict[str, Any]]) -> None:
    """Zones, node names and topology survive conversion to the old version."""
    slice_ = shaped(
        {
            "apiVersion": ORCH("discovery.{abbr}.io/v1"),
            "kind": "EndpointSlice",
            "metadata": {},
            "addressType": "IPv4",
            "endpoints": endpoints,
        }
    )
    assert there_and_back(slice_, ORCH("discovery.{abbr}.io/v1beta1")) == slice_
