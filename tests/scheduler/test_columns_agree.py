"""Property: over random clusters, the columnar and the plain form of every plugin agree, also after changes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.scheduler.columns.snapshot import NO_PODS
from orchd.scheduler.framework.evaluation import Evaluation
from orchd.scheduler.interfaces import IPreFilterExtensions
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import CycleState
from tests.scheduler.scheduler_support import HOST, NODES, PODS, SERVICES, ZONE, SchedulerHarness, node, pod

_FEW = st.integers(0, 3)
_APPS = st.sampled_from(["a", "b", "c"])
_EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
_KEYS = st.sampled_from([HOST, ZONE, "disk", "missing"])
_MIB = 1024 * 1024
_POLICIES = st.sampled_from([
    {}, {"minDomains": 3}, {"nodeAffinityPolicy": "Ignore"}, {"nodeTaintsPolicy": "Honor"}, {"matchLabelKeys": ["app"]},
])  # fmt: skip


@st.composite
def nodes(draw: Any, name: str) -> Any:
    labels = {HOST: name}
    if draw(st.booleans()):
        labels[ZONE] = draw(st.sampled_from(["z1", "z2", "z3"]))
    if draw(st.booleans()):
        labels["disk"] = draw(st.sampled_from(["ssd", "5", "7"]))
    taints = [
        {"key": draw(_APPS), "value": draw(_APPS), "effect": draw(_EFFECTS)} for _ in range(draw(st.integers(0, 2)))
    ]
    allocatable = {
        "cpu": str(draw(st.integers(0, 4))),
        "memory": f"{draw(st.integers(0, 4))}Gi",
        "pods": str(draw(st.integers(1, 5))),
    }
    if draw(st.booleans()):
        allocatable["example.com/gpu"] = str(draw(_FEW))
    images = [
        {"names": [f"{draw(_APPS)}:v1"], "sizeBytes": draw(st.integers(1, 1500)) * _MIB}
        for _ in range(draw(st.integers(0, 2)))
    ]
    return {
        "metadata": {"name": name, "uid": name, "labels": labels},
        "spec": {"taints": taints, "unschedulable": draw(st.sampled_from([False, False, True]))},
        "status": {"allocatable": allocatable, "images": images},
    }


def _selector(draw: Any) -> Any:
    return draw(
        st.sampled_from(
            [
                None,
                {},
                {"matchLabels": {"app": "a"}},
                {"matchLabels": {"app": "b"}},
                {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]},
            ]
        )
    )


def _term(draw: Any) -> Any:
    term = {"topologyKey": draw(_KEYS)}
    selector = _selector(draw)
    if selector is not None:
        term["labelSelector"] = selector
    if draw(st.booleans()):
        term["namespaces"] = [draw(st.sampled_from(["ns", "other"]))]
    return term


def _affinity(draw: Any) -> Any:
    affinity: Any = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if draw(st.integers(0, 2)) == 0:
            affinity[kind] = {
                "requiredDuringSchedulingIgnoredDuringExecution": [_term(draw) for _ in range(draw(st.integers(0, 1)))],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": draw(st.integers(1, 100)), "podAffinityTerm": _term(draw)}
                    for _ in range(draw(st.integers(0, 2)))
                ],
            }
    if draw(st.integers(0, 2)) == 0:
        match = draw(st.sampled_from([
            {"key": "disk", "operator": "In", "values": ["ssd", "5"]}, {"key": "disk", "operator": "NotIn", "values": ["ssd"]},
            {"key": "disk", "operator": "Exists"}, {"key": ZONE, "operator": "DoesNotExist"},
            {"key": "disk", "operator": "Gt", "values": ["5"]}, {"key": "disk", "operator": "Lt", "values": ["6"]},
        ]))  # fmt: skip
        term = {"matchExpressions": [match]}
        field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0", "n1"]}]}
        affinity["nodeAffinity"] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": draw(st.integers(1, 100)), "preference": draw(st.sampled_from([term, {}]))}
            ]
        }
        if draw(st.booleans()):
            affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": draw(st.sampled_from([[term], [field], [{}], [term, field]]))
            }
    return affinity


@st.composite
def pods(draw: Any, name: str, on: str = "") -> Any:
    requests = {}
    if draw(st.booleans()):
        requests["cpu"] = f"{draw(st.integers(0, 2000))}m"
    if draw(st.booleans()):
        requests["memory"] = f"{draw(st.integers(0, 2000))}Mi"
    if draw(st.integers(0, 3)) == 0:
        requests["example.com/gpu"] = str(draw(_FEW))
    ports = (
        [{"hostPort": 80, "hostIP": draw(st.sampled_from(["", "10.0.0.1", "10.0.0.2"]))}] if draw(st.booleans()) else []
    )
    containers = [{"name": "c", "image": draw(_APPS) + ":v1", "resources": {"requests": requests}, "ports": ports}]
    spec: Any = {
        "containers": containers,
        "schedulerName": "default-scheduler",
        "affinity": _affinity(draw),
        "tolerations": [{"key": draw(_APPS), "operator": "Exists"} for _ in range(draw(st.integers(0, 2)))],
        "topologySpreadConstraints": [
            {"topologyKey": draw(_KEYS), "maxSkew": draw(st.integers(1, 2)), "labelSelector": _selector(draw),
             "whenUnsatisfiable": draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])), **draw(_POLICIES)}
            for _ in range(draw(st.sampled_from([0, 0, 1, 2])))
        ],
    }  # fmt: skip
    if draw(st.integers(0, 3)) == 0:
        spec["nodeSelector"] = {"disk": "ssd"}
    if on:
        spec["nodeName"] = on
        spec["priority"] = draw(st.integers(0, 2))
    metadata: Any = {
        "name": name,
        "namespace": draw(st.sampled_from(["ns", "other"])),
        "uid": name,
        "labels": {"app": draw(_APPS)},
    }
    if on and draw(st.integers(0, 3)) == 0:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": spec, "status": {}}


def _assert_agreement(harness: SchedulerHarness, evaluation: Evaluation, incoming: Pod) -> None:
    """Every filter and score of the profile gives the same result in its plain and in its columnar form."""
    lane = harness.scheduler.lanes["default-scheduler"]
    snapshot, state = harness.scheduler.snapshot, CycleState()
    evaluation.refresh(state, incoming)
    rows = snapshot.rows()
    plain_state = CycleState()
    for plugin in lane.profile.plugins.values():
        if IPreFilterExtensions.providedBy(plugin):
            plugin.prepare_plain(plain_state, incoming)
    for part in evaluation.filters:
        compiled = part.compiled
        codes = (
            np.zeros(snapshot.size, dtype=np.int64)
            if compiled is None
            else part.column
            if part.local
            else compiled.codes(None)
        )
        assert codes is not None
        for row in rows.tolist():
            status = part.plugin.filter(plain_state, incoming, snapshot.node(row))
            code = int(codes[row])
            column = None if code == 0 or compiled is None else compiled.status(code)
            assert column == status, (part.plugin.name, snapshot.name_of(row))
    if not len(rows):
        return
    views = [snapshot.node(row) for row in rows.tolist()]
    for plugin in lane.profile.pre_scores:
        plugin.pre_score(plain_state, incoming, views)
    for score in evaluation.scores:
        plain = list(
            score.plugin.normalize(
                plain_state, incoming, [score.plugin.score(plain_state, incoming, view) for view in views]
            )
        )
        if isinstance(score.compiled, int):
            assert plain == [score.compiled] * len(rows), score.plugin.name
            continue
        assert not score.local or score.column is not None
        raw = score.column[rows] if score.column is not None and score.local else score.compiled.scores(rows)
        normalized = score.compiled.normalize(raw)
        assert plain == ([normalized] * len(rows) if isinstance(normalized, int) else normalized.tolist()), (
            score.plugin.name
        )


def _check_sums(harness: SchedulerHarness) -> None:
    """The columns hold the sums of the pods of each node, for resources that a node has or had."""
    at = harness.scheduler.snapshot
    for row in at.rows().tolist():
        view = at.node(row)
        templates = [pod.template for pod in view.pods.values()]
        assert {name: int(at.requested[n, row]) for name, n in at.resources.items() if at.requested[n, row]} == {
            name: number for name, number in view.requested.items() if number and name in at.resources
        }
        assert tuple(at.nonzero[:, row]) == view.nonzero
        assert at.pods_on[row] == len(templates)
        assert at.lowest[row] == min((each.priority for each in templates), default=NO_PODS)
        for pods, population in (
            (view.pods.values(), at.tallies.population),
            ([each for each in view.pods.values() if each.template.has_affinity], at.tallies.with_affinity),
            ([each for each in view.pods.values() if each.deleting], at.tallies.deleting),
        ):
            there = {template: rows[row] for template, rows in population.items() if row in rows}
            assert there == Counter(each.template for each in pods)
        assert (row in at.rows_with_volumes()) == any(each.volumes for each in templates)
    assert not at.pods_on[~at.alive].any() and not at.requested[:, ~at.alive].any()


@settings(max_examples=60)
@given(st.data())
def test_columnar_and_plain_plugins_agree(data: st.DataObject) -> None:
    """Filters give the same statuses and scores the same numbers, also with results that were cached while nodes and
    pods changed."""
    harness = SchedulerHarness(
        features={"DefaultPodTopologySpread": data.draw(st.booleans())},
        release=data.draw(st.sampled_from([SPECIFICATION, NEWEST])),
    )
    if data.draw(st.booleans()):
        harness.informers.put(
            SERVICES, {"metadata": {"name": "s", "namespace": "ns"}, "spec": {"selector": {"app": "a"}}}
        )
    for number in range(data.draw(st.integers(1, 4))):
        harness.put(data.draw(nodes(f"n{number}")))
    for number in range(data.draw(st.integers(0, 6))):
        harness.put(data.draw(pods(f"p{number}", on=f"n{data.draw(_FEW)}")))
    lane = harness.scheduler.lanes["default-scheduler"]
    incoming = [harness.scheduler.templates.pod(data.draw(pods(f"new{number}"))) for number in range(2)]
    shared = lane.profile.columnar_filters, lane.profile.columnar_scores
    parts = [[(n, each) for n, each in group if each.shared] for group in shared]
    evaluations = [Evaluation(harness.scheduler.snapshot, *parts) for _ in incoming]
    for _ in range(data.draw(st.integers(1, 4))):
        for each, evaluation in zip(incoming, evaluations, strict=True):
            _assert_agreement(harness, evaluation, each)
        _check_sums(harness)
        _change(harness, data)


def _change(harness: SchedulerHarness, data: st.DataObject) -> None:
    """Change one object of the cluster."""
    kind = data.draw(st.sampled_from(["node", "pod", "no node", "no pod"]))
    if kind == "node":
        harness.put(data.draw(nodes(f"n{data.draw(st.integers(0, 5))}")))
    elif kind == "pod":
        harness.put(data.draw(pods(f"p{data.draw(st.integers(0, 7))}", on=f"n{data.draw(_FEW)}")))
    else:
        ref = harness.informers.informer(NODES if kind == "no node" else PODS)
        there = [obj["metadata"] for obj in ref.list()]
        if there:
            gone = data.draw(st.sampled_from(there))
            ref.remove(gone.get("namespace", ""), gone["name"])


@settings(max_examples=100)
@given(
    zones=st.lists(st.sampled_from(["z1", "z2", ""]), min_size=2, max_size=4),
    placed=st.lists(st.tuples(_FEW, st.sampled_from(["a", "b"])), max_size=8),
    constraints=st.lists(
        st.tuples(st.sampled_from([HOST, ZONE]), st.integers(1, 2), st.sampled_from(["a", "b"]), st.booleans()),
        min_size=1, max_size=2,
    ),
    app=st.sampled_from(["a", "b"]),
)  # fmt: skip
def test_columnar_and_plain_topology_spread_agree(
    zones: list[str], placed: list[tuple[int, str]], constraints: list[tuple[str, int, str, bool]], app: str
) -> None:
    """Many pods in few domains, so that skews are at the limit."""
    harness = SchedulerHarness()
    harness.put(*(node(f"n{number}", zone=zone) for number, zone in enumerate(zones)))
    harness.put(*(pod(f"p{number}", on=f"n{on}", labels={"app": label}) for number, (on, label) in enumerate(placed)))
    spread = [
        {
            "topologyKey": key, "maxSkew": skew, "labelSelector": {"matchLabels": {"app": label}},
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        }
        for key, skew, label, hard in constraints
    ]  # fmt: skip
    incoming = harness.scheduler.templates.pod(pod("new", labels={"app": app}, topologySpreadConstraints=spread))
    profile = harness.scheduler.lanes["default-scheduler"].profile
    groups = profile.columnar_filters, profile.columnar_scores
    parts = [[(n, each) for n, each in group if each.name == "PodTopologySpread"] for group in groups]
    _assert_agreement(harness, Evaluation(harness.scheduler.snapshot, *parts), incoming)
