"""Effects of feature gates on requests to a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_types
from orchd.kinds.gates import GATES
from orchd.kinds.objects.feature_gates import RULES
from orchd.kinds.openapi.enums import VALUES
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.server.reconcilers.server_identity import versions_status, with_entry
from orchd.testing.doubles.server import NOW, InProcessServer, JsonResponse, make_server, run

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = f"/apis/coordination.{ORCH('{abbr}.io')}/v1/namespaces/{ORCH.system_namespace}/leases"
VERSIONS = f"/apis/internal.apiserver.{ORCH('{abbr}.io')}/v1alpha1/storageversions"

Start = Callable[..., InProcessServer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server with the given feature gates and flags."""
    running: list[InProcessServer] = []
    ticks = count()

    def make(gates: str, *flags: str) -> InProcessServer:
        # Time passes, so that a renewed lease differs from the old one.
        server = make_server(
            tmp_path / str(len(running)), f"--feature-gates={gates}", *flags, wall=lambda: NOW + next(ticks) * 1e-3
        )
        running.append(server)
        return running[-1]

    yield make
    for each in running:
        each.stop()


def ask(server: InProcessServer, method: str, path: str, body: Any = None, **headers: str) -> JsonResponse:
    return run(server.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()}))


def make_maps(server: InProcessServer, *names: str) -> None:
    for name in names:
        assert ask(server, "POST", CONFIG_MAPS, {"metadata": {"name": name}}).code == 201


@pytest.mark.parametrize(
    "gates", ["AllAlpha=true", "AllAlpha=false", "AllBeta=true", "AllBeta=false", "AllAlpha=true,AllBeta=true"]
)
def test_servers_start_with_all_gates_of_a_stage(start: Start, gates: str) -> None:
    """A server serves objects with all alpha or beta gates on or off."""
    server = start(gates)
    make_maps(server, "a")
    assert ask(server, "GET", f"{CONFIG_MAPS}/a").json["metadata"]["name"] == "a"


@pytest.mark.parametrize(("on", "names"), [("true", 1), ("false", 3)])
def test_limit_is_ignored_while_chunking_is_off(start: Start, on: str, names: int) -> None:
    """With APIListChunking off a list has all items, whatever its limit."""
    server = start(f"APIListChunking={on}")
    make_maps(server, "a", "b", "c")
    listed = ask(server, "GET", f"{CONFIG_MAPS}?limit=1").json
    assert len(listed["items"]) == names and ("continue" in listed["metadata"]) is (names == 1)


@pytest.mark.parametrize(("on", "expected"), [("true", 2), ("false", None)])
def test_remaining_items_are_counted_behind_their_gate(start: Start, on: str, expected: int | None) -> None:
    """With RemainingItemCount off pages do not say how many items remain."""
    server = start(f"RemainingItemCount={on}")
    make_maps(server, "a", "b", "c")
    assert ask(server, "GET", f"{CONFIG_MAPS}?limit=1").json["metadata"].get("remainingItemCount") == expected


def test_objects_and_lists_have_links_while_the_gate_is_off(start: Start) -> None:
    """With RemoveSelfLink off everything has its path: objects, lists and their items, partial objects, tables and
    events."""
    server = start("RemoveSelfLink=false")
    make_maps(server, "a")
    config_map = ask(server, "GET", f"{CONFIG_MAPS}/a").json
    assert config_map["metadata"]["selfLink"] == f"{CONFIG_MAPS}/a" and list(config_map["metadata"])[:3] == [
        "name",
        "namespace",
        "selfLink",
    ]
    listed = ask(server, "GET", CONFIG_MAPS).json
    assert listed["metadata"]["selfLink"] == CONFIG_MAPS
    assert [item["metadata"]["selfLink"] for item in listed["items"]] == [f"{CONFIG_MAPS}/a"]
    partial = f"application/json;as=PartialObjectMetadata;v=v1;g={ORCH.meta_group}"
    assert ask(server, "GET", f"{CONFIG_MAPS}/a", Accept=partial).json["metadata"]["selfLink"] == f"{CONFIG_MAPS}/a"
    across = ask(server, "GET", "/api/v1/configmaps?fieldSelector=metadata.name=a").json
    assert (across["metadata"]["selfLink"], across["items"][0]["metadata"]["selfLink"]) == (
        "/api/v1/configmaps",
        f"{CONFIG_MAPS}/a",
    )
    status = ask(server, "GET", "/api/v1/namespaces/default/status").json
    assert status["metadata"]["selfLink"] == "/api/v1/namespaces/default/status"
    assert ask(server, "GET", "/api/v1/namespaces/default").json["metadata"]["selfLink"] == "/api/v1/namespaces/default"


def test_scales_are_served_while_the_gate_is_off(start: Start) -> None:
    """With RemoveSelfLink off the Scale of an object can be read."""
    server = start("RemoveSelfLink=false")
    controllers = "/api/v1/namespaces/default/replicationcontrollers"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {"metadata": {"name": "r"}, "spec": {"replicas": 2, "selector": {"a": "b"}, "template": template}}
    assert ask(server, "POST", controllers, body).code == 201
    scale = ask(server, "GET", f"{controllers}/r/scale")
    assert scale.code == 200 and scale.json["spec"] == {"replicas": 2}


