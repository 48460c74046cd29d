"""Metrics of a server's parts, scraped from a whole one."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.settings import ObjectSettings
from orchd.pki.certificates import chain_pem, self_signed
from orchd.server.registry.strategies.signing_requests import SigningRequestStrategy
from orchd.store.encrypted import EncryptedStore
from orchd.store.encryption import AesGcm, Rule
from orchd.store.memory import MemoryStore
from orchd.testing.doubles.server import InProcessServer, make_server, run
from tests.samples import samples

Scrape = Callable[..., float]
PODS = "/api/v1/namespaces/a/pods"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path, "--disable-admission-plugins=ServiceAccount", "--dialect=kubernetes")
    labels = {"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "restricted"}
    run(server.client().create(ResourceRef("", "v1", "namespaces"), "", {"metadata": {"name": "a", "labels": labels}}))
    yield server
    server.stop()


@pytest.fixture
def scrape(server: InProcessServer) -> Scrape:
    """``scrape(name, label=value)`` is the sum of the matching samples."""

    def read(name: str, **labels: str) -> float:
        text = run(server.request("GET", "/metrics")).body.decode()
        return sum(
            sample.value
            for sample in samples(text, name)
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    return read


@pytest.fixture
def call(server: InProcessServer) -> Any:
    def send(method: str, path: str, body: Any = None, **more: Any) -> Any:
        return run(server.request(method, path, body=body, **more))

    return send


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def test_pod_security_evaluations_are_counted(call: Any, scrape: Scrape) -> None:
    """Evaluations are counted by decision and mode; those of mode warn only if there is a warning."""
    assert call("POST", PODS, pod("fine")).code == 201
    assert call("POST", PODS, pod("greedy", hostNetwork=True)).code == 403
    name = "pod_security_evaluations_total"
    common = {"request_operation": "create", "resource": "pod", "policy_version": "latest"}
    assert scrape(name, decision="allow", mode="enforce", policy_level="baseline", **common) == 1
    assert scrape(name, decision="deny", mode="enforce", policy_level="baseline", **common) == 1
    assert scrape(name, decision="deny", mode="warn", policy_level="restricted", **common) == 1


def test_cluster_ip_allocations_are_counted(call: Any, scrape: Scrape) -> None:
    """Allocations, failures and the remaining addresses of the range are counted."""
    prefix = "kube_apiserver_clusterip_allocator_"
    before = [scrape(prefix + what) for what in ("allocation_total", "allocated_ips", "available_ips")]
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    stored_service = call("POST", "/api/v1/namespaces/a/services", service).json
    after = [scrape(prefix + what) for what in ("allocation_total", "allocated_ips", "available_ips")]
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1, -1]
    assert after[1] + after[2] == 254
    again = {
        "metadata": {"name": "t"},
        "spec": {"ports": [{"port": 80}], "clusterIP": stored_service["spec"]["clusterIP"]},
    }
    assert call("POST", "/api/v1/namespaces/a/services", again).code == 422
    assert scrape(prefix + "allocation_errors_total", cidr="10.0.0.0/24") == 1


def test_node_port_allocations_are_counted(call: Any, scrape: Scrape) -> None:
    """Allocations by whether a port was requested, failures, and the remaining ports."""
    prefix = "kube_apiserver_nodeport_allocator_"
    free = scrape(prefix + "available_ports")
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81, "nodePort": 30001}]
    service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}}
    path = "/api/v1/namespaces/a/services"
    assert call("POST", path + "?dryRun=All", service).code == 201
    assert call("POST", path, service).code == 201
    assert call("POST", path, {**service, "metadata": {"name": "t"}}).code == 422
    assert [scrape(prefix + "allocation_total", scope=scope) for scope in ("static", "dynamic")] == [1, 2]
    assert scrape(prefix + "allocation_errors_total", scope="static") == 1
    assert scrape(prefix + "allocated_ports") == 2 and scrape(prefix + "available_ports") == free - 2


def test_list_results_are_counted(call: Any, scrape: Scrape) -> None:
    """Objects that lists read and those that they return are counted."""
    for number in range(3):
        labels = {"n": str(number)}
        call("POST", "/api/v1/namespaces/a/configmaps", {"metadata": {"name": f"m{number}", "labels": labels}})
    where = {"group": "", "resource": "configmaps"}

    def numbers() -> list[float]:
        return [
            scrape(f"apiserver_cache_list_{what}_total", **where) for what in ("fetched_objects", "returned_objects")
        ]

    before = numbers()
    call("GET", "/api/v1/namespaces/a/configmaps?labelSelector=n%20in%20(1,2)")
    # The selector is not exact, so all objects of the namespace are read.
    assert [now - then for now, then in zip(numbers(), before, strict=True)] == [3, 2]


def test_signed_requests_with_durations_are_counted() -> None:
    """A certificate whose request had a duration is counted, and separately if the duration was granted."""
    catalog = builtin_catalog(KUBERNETES)
    resource = catalog.resource("certificates.k8s.io", "v1", "certificatesigningrequests")
    assert resource is not None
    strategy = SigningRequestStrategy(resource, catalog, ObjectSettings(dialect=KUBERNETES))
    signed = self_signed("x", names=("x",), now=datetime.now(UTC), lifetime=timedelta(hours=1))
    after = {"status": {"certificate": b64encode(chain_pem(signed.certificate)).decode()}}
    for signer, seconds in (
        ("kubernetes.io/kubelet-serving", 3600),
        ("a.example/b", 86400),
        ("a.example/c", 3600),
        ("a.example/d", None),
    ):
        before = {"spec": {"signerName": signer, "expirationSeconds": seconds}}
        strategy.observe_update(after, before)
        strategy.observe_update(after, {**before, **after})
    requested, honored = (each.values for each in strategy.instruments)
    assert requested == {("kubernetes.io/kubelet-serving",): 1, ("other",): 2}
    assert honored == {("kubernetes.io/kubelet-serving",): 1, ("other",): 1}


def test_encryption_operations_are_counted() -> None:
    """Encrypted and decrypted values are counted by direction and prefix."""
    rule = Rule("secrets", (AesGcm(b"k8s:enc:aesgcm:v1:one:", bytes(16)),), b"k8s:enc:")
    store = EncryptedStore(MemoryStore(Clock()), {"/secrets/": rule}, mark=b"k8s:enc:")
    assert store.start().called
    run(store.create("/secrets/a/b", b"{}"))
    run(store.create("/configmaps/a/b", b"{}"))
    item = run(store.get("/secrets/a/b"))
    assert item is not None and item.value == b"{}"
    operations = store.instruments[1].values
    assert operations == {
        ("to_storage", "k8s:enc:aesgcm:v1:one:", "OK"): 1, ("from_storage", "k8s:enc:aesgcm:v1:one:", "OK"): 1,
    }  # fmt: skip


def test_encryption_operations_of_later_releases() -> None:
    """Operations have the resource as well, and durations the prefix of the value."""
    rule = Rule("secrets", (AesGcm(b"k8s:enc:aesgcm:v1:one:", bytes(16)),), b"k8s:enc:")
    store = EncryptedStore(
        MemoryStore(Clock()), {"/secrets/": rule}, mark=b"k8s:enc:", resource_of=lambda key: key.split("/")[1]
    )
    assert store.start().called
    run(store.create("/secrets/a/b", b"{}"))
    durations, operations = (each.values for each in store.instruments)
    assert operations == {("to_storage", "k8s:enc:aesgcm:v1:one:", "OK", "secrets"): 1}
    assert list(durations) == [("to_storage", "k8s:enc:aesgcm:v1:one:")]


def test_rules_of_custom_kinds_are_measured(tmp_path: Path) -> None:
    """Compiling the rules of a place of a definition and evaluating them for a value, since release 1.25; comparing an
    updated object with the stored one, since 1.30."""
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name != 'b'"}]}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "measured.example.com", "scope": "Cluster", "names": names, "versions": [version]}
    server = make_server(
        tmp_path, "--dialect=kubernetes", "--emulated-version=1.35",
        "--feature-gates=CustomResourceValidationExpressions=true",
    )  # fmt: skip
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    body = {"metadata": {"name": "things.measured.example.com"}, "spec": spec}
    assert run(server.request("POST", definitions, body=body)).code == 201
    thing = {"apiVersion": "measured.example.com/v1", "kind": "Thing"}
    codes = [
        run(
            server.request("POST", "/apis/measured.example.com/v1/things", body={**thing, "metadata": {"name": name}})
        ).code
        for name in ("a", "b")
    ]
    labelled = server.request(
        "PATCH",
        "/apis/measured.example.com/v1/things/a",
        body={"metadata": {"labels": {"x": "1"}}},
        headers={"Content-Type": "application/merge-patch+json"},
    )
    codes.append(run(labelled).code)
    text = run(server.request("GET", "/metrics")).body.decode()
    server.stop()
    counts = [
        sum(sample.value for sample in samples(text, name) if sample.name.endswith("_count"))
        for name in (
            "apiserver_cel_compilation_duration_seconds",
            "apiserver_cel_evaluation_duration_seconds",
            "apiextensions_apiserver_validation_ratcheting_seconds",
        )
    ]
    assert (codes, counts) == ([201, 422, 200], [1, 3, 1])
