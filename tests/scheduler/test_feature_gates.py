"""Effects of feature gates on scheduling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.scheduler.config.arguments import default
from orchd.scheduler.config.loading import load
from orchd.scheduler.config.model import ConfigError, PodTopologySpreadArgs, ShapePoint, VolumeBindingArgs
from orchd.scheduler.config.pluginsets import defaults
from orchd.scheduler.plugins.csimigration import MIGRATIONS, is_served
from orchd.scheduler.plugins.selectorspread import spread_scores
from orchd.scheduler.plugins.storage import Storage
from orchd.scheduler.plugins.volumebinding import VolumeBinding
from orchd.scheduler.pods import Templates
from orchd.scheduler.values import CycleState
from tests.scheduler.scheduler_support import SERVICES, SchedulerHarness, node, pod
from tests.scheduler.volume_support import Cluster

ZONE_A, ZONE_B = ("", "a"), ("", "b")


def names(version: str, point: str, **features: bool) -> dict[str, int]:
    return {plugin.name: plugin.weight for plugin in defaults(version, features)[point].enabled}


def test_gates_add_default_plugins() -> None:
    """SelectorSpread is a default plugin with DefaultPodTopologySpread off, and VolumeBinding scores in v1beta2 with
    VolumeCapacityPriority on."""
    assert "SelectorSpread" not in names("v1beta3", "multiPoint")
    assert names("v1beta3", "multiPoint", DefaultPodTopologySpread=False)["SelectorSpread"] == 1
    assert names("v1beta2", "score", DefaultPodTopologySpread=False)["SelectorSpread"] == 1
    assert "SelectorSpread" in names("v1beta2", "preScore", DefaultPodTopologySpread=False)
    assert "VolumeBinding" not in names("v1beta2", "score")
    assert names("v1beta2", "score", VolumeCapacityPriority=True)["VolumeBinding"] == 1


def test_gates_change_default_arguments() -> None:
    """Without default constraints the type is List; with capacity priority fuller volumes score higher."""
    spread = default("PodTopologySpread", {"DefaultPodTopologySpread": False})
    assert isinstance(spread, PodTopologySpreadArgs) and spread.defaulting_type == "List"
    volumes = default("VolumeBinding", {"VolumeCapacityPriority": True})
    assert isinstance(volumes, VolumeBindingArgs) and volumes.shape == (ShapePoint(0, 0), ShapePoint(100, 10))
    assert default("VolumeBinding", {}) == VolumeBindingArgs(bind_timeout_seconds=600, shape=())


@pytest.mark.parametrize(
    ("counts", "zones", "expected"),
    [
        ([0, 0], [None, None], [100, 100]),
        ([2, 1], [None, None], [0, 50]),
        ([1, 3, 0], [ZONE_A, ZONE_B, ZONE_B], [66, 0, 33]),
        ([1, 0], [ZONE_A, None], [0, 100]),
    ],
)
def test_selector_spread_prefers_empty_nodes_and_zones(
    counts: list[int], zones: list[Any], expected: list[int]
) -> None:
    """Two thirds of a score depend on the zone, the rest on the node."""
    assert spread_scores(counts, zones) == expected


@pytest.mark.parametrize(("on", "scored"), [(True, False), (False, True)])
def test_selector_spread_scores_while_default_constraints_are_off(on: bool, scored: bool) -> None:
    """With the gate off, the pods of a service are spread by SelectorSpread."""
    harness = SchedulerHarness(features={"DefaultPodTopologySpread": on})
    harness.informers.put(SERVICES, {"metadata": {"name": "s", "namespace": "ns"}, "spec": {"selector": {"app": "a"}}})
    harness.put(node("n1"), node("n2"), pod("old", on="n1", labels={"app": "a"}), pod("new", labels={"app": "a"}))
    harness.settle(1)
    assert harness.where("new") == "n2"
    profile = harness.scheduler.lanes["default-scheduler"].profile
    assert ("SelectorSpread" in {plugin.name for plugin in profile.scores}) is scored


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"app": "a"}, [0, 50, 100]),
        ({"app": "b"}, [100, 100, 0]),
        ({"app": "c"}, [100, 100, 100]),
        ({}, [100, 100, 100]),
    ],
)
def test_selector_spread_counts_the_pods_of_services(labels: Object, expected: list[int]) -> None:
    """Pods that a service of the pod selects count, in its namespace and unless they are being deleted; for a pod that
    no service selects, all nodes are alike. Two pods of one service are scored alike."""
    harness = SchedulerHarness(features={"DefaultPodTopologySpread": False})
    for app in ("a", "b"):
        service = {"metadata": {"name": app, "namespace": "ns"}, "spec": {"selector": {"app": app}}}
        harness.informers.put(SERVICES, service)
    of_a, of_b = {"app": "a"}, {"app": "b"}
    harness.put(
        *(node(name) for name in ("n1", "n2", "n3")),
        *(pod(f"a{number}", on=name, labels=of_a) for number, name in enumerate(("n1", "n1", "n2"))),
        pod("b", on="n3", labels=of_b),
        pod("c", on="n3", labels={"app": "c"}),
        pod("gone", on="n3", labels=of_a, deleting=True),
        pod("other", on="n3", labels=of_a, namespace="other"),
    )
    profile = harness.scheduler.lanes["default-scheduler"].profile
    (plugin,) = (each for each in profile.scores if each.name == "SelectorSpread")
    snapshot = harness.scheduler.cluster.snapshot
    rows = [snapshot.row_of(name) for name in ("n1", "n2", "n3")]
    waiting = Templates().pod(pod("new", labels=labels))
    for _ in range(2):
        compiled = plugin.compile_score(CycleState(), waiting)
        assert compiled.scores(np.array(rows)).tolist() == expected


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, None),
        ({"topology.orch.io/zone": "z"}, ("", "z")),
        ({"topology.orch.io/region": "r"}, ("r", "")),
        ({"topology.orch.io/region": "r", "topology.orch.io/zone": "z"}, ("r", "z")),
        ({"failure-domain.beta.orch.io/region": "r", "failure-domain.beta.orch.io/zone": "z"}, ("r", "z")),
        ({"failure-domain.beta.orch.io/zone": "old", "topology.orch.io/zone": "new"}, ("", "new")),
        ({"failure-domain.beta.orch.io/zone": "old", "topology.orch.io/zone": ""}, ("", "old")),
    ],
)
def test_zones_of_selector_spread(labels: Object, zone: Any) -> None:
    """Region and zone are those of the labels, else of the former labels."""
    harness = SchedulerHarness(features={"DefaultPodTopologySpread": False})
    harness.put(node("n1", labels=labels))
    plugin = harness.scheduler.lanes["default-scheduler"].profile.plugins["SelectorSpread"]
    snapshot = harness.scheduler.cluster.snapshot
    assert plugin.zone_of(snapshot.node(snapshot.row_of("n1"))) == zone


@pytest.mark.parametrize(("on", "expected"), [(True, "n1"), (False, "n2")])
def test_nominated_node_is_preferred_behind_its_gate(on: bool, expected: str) -> None:
    """A pod goes to its nominated node although another one scores higher; with the gate off to the better one."""
    harness = SchedulerHarness(features={"PreferNominatedNode": on})
    waiting = {**pod("new", cpu=1), "status": {"nominatedNodeName": "n1"}}
    harness.put(node("n1"), node("n2"), pod("old", on="n1", cpu=3), waiting)
    harness.settle(1)
    assert harness.where("new") == expected


def test_volumes_that_fit_best_score_higher() -> None:
    """The score is the share of its volume that a claim uses, as a mean over classes; 0 without a shape."""
    cluster = Cluster()
    cluster.storage_class()
    for host, size in (("n1", "10Gi"), ("n2", "2Gi")):
        cluster.node(host)
        term = {"matchExpressions": [{"key": "host", "operator": "In", "values": [host]}]}
        cluster.volume(f"v-{host}", size, nodeAffinity={"required": {"nodeSelectorTerms": [term]}})
    cluster.claim("c", "1Gi")
    found = []
    for shape in ((ShapePoint(0, 0), ShapePoint(100, 10)), ()):
        plugin = VolumeBinding(cluster.handle, VolumeBindingArgs(bind_timeout_seconds=1, shape=shape))
        state, waiting = CycleState(), cluster.pod("p", "c")
        assert plugin.pre_filter(state, waiting) is None
        rows = cluster.snapshot.rows()
        plain = [plugin.score(state, waiting, cluster.snapshot.node(row)) for row in rows.tolist()]
        compiled = plugin.compile_score(state, waiting)
        assert plain == ([compiled] * 2 if isinstance(compiled, int) else compiled.scores(rows).tolist())
        found.append({cluster.snapshot.name_of(row): score for row, score in zip(rows.tolist(), plain, strict=True)})
    assert found == [{"n1": 10, "n2": 50}, {"n1": 0, "n2": 0}]


def test_migrations_depend_on_two_gates() -> None:
    """An in-tree plugin is served by a driver if CSIMigration and the plugin's own gate are on."""
    aws = MIGRATIONS[0]
    plugin = ORCH(aws.plugin)
    for features, expected in (({}, True), ({"CSIMigration": False}, False), ({"CSIMigrationAWS": False}, False)):
        cluster = Cluster()
        cluster.features = features
        assert is_served(aws, f"x,{plugin}", Storage(cluster.handle)) is expected
    assert not is_served(aws, "x", Storage(Cluster().handle))


