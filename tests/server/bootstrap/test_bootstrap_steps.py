"""Objects of a new cluster; a further start writes nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from orchd.assembly.files import api_service_address
from orchd.client.interfaces import ResourceRef
from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.errors import ApiError, already_exists, conflict, not_found
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.rule_coverage import uncovered
from orchd.kinds.release import SPECIFICATION
from orchd.server.bootstrap import ensure_objects, objects
from orchd.server.bootstrap.objects import BootstrapObject
from orchd.testing.doubles.server import InProcessServer, make_server, run

ADDRESS = objects.ServiceAddress(port=6443, service_ip="10.0.0.1")
SERVER = objects.ServerEndpoint(ip="192.0.2.7", port=6443)


def everything(dialect: Dialect) -> list[BootstrapObject]:
    return [
        *objects.namespaces(dialect),
        *objects.own_service(dialect, ADDRESS),
        *objects.own_endpoints(dialect, [SERVER]),
        *objects.priority_classes(dialect),
        *objects.flow_control(dialect, SPECIFICATION),
        *objects.api_services(dialect, builtin_catalog(dialect)),
    ]


@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES], ids=lambda d: d.name)
def test_objects_contain_no_dialect_templates(dialect: Dialect) -> None:
    """All texts of all objects are spelled in the dialect, and all objects are of served kinds."""
    catalog = builtin_catalog(dialect)
    for expected in everything(dialect):
        assert "{" not in str(expected.object).replace("{'", "").replace("{}", "")
        resource = catalog.resource(expected.ref.group, expected.ref.version, expected.ref.plural)
        assert resource is not None and resource.kind == expected.object["kind"]
        assert set(expected.restored) <= expected.object.keys()


def test_a_second_start_writes_nothing(tmp_path: Path) -> None:
    """Complete objects are not written again, also if the server has added defaults."""
    server = make_server(tmp_path)
    before, asked = server.server.storage.store.revision, server.server.api.request_metrics.series
    writes = {
        labels: dict(series.codes) for labels, series in asked.items() if labels.verb not in ("GET", "LIST", "WATCH")
    }
    run(server.server.bootstrap.run())
    assert server.server.storage.store.revision == before
    after = {
        labels: dict(series.codes) for labels, series in asked.items() if labels.verb not in ("GET", "LIST", "WATCH")
    }
    assert after == writes
    server.stop()


def test_reconciled_fields_are_restored(tmp_path: Path) -> None:
    """Reconciled members are restored; other members are preserved."""
    server = make_server(tmp_path)
    client, dialect = server.client(), server.dialect
    level = ResourceRef(dialect("flowcontrol.apiserver.{abbr}.io"), "v1beta2", "prioritylevelconfigurations")
    stored_level = run(client.get(level, "", "workload-low"))
    spec = {**stored_level["spec"], "limited": {**stored_level["spec"]["limited"], "assuredConcurrencyShares": 7}}
    run(
        client.update(
            level,
            "",
            "workload-low",
            {**stored_level, "spec": spec, "metadata": {**stored_level["metadata"], "labels": {"a": "b"}}},
        )
    )
    run(server.server.bootstrap.run())
    again = run(client.get(level, "", "workload-low"))
    assert again["spec"] == stored_level["spec"] and again["metadata"]["labels"] == {"a": "b"}
    server.stop()


def test_reduced_default_roles_are_restored(tmp_path: Path) -> None:
    """Rules that a default role has lost are added again."""
    server = make_server(tmp_path)
    client, dialect = server.client(), server.dialect
    roles = ResourceRef(dialect("rbac.authorization.{abbr}.io"), "v1", "clusterroles")
    role = run(client.get(roles, "", "system:node-proxier"))
    run(client.update(roles, "", "system:node-proxier", {**role, "rules": role["rules"][1:]}))
    run(server.server.bootstrap.run())
    again = run(client.get(roles, "", "system:node-proxier"))
    assert uncovered(role["rules"][1:], role["rules"]) and not uncovered(again["rules"], role["rules"])
    server.stop()


def test_objects_of_a_fresh_cluster(tmp_path: Path) -> None:
    """Namespaces, the API service with the first address of the range, and an APIService per group and version."""
    server: InProcessServer = make_server(tmp_path)
    client, dialect = server.client(), server.dialect
    names = [o["metadata"]["name"] for o in run(client.list(ResourceRef("", "v1", "namespaces")))["items"]]
    assert names == sorted(dialect(n) for n in objects.NAMESPACES)
    own = run(client.get(ResourceRef("", "v1", "services"), "default", dialect("{long}")))
    assert own["spec"]["clusterIP"] == api_service_address(server.server.settings)
    services = run(client.list(ResourceRef(dialect("apiregistration.{abbr}.io"), "v1", "apiservices")))["items"]
    served = {f"{v}.{g.name}" for g in server.server.catalog.groups for v in g.versions}
    assert served - {s["metadata"]["name"] for s in services} == {f"v1.{dialect('apiregistration.{abbr}.io')}"}
    assert all(s["status"]["conditions"][0]["status"] == "True" for s in services)
    server.stop()


def test_loopback_server_has_no_endpoints() -> None:
    """A server that listens on loopback only has a service without endpoints."""
    local = objects.ServerEndpoint(ip="127.0.0.1", port=6443)
    assert not list(objects.own_endpoints(ORCH, [local]))
    endpoints, slice_ = objects.own_endpoints(ORCH, [local, SERVER])
    assert endpoints.object["subsets"][0]["addresses"] == [{"ip": "192.0.2.7"}]
    assert [each["addresses"] for each in slice_.object["endpoints"]] == [["192.0.2.7"]]


def test_endpoints_list_all_servers() -> None:
    """Endpoints list all servers by port, sorted; the EndpointSlice equals the first subset."""
    more = [objects.ServerEndpoint(ip=ip, port=port) for ip, port in (("192.0.2.9", 7443), ("192.0.2.8", 6443))]
    endpoints, slice_ = objects.own_endpoints(ORCH, [*more, SERVER])
    assert [
        ([a["ip"] for a in subset["addresses"]], subset["ports"][0]["port"]) for subset in endpoints.object["subsets"]
    ] == [(["192.0.2.7", "192.0.2.8"], 6443), (["192.0.2.9"], 7443)]
    assert [each["addresses"] for each in slice_.object["endpoints"]] == [["192.0.2.7"], ["192.0.2.8"]]
    assert slice_.object["ports"][0]["port"] == 6443


class Racing:
    """A client whose first `times` writes conflict."""

    def __init__(self, times: int, *, exists: bool) -> None:
        self.times, self.exists = times, exists
        self.calls: Counter[str] = Counter()
        self.gets = 0

    async def list(self, ref: ResourceRef) -> Object:
        return {"items": [{"metadata": {"name": f"a{n}"}, "spec": {}} for n in range(20 if self.exists else 0)]}

    async def get(self, ref: ResourceRef, namespace: str, name: str) -> Object:
        self.gets += 1
        if not self.exists:
            raise not_found("", "namespaces", name)
        return {"metadata": {"name": name}, "spec": {}}

    async def create(self, ref: ResourceRef, namespace: str, obj: Object) -> Object:
        return self._write(obj, already_exists("", "namespaces", "a"))

    async def update(self, ref: ResourceRef, namespace: str, name: str, obj: Object, **more: Any) -> Object:
        return self._write(obj, conflict("", "namespaces", "a", "changed"))

    def _write(self, obj: Object, lost: ApiError) -> Object:
        name = obj["metadata"]["name"]
        self.calls[name] += 1
        if self.calls[name] <= self.times:
            raise lost
        return obj


def wanted(number: int) -> list[BootstrapObject]:
    ref = ResourceRef("", "v1", "namespaces")
    return [
        BootstrapObject(
            ref=ref,
            object={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"a{n}"}, "spec": {"x": 1}},
            restored=("spec",),
        )
        for n in range(number)
    ]


@pytest.mark.parametrize("number", [1, 12])
@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize(("times", "fine"), [(0, True), (4, True), (5, False)])
def test_lost_races_are_retried_five_times(number: int, exists: bool, times: int, fine: bool) -> None:
    """A conflict is retried up to five times; then the error is raised."""
    client: Any = Racing(times, exists=exists)
    if fine:
        run(ensure_objects.ensure(client, wanted(number), now=""))
        assert client.calls == {f"a{n}": times + 1 for n in range(number)}
    else:
        with pytest.raises(ApiError):
            run(ensure_objects.ensure(client, wanted(number), now=""))


@pytest.mark.parametrize("exists", [False, True])
def test_many_objects_are_listed(exists: bool) -> None:
    """One request for many objects of a resource; few are asked for one by one, since there may be thousands of
    others."""
    many: Any = Racing(0, exists=exists)
    run(ensure_objects.ensure(many, wanted(12), now=""))
    few: Any = Racing(0, exists=exists)
    run(ensure_objects.ensure(few, wanted(2), now=""))
    assert (many.gets, few.gets) == (0, 2)