def test_objects_have_no_links(start: Start) -> None:
    """By default no object has a link."""
    server = start("RemoveSelfLink=true")
    make_maps(server, "a")
    assert "selfLink" not in ask(server, "GET", f"{CONFIG_MAPS}/a").json["metadata"]
    assert "selfLink" not in ask(server, "GET", CONFIG_MAPS).json["metadata"]


@pytest.mark.parametrize("on", [True, False])
def test_discovery_has_hashes_and_subresources_behind_their_gates(start: Start, on: bool) -> None:
    """With the gates off discovery has no hashes, and ephemeral containers are neither listed nor served."""
    server = start(f"StorageVersionHash={str(on).lower()},EphemeralContainers={str(on).lower()}")
    resources = {each["name"]: each for each in ask(server, "GET", "/api/v1").json["resources"]}
    assert ("storageVersionHash" in resources["pods"]) is on and ("pods/ephemeralcontainers" in resources) is on
    response = ask(server, "GET", "/api/v1/namespaces/default/pods/x/ephemeralcontainers")
    assert response.code == 404 and ('pods "x" not found' in response.json["message"]) is on


@pytest.mark.parametrize("on", [True, False])
def test_documents_list_known_values_behind_their_gate(start: Start, on: bool) -> None:
    """With OpenAPIEnums on both OpenAPI documents list the values of strings."""
    server = start(f"OpenAPIEnums={str(on).lower()}")
    expected = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] if on else None
    name = ORCH("io.{abbr}.api.core.v1.PodSpec")
    accept = "application/json, */*"
    second = ask(server, "GET", "/openapi/v2", Accept=accept).json["definitions"]
    third = ask(server, "GET", "/openapi/v3/api/v1", Accept=accept).json["components"]["schemas"]
    for definitions in (second, third):
        policy = definitions[name]["properties"]["dnsPolicy"]
        assert policy.get("enum") == expected and ('- `"ClusterFirst"`' in policy["description"]) is on


def test_dry_runs_are_rejected_while_their_gate_is_off(start: Start) -> None:
    """With DryRun off a write with the parameter is 400, and one without it is carried out."""
    server = start("DryRun=false")
    response = ask(server, "POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "a"}})
    assert (response.code, response.json["message"]) == (400, "the dryRun feature is disabled")
    make_maps(server, "a")


@pytest.mark.parametrize(("on", "admitted"), [("true", False), ("false", True)])
def test_pod_security_is_a_gate(start: Start, on: str, admitted: bool) -> None:
    """With PodSecurity off labels of a namespace have no effect."""
    server = start(f"PodSecurity={on}", "--disable-admission-plugins=ServiceAccount")
    level = {ORCH("pod-security.{long}.io/enforce"): "restricted"}
    assert ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "a", "labels": level}}).code == 201
    pod = {"metadata": {"name": "p"}, "spec": {"hostNetwork": True, "containers": [{"name": "c", "image": "i"}]}}
    assert (ask(server, "POST", "/api/v1/namespaces/a/pods", pod).code == 201) is admitted


@pytest.mark.parametrize(("on", "allocated"), [("true", False), ("false", True)])
def test_load_balancers_have_node_ports_while_their_choice_is_off(start: Start, on: str, allocated: bool) -> None:
    """A load balancer without node ports gets them with ServiceLBNodePortControl off."""
    server = start(f"ServiceLBNodePortControl={on}")
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}], "allocateLoadBalancerNodePorts": False}
    created_spec = ask(
        server, "POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "a"}, "spec": spec}
    ).json["spec"]
    assert (
        ("nodePort" in created_spec["ports"][0]) is allocated is ("allocateLoadBalancerNodePorts" not in created_spec)
    )