def test_templates_have_no_fields_of_disabled_features() -> None:
    """Overhead, local storage and namespace selectors do not count with their gates off."""
    term = {"topologyKey": "z", "labelSelector": {}, "namespaceSelector": {}}
    given = pod(
        "p", overhead={"cpu": "1"}, affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    )
    given["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1", "ephemeral-storage": "5"}
    full = Templates().pod(given).template
    assert full.requests == {"cpu": 2000, "ephemeral-storage": 5} and full.affinity[0].namespace_selector is not None
    off = frozenset(("PodOverhead", "LocalStorageCapacityIsolation", "PodAffinityNamespaceSelector", "AppArmor"))
    bare = Templates(off).pod(given).template
    assert bare.requests == {"cpu": 1000} and bare.affinity[0].namespace_selector is None


def test_shape_of_volume_scores_needs_its_gate() -> None:
    """A profile with a shape is invalid while the gate is off."""
    text = b"""
apiVersion: orchscheduler.config.orch.io/v1beta3
kind: OrchSchedulerConfiguration
profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 3}]}}]}]
"""
    with pytest.raises(ConfigError, match="VolumeCapacityPriority"):
        load(text, ORCH)
    profile = load(text, ORCH, {"VolumeCapacityPriority": True}).profiles[0]
    assert {each.name: each.args for each in profile.plugin_config}["VolumeBinding"] == VolumeBindingArgs(
        bind_timeout_seconds=600, shape=(ShapePoint(0, 3),)
    )
