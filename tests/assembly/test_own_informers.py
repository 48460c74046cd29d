"""The informers of a whole server serve built-in kinds in the requested version, and custom kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.server.informing.informer import CachedInformer
from orchd.testing.doubles.server import InProcessServer, make_server, run

SLICE = {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": []}


@pytest.fixture
def server(tmp_path: Path) -> InProcessServer:
    return make_server(tmp_path, "--runtime-config=policy/v1beta1=false,policy/v1=false")


def test_objects_are_converted_to_the_informers_version(server: InProcessServer) -> None:
    """Objects come in the version of the informer, whichever version is stored."""
    group = server.dialect("discovery.{abbr}.io")
    created = run(server.request("POST", f"/apis/{group}/v1/namespaces/default/endpointslices", body=SLICE))
    assert created.code == 201, created.body
    for version in ("v1", "v1beta1"):
        informer = server.server.objects.informers.informer(ResourceRef(group, version, "endpointslices"))
        service = informer.get("default", "s")
        assert service is not None and service["apiVersion"] == f"{group}/{version}"
        assert service["metadata"]["resourceVersion"] == created.json["metadata"]["resourceVersion"]
    server.stop()


def test_informer_of_an_unserved_kind_is_empty_and_synced(server: InProcessServer) -> None:
    """The informer of a kind that is not served is empty and synced, and the server becomes ready."""
    informer = server.server.objects.informers.informer(ResourceRef("policy", "v1", "poddisruptionbudgets"))
    for _ in range(5):
        server.clock.advance(0)
    assert isinstance(informer, CachedInformer) and informer.synced and not list(informer.list())
    server.stop()


def test_informer_of_an_undefined_custom_kind_is_empty_and_synced(server: InProcessServer) -> None:
    """The informer of a custom kind without a definition is empty and synced, so that the server becomes ready."""
    informer = server.server.objects.informers.informer(ResourceRef("example.com", "v1", "widgets"))
    assert not isinstance(informer, CachedInformer) and informer.synced and not list(informer.list())
    server.stop()
