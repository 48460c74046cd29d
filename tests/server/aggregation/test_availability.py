"""The Available condition of APIServices."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.server.aggregation.api_services import registered_of
from orchd.server.aggregation.availability import finding, with_availability
from orchd.testing.doubles.server import run

SPEC: dict[str, Any] = {
    "group": "g.example.com",
    "version": "v1",
    "service": {"namespace": "n", "name": "s", "port": 443},
}
SERVER = registered_of({"metadata": {"name": "v1.g.example.com"}, "spec": SPEC})
SERVICE: dict[str, Any] = {"spec": {"type": "ClusterIP", "ports": [{"name": "a", "port": 443}]}}
HERE = 'service/s in "n"'


@pytest.mark.parametrize(
    ("service", "endpoints", "reason", "message"),
    [
        (None, None, "ServiceNotFound", f"{HERE} is not present"),
        (
            {"spec": {"type": "ClusterIP", "ports": [{"port": 80}]}},
            None,
            "ServicePortError",
            f"{HERE} is not listening on port 443",
        ),
        (SERVICE, None, "EndpointsNotFound", f"cannot find endpoints for {HERE}"),
        (SERVICE, {}, "MissingEndpoints", f'endpoints for {HERE} have no addresses with port name "a"'),
        (
            SERVICE,
            {"subsets": [{"addresses": [{"ip": "1.1.1.1"}], "ports": [{"name": "b"}]}]},
            "MissingEndpoints",
            f'endpoints for {HERE} have no addresses with port name "a"',
        ),
    ],
)
def test_missing_service_port_or_endpoints_are_reported(
    service: Any, endpoints: Any, reason: str, message: str
) -> None:
    """They are checked in the reference's order: the service, its port, its endpoints."""
    assert finding(SERVER, service, endpoints) == ("False", reason, message)


def test_local_api_service_is_always_available() -> None:
    """A local APIService is always available."""
    local = registered_of({"metadata": {"name": "v1."}, "spec": {"version": "v1"}})
    assert local is None and finding(local, None, None) == ("True", "Local", "Local APIServices are always available")


@pytest.mark.parametrize("service", [SERVICE, {"spec": {"type": "ExternalName"}}])
def test_complete_service_is_probed(service: Any) -> None:
    """A service with endpoints is probed."""
    endpoints = {"subsets": [{"addresses": [{"ip": "1.1.1.1"}], "ports": [{"name": "a"}]}]}
    assert finding(SERVER, service, endpoints) is None


def test_transition_time_changes_with_the_status_only() -> None:
    """A changed message with the same status keeps the transition time."""
    first = with_availability({}, ("False", "A", "a"), now="1")
    second = with_availability(first, ("False", "B", "b"), now="2")
    third = with_availability(second, ("True", "C", "c"), now="3")
    assert [s["conditions"][0]["lastTransitionTime"] for s in (first, second, third)] == ["1", "1", "3"]
    assert [c["reason"] for c in third["conditions"]] == ["C"]


def test_requests_to_an_unavailable_server_are_503(space: Any) -> None:
    """The condition follows the service; requests get 503 until the APIService is deleted. So do its metrics."""
    server = space.server
    url = f"/apis/{ORCH('apiregistration.{abbr}.io/v1')}/apiservices"
    spec = {
        "group": "g.example.com",
        "version": "v1",
        "groupPriorityMinimum": 1,
        "versionPriority": 1,
        "insecureSkipTLSVerify": True,
        "service": {"namespace": space.name, "name": "s"},
    }
    name = "v1.g.example.com"
    assert run(server.request("POST", url, body={"metadata": {"name": name}, "spec": spec})).code == 201

    def reason() -> str:
        (condition,) = run(server.request("GET", f"{url}/{name}")).json["status"]["conditions"]
        return str(condition["reason"])

    assert reason() == "ServiceNotFound"
    space.make("services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    assert reason() == "ServicePortError"

    def measured() -> set[str]:
        lines = run(server.request("GET", "/metrics")).body.decode().splitlines()
        return {line for line in lines if line.startswith("aggregator_unavailable_apiservice") and name in line}

    assert measured() == {
        f'aggregator_unavailable_apiservice{{name="{name}"}} 1.0',
        f'aggregator_unavailable_apiservice_total{{name="{name}",reason="ServiceNotFound"}} 1.0',
    }
    for path in ("/apis/g.example.com/v1", "/apis/g.example.com/v1/things"):
        response = run(server.request("GET", path))
        assert (response.code, response.body) == (503, b"service unavailable\n")
    assert run(server.request("GET", "/apis/g.example.com/v2/things")).code == 404
    run(server.request("DELETE", f"{url}/{name}"))
    assert run(server.request("GET", "/apis/g.example.com/v1")).code == 404
    assert not measured()
