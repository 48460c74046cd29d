"""Field selectors of later releases on built-in kinds."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(("selector", "names"), [
    ("spec.type=ClusterIP", ["a", "b"]), ("spec.type=NodePort", ["c"]), ("spec.clusterIP=None", ["b"]),
    ("spec.clusterIP!=None,spec.type!=NodePort", ["a"]), ("spec.type=", []),
])  # fmt: skip
def test_service_field_selectors(space: Any, selector: str, names: list[str]) -> None:
    """Services are selected by type and by cluster IP."""
    ports = [{"port": 80}]
    for name, spec in (("a", {}), ("b", {"clusterIP": "None"}), ("c", {"type": "NodePort"})):
        space.make("services", {"metadata": {"name": name}, "spec": {"ports": ports, **spec}})
    listed = space("GET", f"services?fieldSelector={selector.replace('=', '%3D')}").json["items"]
    assert [item["metadata"]["name"] for item in listed] == names


@pytest.mark.parametrize(("value", "names"), [("true", ["b"]), ("false", ["a"]), ("", [])])
def test_pod_host_network_selector(space: Any, value: str, names: list[str]) -> None:
    """Pods are selected by spec.hostNetwork."""
    for name, more in (("a", {}), ("b", {"hostNetwork": True})):
        spec = {"containers": [{"name": "c", "image": "i"}], **more}
        space.make("pods", {"metadata": {"name": name}, "spec": spec})
    listed = space("GET", f"pods?fieldSelector=spec.hostNetwork%3D{value}").json["items"]
    assert [item["metadata"]["name"] for item in listed] == names