def test_other_data_sources_need_their_gate(start: Start) -> None:
    """With AnyVolumeDataSource on both fields name the source of a claim; with it off there is only dataSource."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    source = {"apiGroup": "x.example.com", "kind": "X", "name": "a"}
    for gates, expected in (
        ("AnyVolumeDataSource=true", (source, source)),
        ("AnyVolumeDataSource=false", (None, None)),
    ):
        server = start(gates)
        claim = {"metadata": {"name": "a"}, "spec": {**spec, "dataSourceRef": source}}
        created_spec = ask(server, "POST", "/api/v1/namespaces/default/persistentvolumeclaims", claim).json["spec"]
        assert (created_spec.get("dataSource"), created_spec.get("dataSourceRef")) == expected


def test_servers_keep_identity_leases(start: Start) -> None:
    """With APIServerIdentity a server has a lease that it renews; expired ones of other servers are removed."""
    server = start(
        "APIServerIdentity=true", "--identity-lease-duration-seconds=60", "--identity-lease-renew-interval-seconds=10"
    )
    server.clock.advance(1)
    (lease,) = ask(server, "GET", LEASES).json["items"]
    name, spec = lease["metadata"]["name"], lease["spec"]
    assert (
        name.startswith(f"{ORCH.short}-apiserver-")
        and spec["holderIdentity"] == name
        and spec["leaseDurationSeconds"] == 60
    )
    old = {"metadata": {"name": "gone", "labels": lease["metadata"]["labels"]},
           "spec": {"holderIdentity": "gone", "leaseDurationSeconds": 60, "renewTime": "2001-01-01T00:00:00.000000Z"}}  # fmt: skip
    other = {"metadata": {"name": "other"}, "spec": old["spec"]}
    assert {ask(server, "POST", LEASES, each).code for each in (old, other)} == {201}
    for _ in range(8):
        server.clock.advance(10)
    assert {each["metadata"]["name"] for each in ask(server, "GET", LEASES).json["items"]} == {name, "other"}
    (again,) = [each for each in ask(server, "GET", LEASES).json["items"] if each["metadata"]["name"] == name]
    assert int(again["metadata"]["resourceVersion"]) > int(lease["metadata"]["resourceVersion"])


def test_without_server_side_apply_no_managers_are_recorded(start: Start) -> None:
    """Without ServerSideApply configurations are not accepted, and no write, not even one that sends them, leaves
    managedFields."""
    server = start("ServerSideApply=false")
    path = f"{CONFIG_MAPS}/m"
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}
    created = ask(
        server, "POST", CONFIG_MAPS, {"metadata": {"name": "m", "managedFields": [entry]}, "data": {"a": "b"}}
    )
    changed = ask(server, "PATCH", path, {"data": {"a": "c"}}, content_type="application/merge-patch+json")
    for response in (created, changed):
        assert response.code in (200, 201) and "managedFields" not in response.json["metadata"]
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "d"}}
    applied = ask(server, "PATCH", f"{path}?fieldManager=m", config, content_type="application/apply-patch+yaml")
    assert applied.code == 415 and ask(server, "GET", path).json["data"] == {"a": "c"}


def test_servers_record_storage_versions(start: Start) -> None:
    """With StorageVersionAPI every resource has an object with the version that this server stores."""
    server = start("APIServerIdentity=true,StorageVersionAPI=true", "--runtime-config=api/all=true")
    server.clock.advance(1)
    statuses = {each["metadata"]["name"]: each["status"] for each in ask(server, "GET", VERSIONS).json["items"]}
    assert statuses["apps.deployments"]["commonEncodingVersion"] == "apps/v1" and "core.pods" in statuses
    (entry,) = statuses["batch.cronjobs"]["storageVersions"]
    assert (entry["encodingVersion"], sorted(entry["decodableVersions"])) == ("batch/v1", ["batch/v1", "batch/v1beta1"])
    assert [each["status"] for each in statuses["core.pods"]["conditions"]] == ["True"]
    assert "servedVersions" not in entry


def test_servers_without_the_gate_have_no_lease(start: Start) -> None:
    """By default a server has neither a lease nor storage versions."""
    server = start("APIServerIdentity=false", "--runtime-config=api/all=true")
    server.clock.advance(1)
    assert ask(server, "GET", LEASES).json["items"] == [] == ask(server, "GET", VERSIONS).json["items"]


def test_common_version_is_that_of_all_servers() -> None:
    """Servers that store different versions have no common one; the time of a condition changes with its status
    only."""
    one, two = ({"apiServerID": name, "encodingVersion": version} for name, version in (("a", "v1"), ("b", "v2")))
    agreed = versions_status([one], {}, "t1")
    assert agreed["commonEncodingVersion"] == "v1" and agreed["conditions"][0]["lastTransitionTime"] == "t1"
    assert versions_status([one], agreed, "t2") == agreed
    split = versions_status([one, two], agreed, "t2")
    assert "commonEncodingVersion" not in split and split["conditions"][0]["status"] == "False"
    assert split["conditions"][0]["lastTransitionTime"] == "t2"
    assert with_entry([one, two], {**one, "encodingVersion": "v3"}) == [{**one, "encodingVersion": "v3"}, two]


def test_rows_of_gates_name_existing_fields(start: Start) -> None:
    """Every field that a gate drops, or that has known values, is one of its type, and every rule exists."""
    catalog = start("AllAlpha=false").server.catalog
    for listed in VALUES:
        owner, _, name = listed.rpartition(".")
        assert catalog.type(owner).fields[name].type.kind == "string", listed
    for gate in GATES:
        release = SPECIFICATION if gate.stage() is not None else NEWEST
        for drop in (*gate.drops, *gate.tolerates):
            version, name, *path = drop.field.split(".")
            type_ = builtin_types(ORCH, release).get(f"{version}.{name}")
            for member in map(ORCH, path):
                assert member in type_.fields, drop.field
                type_ = type_.fields[member].type
            assert not drop.rule or drop.rule in RULES
