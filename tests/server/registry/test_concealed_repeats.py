"""Repeated items of sets inside atomic lists, such as the addresses of endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.testing.doubles.server import make_server, run

APPLY = {"content-type": "application/apply-patch+yaml"}


@pytest.mark.parametrize(("release", "tracked"), [("1.23", False), ("1.35", True)])
def test_repeats_inside_atomic_lists_end_the_tracking_of_owners(tmp_path: Any, release: str, tracked: bool) -> None:
    """Release 1.23 drops the managed fields of such an object, and refuses to apply to it; later ones accept it."""
    server = make_server(tmp_path, "--dialect=kubernetes", f"--emulated-version={release}")
    url = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    slice_ = {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}]}
    made = run(server.request("POST", url, body=slice_)).json
    assert made["metadata"]["managedFields"]
    made["endpoints"] = [{"addresses": ["1.2.3.4", "1.2.3.4"]}]
    repeated = run(server.request("PUT", f"{url}/s", body=made))
    assert (repeated.code, "managedFields" in repeated.json["metadata"]) == (200, tracked)
    config = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "s", "labels": {"a": "b"}},
    }
    applied = run(server.request("PATCH", f"{url}/s?fieldManager=m", body=config, headers=APPLY))
    assert applied.code == (200 if tracked else 500)
    assert tracked or ".endpoints[0].addresses: duplicate entries for key" in applied.json["message"]
    server.stop()
