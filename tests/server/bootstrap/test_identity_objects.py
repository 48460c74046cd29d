"""Objects about a server and its cluster that follow the release."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from orchd.dialect import KUBERNETES, ORCH
from orchd.server.reconcilers.server_identity import host_identity, random_identity
from orchd.testing.doubles.server import NOW, make_server, run

SYSTEM = f"/api/v1/namespaces/{ORCH.system_namespace}/configmaps"
TRACKING = f"{SYSTEM}/{ORCH('{short}-apiserver-legacy-service-account-token-tracking')}"


def test_identity_of_a_host() -> None:
    """The name is that of the reference for the same host; the holder differs with each start."""
    one, other = (host_identity(KUBERNETES, Random(seed), "vm") for seed in (1, 2))
    assert one.name == other.name == "apiserver-wlv32tlttr4jl3gtroqexyxapa"
    assert one.holder != other.holder and one.holder.startswith(f"{one.name}_")
    assert dict([one.mark], **one.labels) == {
        KUBERNETES("apiserver.{long}.io/identity"): KUBERNETES("{short}-apiserver"),
        KUBERNETES("{long}.io/hostname"): "vm",
    }


def test_identity_of_a_start() -> None:
    """In release 1.23 every start has another name, which is the holder as well."""
    one, other = (random_identity(KUBERNETES, Random(seed), "vm") for seed in (1, 2))
    assert one.name == one.holder != other.name and not one.labels


@pytest.mark.parametrize(("release", "code"), [("1.23", 404), ("1.35", 200)])
def test_date_of_token_tracking(tmp_path: Path, release: str, code: int) -> None:
    """From release 1.26 on a ConfigMap has the date at which the tracking began; what is no date is replaced."""
    server = make_server(tmp_path, f"--emulated-version={release}", wall=lambda: NOW)
    try:
        server.clock.advance(1)
        response: Any = run(server.request("GET", TRACKING))
        assert response.code == code
        if code == 200:
            since = response.json["data"]["since"]
            assert len(since) == 10
            patch = {"content-type": "application/merge-patch+json"}
            run(server.request("PATCH", TRACKING, body={"data": {"since": "x"}}, headers=patch))
            server.clock.advance(1801)
            assert run(server.request("GET", TRACKING)).json["data"]["since"] == since
    finally:
        server.stop()
