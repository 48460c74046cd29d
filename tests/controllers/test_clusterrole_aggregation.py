"""The rules of aggregated cluster roles."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers import clusterrole_aggregation
from orchd.controllers.clusterrole_aggregation import ClusterRoleAggregation
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.repeats import repeats
from orchd.testing.doubles.server import run
from orchd.txkit.compute_thread import LARGE
from tests.controllers.cluster_support import Cluster
from tests.controllers.unit_support import ControllerBench

ROLES = ResourceRef(ORCH("rbac.authorization.{abbr}.io"), "v1", "clusterroles")


def rule(name: str) -> Object:
    return {"apiGroups": ["g"], "resources": [name], "verbs": ["get"]}


def test_selectors_and_names_order_rules(cluster: Cluster) -> None:
    """Rules are in the order of selectors, then of the names of roles; each is there once, however often selected."""
    for name, label, *rules in (("b", "two", "r1", "r2"), ("c", "one", "r3"), ("a", "one", "r2", "r4")):
        body = {"metadata": {"name": name, "labels": {"level": label}}, "rules": list(map(rule, rules))}
        cluster.create(ROLES, body, "")
    selectors = [{"matchLabels": {"level": "one"}}, {"matchExpressions": [{"key": "level", "operator": "Exists"}]}]
    aggregated = {"metadata": {"name": "all"}, "aggregationRule": {"clusterRoleSelectors": selectors * 10}}
    cluster.create(ROLES, aggregated, "")
    cluster.settle()
    role = cluster.get(ROLES, "all", "")
    assert role is not None and role["rules"] == [rule(name) for name in ("r2", "r4", "r3", "r1")]
    cluster.delete(ROLES, "a", "")
    cluster.settle()
    role = cluster.get(ROLES, "all", "")
    assert role is not None and role["rules"] == [rule(name) for name in ("r3", "r1", "r2")]


def test_many_selectors_of_the_same_roles(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of selectors of the same roles do not multiply their rules."""
    sizes: list[int] = []

    def observe(rules: list[Object]) -> set[int]:
        sizes.append(len(rules))
        return repeats(rules)

    monkeypatch.setattr(clusterrole_aggregation, "repeats", observe)
    cluster.create(ROLES, {"metadata": {"name": "big"}, "rules": [rule(f"r{i}") for i in range(2000)]}, "")
    everything = [{"matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]}] * 100
    body = {"metadata": {"name": "all"}, "aggregationRule": {"clusterRoleSelectors": everything}}
    cluster.create(ROLES, body, "")
    cluster.settle()
    role = cluster.get(ROLES, "all", "")
    assert role is not None and 2000 < len(role["rules"]) < 4000
    assert max(sizes) < 4000


def test_long_selectors_are_compared_away_from_the_reactor() -> None:
    """A selector of thousands of requirements is much work, even if no role but one has labels."""
    sizes: list[int] = []

    async def compute(size: int, function: Callable[..., list[Object]], *arguments: object) -> list[Object]:
        sizes.append(size)
        return function(*arguments)

    bench = ControllerBench(ClusterRoleAggregation, compute=compute)
    requirements = [{"key": f"k{n}", "operator": "DoesNotExist"} for n in range(5000)]
    for name, selector in (
        ("short", {"matchExpressions": requirements[:1]}),
        ("long", {"matchExpressions": requirements}),
    ):
        role = {"metadata": {"name": name}, "aggregationRule": {"clusterRoleSelectors": [selector]}}
        bench.informers.put(ROLES, role)
        run(bench.controller.reconcile(("", name)))
    assert [size > LARGE for size in sizes] == [False, True]
