"""The official Python client works against a real server of the stock dialect."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.release import default_release
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess
from tests.waiting import until
from tests.wire.wire_cli import config_map, deployment, in_new_namespace, pod

stock = pytest.importorskip(KUBERNETES.long)
client, config, dynamic, watch = stock.client, stock.config, stock.dynamic, stock.watch

WORD = KUBERNETES


@pytest.fixture(scope="module")
def api(server: DaemonProcess) -> Iterator[Any]:
    """A client for the kubeconfig that the server writes."""
    api = config.new_client_from_config(str(server.config_file))
    yield api
    api.close()


@pytest.fixture(scope="module")
def namespace(server: DaemonProcess) -> str:
    return in_new_namespace(server, "python")


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


def test_version_groups_and_resources(api: Any) -> None:
    """Version, groups and resources are read."""
    assert client.VersionApi(api).get_code().git_version == default_release(KUBERNETES).version
    groups = [g.name for g in client.ApisApi(api).get_api_versions().groups]
    assert "apps" in groups and WORD("storage.{abbr}.io") in groups
    assert "pods" in [r.name for r in client.CoreV1Api(api).get_api_resources().resources]


def test_typed_objects_round_trip(core: Any, namespace: str) -> None:
    """Typed objects are created and read unchanged."""
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(generate_name="one-", labels={"a": "b"}), data={"k": "v"})
    created = core.create_namespaced_config_map(namespace, body)
    name = created.metadata.name
    assert name.startswith("one-") and created.metadata.uid and created.metadata.creation_timestamp.tzinfo
    created.data["k"] = "w"
    assert core.replace_namespaced_config_map(name, namespace, created).data == {"k": "w"}
    with pytest.raises(client.ApiException) as caught:
        core.replace_namespaced_config_map(name, namespace, created)
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")
    assert core.patch_namespaced_config_map(name, namespace, {"data": {"k": None, "l": "x"}}).data == {"l": "x"}
    assert [c.metadata.name for c in core.list_namespaced_config_map(namespace, label_selector="a=b").items] == [name]
    gone = core.delete_namespaced_config_map(name, namespace)
    assert (gone["status"] if isinstance(gone, dict) else gone.status) == "Success"
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="one"), string_data={"p": "q"})
    assert core.create_namespaced_secret(namespace, secret).data == {"p": "cQ=="}
    service = client.V1Service(
        metadata=client.V1ObjectMeta(name="front"),
        spec=client.V1ServiceSpec(selector={"a": "b"}, ports=[client.V1ServicePort(port=80, target_port="web")]),
    )
    assert core.create_namespaced_service(namespace, service).spec.cluster_ip.startswith("10.0.0.")


def test_pod_is_bound_and_evicted(core: Any, namespace: str) -> None:
    """A pod is created, bound, given a status and evicted, as by a kubelet and a scheduler."""
    core.create_namespaced_pod(namespace, pod("one", app="x"))
    core.create_node({"metadata": {"name": "python-node"}})
    target = client.V1ObjectReference(api_version="v1", kind="Node", name="python-node")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="one"), target=target)
    core.create_namespaced_pod_binding("one", namespace, binding, _preload_content=False)
    assert core.read_namespaced_pod("one", namespace).spec.node_name == "python-node"
    now = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    assert core.patch_namespaced_pod_status("one", namespace, now).status.phase == "Running"
    conditions = core.read_namespaced_pod_status("one", namespace).status.conditions
    assert {c.type for c in conditions} == {"Ready", "PodScheduled"}
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="one"))
    core.create_namespaced_pod_eviction("one", namespace, eviction, _preload_content=False)
    assert core.read_namespaced_pod("one", namespace).metadata.deletion_timestamp is not None
    core.delete_namespaced_pod("one", namespace, grace_period_seconds=0)
    core.delete_node("python-node")


def test_workloads_and_scale(api: Any, namespace: str) -> None:
    """Workloads, their scale and their status are read and written."""
    apps, batch = client.AppsV1Api(api), client.BatchV1Api(api)
    apps.create_namespaced_deployment(namespace, deployment("web", replicas=0))
    scale = apps.read_namespaced_deployment_scale("web", namespace)
    assert not scale.spec.replicas and scale.status.selector == "app=web"
    patched = apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 1}})
    assert patched.spec.replicas == 1
    stored = apps.read_namespaced_deployment("web", namespace)
    assert stored.spec.replicas == 1 and stored.metadata.generation == 2
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example/main:1"}]}}
    job = batch.create_namespaced_job(namespace, {"metadata": {"name": "once"}, "spec": {"template": template}})
    assert job.spec.backoff_limit == 6 and job.spec.selector.match_labels
    cron = {
        "metadata": {"name": "often"},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": template}}},
    }
    assert batch.create_namespaced_cron_job(namespace, cron).spec.concurrency_policy == "Allow"
    batch.delete_namespaced_job("once", namespace, propagation_policy="Background")
    apps.delete_namespaced_deployment("web", namespace, propagation_policy="Foreground")
    assert apps.list_deployment_for_all_namespaces(field_selector="metadata.name=web").metadata.resource_version


def test_roles_and_reviews(api: Any, namespace: str) -> None:
    """Roles are created, and access reviews follow them."""
    rbac = client.RbacAuthorizationV1Api(api)
    rule = client.V1PolicyRule(api_groups=[""], resources=["pods"], verbs=["get"])
    rbac.create_namespaced_role(namespace, client.V1Role(metadata=client.V1ObjectMeta(name="one"), rules=[rule]))
    rbac.create_namespaced_role_binding(
        namespace,
        {
            "metadata": {"name": "one"},
            "subjects": [{"kind": "User", "name": "alice", "apiGroup": WORD("rbac.authorization.{abbr}.io")}],
            "roleRef": {"kind": "Role", "name": "one", "apiGroup": WORD("rbac.authorization.{abbr}.io")},
        },
    )
    assert "cluster-admin" in [r.metadata.name for r in rbac.list_cluster_role().items]
    review = {
        "spec": {"user": "alice", "resourceAttributes": {"namespace": namespace, "verb": "get", "resource": "pods"}}
    }
    assert client.AuthorizationV1Api(api).create_subject_access_review(review).status.allowed is True


def test_bearer_token_user_is_refused(server: DaemonProcess, namespace: str) -> None:
    """A user with a bearer token is authenticated as such, and rejected with the reason."""
    settings = client.Configuration(host=server.url)
    settings.verify_ssl = True
    settings.ssl_ca_cert = str(server.data / "pki" / "ca.crt")
    settings.api_key = {"authorization": "Bearer alice-token"}
    with client.ApiClient(settings) as other, pytest.raises(client.ApiException) as caught:
        client.CoreV1Api(other).list_namespaced_secret(namespace)
    assert caught.value.status == 403
    assert json.loads(caught.value.body)["message"].startswith('secrets is forbidden: User "alice" cannot list')
    settings.api_key = {"authorization": "Bearer nonsense"}
    with client.ApiClient(settings) as other, pytest.raises(client.ApiException) as caught:
        client.CoreV1Api(other).list_namespaced_secret(namespace)
    assert (caught.value.status, caught.value.reason) == (401, "Unauthorized")


def test_errors_carry_the_status(core: Any, namespace: str) -> None:
    """An error has the status code, its reason and the whole Status."""
    cases: list[tuple[int, str, Callable[[], Any]]] = [
        (404, "Not Found", lambda: core.read_namespaced_pod("nobody", namespace)),
        (409, "Conflict", lambda: core.create_namespace({"metadata": {"name": namespace}})),
        (
            422,
            "Unprocessable Entity",
            lambda: core.create_namespaced_config_map(namespace, {"metadata": {"name": "A_b"}}),
        ),
        (400, "Bad Request", lambda: core.list_namespaced_pod(namespace, field_selector="spec.bogus=1")),
    ]
    for status, reason, call in cases:
        with pytest.raises(client.ApiException) as caught:
            call()
        assert caught.value.status == status, caught.value.body
        assert caught.value.reason == reason
        body = json.loads(caught.value.body)
        assert body["kind"] == "Status" and body["code"] == status and body["status"] == "Failure"
        assert caught.value.headers["Content-Type"] == "application/json"


def test_pages_show_one_snapshot(core: Any, server: DaemonProcess) -> None:
    """limit and continue page through one snapshot, whatever is written meanwhile."""
    namespace = in_new_namespace(server, "pages")
    for i in range(25):
        core.create_namespaced_config_map(namespace, config_map(f"c{i:02}", {"p": "1"}))
    names, token, remaining, pages = [], None, [], 0
    while token != "":
        page = core.list_namespaced_config_map(namespace, limit=10, _continue=token or None)
        names += [c.metadata.name for c in page.items if c.metadata.name.startswith("c")]
        remaining.append(page.metadata.remaining_item_count)
        if not pages:
            core.delete_namespaced_config_map("c20", namespace)
            core.create_namespaced_config_map(namespace, config_map("c99"))
        token, pages = page.metadata._continue or "", pages + 1
    assert names == [f"c{i:02}" for i in range(25)]
    assert pages == 3 and remaining[-1] is None and remaining[0] > remaining[1]


def test_patch_types(api: Any, core: Any, namespace: str) -> None:
    """The client uses JSON patch for lists, strategic merge for objects, and any other type on request."""
    core.create_namespaced_config_map(namespace, config_map("patched", a="1"))

    def patch(kind: str, body: Any, **more: Any) -> Any:
        return core.patch_namespaced_config_map("patched", namespace, body, _content_type=kind, **more)

    assert (
        core.patch_namespaced_config_map("patched", namespace, [{"op": "add", "path": "/data/b", "value": "2"}]).data[
            "b"
        ]
        == "2"
    )
    assert patch("application/merge-patch+json", {"data": {"b": None}}).data == {"a": "1"}
    assert patch("application/strategic-merge-patch+json", {"data": {"c": "3"}}).data == {"a": "1", "c": "3"}
    applied = patch("application/apply-patch+yaml", config_map("patched", d="4"), field_manager="test", force=True)
    assert applied.data == {"a": "1", "c": "3", "d": "4"}
    assert {"manager": "test", "operation": "Apply"}.items() <= applied.metadata.managed_fields[0].to_dict().items()
    with pytest.raises(client.ApiException) as caught:
        patch("application/json", {"data": {}})
    assert caught.value.status == 415


def test_watch_events_in_order(core: Any, server: DaemonProcess) -> None:
    """Events come in order from the given revision, and the stream ends at its timeout."""
    namespace = in_new_namespace(server, "watching")
    core.create_namespaced_config_map(namespace, config_map("before"))
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("one", {"x": "y"}))
    core.patch_namespaced_config_map("one", namespace, {"data": {"a": "1"}})
    core.patch_namespaced_config_map("one", namespace, {"metadata": {"labels": {"x": None}}})
    core.delete_namespaced_config_map("one", namespace)

    def events(**more: Any) -> list[tuple[str, str]]:
        return [
            (e["type"], e["object"].metadata.name)
            for e in watch.Watch().stream(core.list_namespaced_config_map, namespace, timeout_seconds=1, **more)
            if e["object"].metadata.name in ("before", "one")
        ]

    whole = [("ADDED", "one"), ("MODIFIED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]
    assert events(resource_version=start) == whole
    assert events(resource_version=start, label_selector="x=y") == [
        ("ADDED", "one"),
        ("MODIFIED", "one"),
        ("DELETED", "one"),
    ]
    assert events() == [("ADDED", "before")]
    assert events(resource_version=start, field_selector="metadata.name=before") == []


def test_open_watch_gets_new_events(core: Any, server: DaemonProcess) -> None:
    """Changes during a watch arrive on it at once, and stopping it ends it."""
    namespace = in_new_namespace(server, "living")
    seen: list[str] = []
    done = threading.Event()
    watching = watch.Watch()

    def follow() -> None:
        for event in watching.stream(
            core.list_namespaced_config_map, namespace, label_selector="n", timeout_seconds=int(PATIENCE)
        ):
            seen.append(event["object"].metadata.name)
            if len(seen) == 20:
                watching.stop()
        done.set()

    threading.Thread(target=follow, daemon=True).start()
    for i in range(20):
        core.create_namespaced_config_map(namespace, config_map(f"c{i}", {"n": "1"}))
    assert done.wait(PATIENCE), seen
    assert sorted(seen) == sorted(f"c{i}" for i in range(20))


def test_dynamic_client(api: Any, namespace: str) -> None:
    """The dynamic client discovers kinds and supports all verbs, server-side apply included."""
    dynamic_client = dynamic.DynamicClient(api)
    maps = dynamic_client.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body=config_map("dyn", a="1"), namespace=namespace)
    assert maps.get(name="dyn", namespace=namespace).data.a == "1"
    assert maps.patch(
        name="dyn", namespace=namespace, body={"data": {"b": "2"}}, content_type="application/merge-patch+json"
    ).data.to_dict() == {"a": "1", "b": "2"}
    applied = maps.server_side_apply(
        body=config_map("dyn", c="3"), name="dyn", namespace=namespace, field_manager="test"
    )
    assert applied.data.to_dict() == {"a": "1", "b": "2", "c": "3"}
    with pytest.raises(dynamic.exceptions.ConflictError):
        maps.server_side_apply(body=config_map("dyn", c="4"), name="dyn", namespace=namespace, field_manager="other")
    for event in maps.watch(namespace=namespace, field_selector="metadata.name=dyn", timeout=1):
        assert event["type"] == "ADDED" and event["object"].metadata.name == "dyn"
    maps.delete(name="dyn", namespace=namespace)
    with pytest.raises(dynamic.exceptions.NotFoundError):
        maps.get(name="dyn", namespace=namespace)
    with pytest.raises(dynamic.exceptions.ResourceNotFoundError):
        dynamic_client.resources.get(api_version="v1", kind="Nothing")
    apps = dynamic_client.resources.get(api_version="apps/v1", kind="Deployment")
    apps.create(body=deployment("dyn", replicas=0), namespace=namespace)
    assert apps.scale.get(name="dyn", namespace=namespace).status.selector == "app=dyn"
    apps.delete(name="dyn", namespace=namespace)
    assert len(dynamic_client.resources.search()) > 50


def test_custom_objects_api(api: Any, core: Any, namespace: str) -> None:
    """A definition is established, and its objects are dicts."""
    definitions, custom = client.ApiextensionsV1Api(api), client.CustomObjectsApi(api)
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    definitions.create_custom_resource_definition(
        {
            "metadata": {"name": "gadgets.example.org"},
            "spec": {
                "group": "example.org",
                "scope": "Namespaced",
                "names": {"plural": "gadgets", "kind": "Gadget"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": schema},
                    }
                ],
            },
        }
    )

    def established() -> bool:
        conditions = definitions.read_custom_resource_definition("gadgets.example.org").status.conditions or []
        return ("Established", "True") in [(c.type, c.status) for c in conditions]

    until(established)
    where = ("example.org", "v1", namespace, "gadgets")
    gadget = {
        "apiVersion": "example.org/v1",
        "kind": "Gadget",
        "metadata": {"name": "one"},
        "spec": {"size": 1, "no": 1},
    }
    assert custom.create_namespaced_custom_object(*where, gadget)["spec"] == {"size": 1}
    assert custom.patch_namespaced_custom_object(*where, "one", {"spec": {"size": 2}})["spec"] == {"size": 2}
    assert [o["metadata"]["name"] for o in custom.list_namespaced_custom_object(*where)["items"]] == ["one"]
    with pytest.raises(client.ApiException) as caught:
        custom.patch_namespaced_custom_object(*where, "one", {"spec": {"size": "large"}})
    assert caught.value.status == 422
    for event in watch.Watch().stream(custom.list_namespaced_custom_object, *where, timeout_seconds=1):
        assert event["object"]["kind"] == "Gadget"
    kind = dynamic.DynamicClient(api).resources.get(api_version="example.org/v1", kind="Gadget")
    assert kind.get(name="one", namespace=namespace).spec.size == 2
    custom.delete_namespaced_custom_object(*where, "one")
    definitions.delete_custom_resource_definition("gadgets.example.org")


def test_create_from_yaml(api: Any, namespace: str, tmp_path: Any) -> None:
    """The client's helper creates objects from a file."""
    path = tmp_path / "two.json"
    path.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [config_map("y1"), deployment("y2", replicas=0)]})
    )
    created = stock.utils.create_from_yaml(api, str(path), namespace=namespace)
    assert [o.metadata.name for group in created for o in (group if isinstance(group, list) else [group])] == [
        "y1",
        "y2",
    ]


def test_leases_are_taken_and_renewed(api: Any, namespace: str) -> None:
    """Leases are created, renewed and read."""
    coordination = client.CoordinationV1Api(api)
    spec = client.V1LeaseSpec(
        holder_identity="a", lease_duration_seconds=15, renew_time=datetime(2024, 1, 1, microsecond=1, tzinfo=UTC)
    )
    lease = coordination.create_namespaced_lease(
        namespace, client.V1Lease(metadata=client.V1ObjectMeta(name="one"), spec=spec)
    )
    lease.spec.holder_identity = "b"
    assert coordination.replace_namespaced_lease("one", namespace, lease).spec.holder_identity == "b"
