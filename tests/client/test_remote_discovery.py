"""A catalog from a server's discovery documents, and requested service account tokens."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from orchd.client.account_tokens import AccountToken
from orchd.client.discovery import DiscoveredCatalog
from orchd.dialect import ORCH
from orchd.errors import ApiError, not_found, unavailable
from orchd.kinds.release import SPECIFICATION
from orchd.testing.doubles.server import run


class Server:
    """Answers paths with documents; paths in `broken` fail."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.looks = 0
        self.documents: dict[str, Any] = {
            "/api": {"versions": ["v1"]},
            "/apis": {
                "groups": [
                    {"name": "apps", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
                    {"name": "own.example", "versions": [{"version": "v2"}, {"version": "v1"}]},
                ]
            },
            "/api/v1": {"resources": [line("pods", "Pod"), line("pods/status", "Pod")]},
            "/apis/apps/v1": {"resources": [line("deployments", "Deployment", "get list")]},
            "/apis/own.example/v2": {
                "resources": [
                    line("things", "Thing", namespaced=False),
                    {**line("things/scale", "Scale", "get"), "group": "autoscaling", "version": "v1"},
                    {"name": "things/status", "kind": "Thing"},
                    line("others/scale", "Scale"),
                ]
            },
            "/apis/own.example/v1": {"resources": []},
        }

    async def fetch(self, path: str) -> Any:
        self.looks += path == "/apis"
        if path in self.broken:
            raise unavailable(path)
        return self.documents[path]


def line(name: str, kind: str, verbs: str = "get list delete", namespaced: bool = True) -> dict[str, Any]:
    return {"name": name, "kind": kind, "namespaced": namespaced, "verbs": verbs.split()}


def test_discovered_catalog_has_built_in_and_custom_kinds() -> None:
    """Built-in resources have their types and the verbs of this server; other resources are custom kinds."""
    catalog = DiscoveredCatalog(Server().fetch, ORCH, SPECIFICATION, Clock())
    run(catalog.load())
    discovered = catalog()
    pods = discovered.resource("", "v1", "pods")
    assert pods is not None and not pods.custom and pods.verbs == ("get", "list", "delete")
    deployments = discovered.resource("apps", "v1", "deployments")
    assert deployments is not None and deployments.verbs == ("get", "list")
    things = discovered.kind("own.example/v2", "Thing")
    assert things is not None and things.custom and not things.namespaced
    scale, status = (things.subresources[name] for name in ("scale", "status"))
    assert (scale.kind, scale.verbs, scale.group, scale.version) == ("Scale", ("get",), "autoscaling", "v1")
    assert (status.kind, status.verbs, status.group, status.version) == ("Thing", (), "", "")
    assert set(things.subresources) == {"scale", "status"}
    assert [(group.name, group.preferred) for group in discovered.groups] == [
        ("", "v1"),
        ("apps", "v1"),
        ("own.example", "v2"),
    ]
    assert discovered.resource("", "v1", "pods/status") is None


def test_unchanged_discovery_keeps_the_catalog() -> None:
    """The catalog is replaced only if discovery changed; a group that does not answer keeps its last state."""
    server, clock = Server(), Clock()
    catalog = DiscoveredCatalog(server.fetch, ORCH, SPECIFICATION, clock)
    run(catalog.load())
    catalog.start()
    first = catalog()
    clock.advance(30)
    assert server.looks == 2 and catalog() is first
    server.broken.add("/apis/own.example/v2")
    clock.advance(30)
    assert catalog() is first
    server.broken.add("/apis")
    clock.advance(30)
    assert catalog() is first
    server.broken.clear()
    server.documents["/api/v1"]["resources"].append(line("nodes", "Node", namespaced=False))
    clock.advance(30)
    assert catalog().resource("", "v1", "nodes") is not None
    run(catalog.stop())
    assert not clock.getDelayedCalls()


def test_versions_of_a_server_are_bounded() -> None:
    """Groups with more than two thousand versions in all are left out, and those without any."""
    server = Server()
    many = [{"version": f"v{number}"} for number in range(1998)]
    groups = [
        {"name": "empty"},
        {"name": "many.example", "versions": many},
        {"name": "two.example", "versions": [{"version": "v1"}, {"version": "v2"}]},
        {"name": "last.example", "versions": [{"version": "v1"}]},
    ]
    server.documents["/apis"] = {"groups": groups}
    server.documents |= {f"/apis/many.example/v{number}": {} for number in range(1998)}
    server.documents |= {f"/apis/two.example/v{number}": {} for number in (1, 2)}
    catalog = DiscoveredCatalog(server.fetch, ORCH, SPECIFICATION, Clock())
    run(catalog.load())
    assert [group.name for group in catalog().groups] == ["", "many.example", "two.example"]


def test_failed_discoveries_are_logged() -> None:
    """A server that does not respond, and an invalid document, leave the catalog as it was; discovery goes on."""
    server, clock = Server(), Clock()
    catalog = DiscoveredCatalog(server.fetch, ORCH, SPECIFICATION, clock)
    run(catalog.load())
    catalog.start()
    first = catalog()
    server.broken.add("/apis")
    with capturedLogs() as events:
        clock.advance(30)
        server.broken.clear()
        server.documents["/apis"] = {"groups": [{}, {"versions": [{}]}]}
        clock.advance(30)
    assert [formatEvent(event).partition("\n")[0] for event in events] == [
        "failed to discover the served resources, keeping the previous ones: /apis",
        "discovery",
    ]
    assert catalog() is first
    server.documents["/apis"] = {}
    clock.advance(30)
    assert [group.name for group in catalog().groups] == [""]
    run(catalog.stop())


def test_notified_changes_are_discovered_once() -> None:
    """After notifications of changes, discovery runs once, a moment later."""
    server, clock = Server(), Clock()
    catalog = DiscoveredCatalog(server.fetch, ORCH, SPECIFICATION, clock)
    run(catalog.load())
    catalog.start()
    for _ in range(3):
        catalog.look_soon()
    assert server.looks == 1
    clock.advance(0.25)
    assert server.looks == 2
    clock.advance(29)
    assert server.looks == 2
    clock.advance(1)
    assert server.looks == 3
    run(catalog.stop())


class Accounts:
    """A server with service accounts."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.tokens = 0

    async def create(self, ref: Any, namespace: str, obj: Any, *, name: str = "", subresource: str = "") -> Any:
        if subresource == "token":
            if name not in self.made:
                raise not_found("", "serviceaccounts", name)
            assert obj["spec"] == {"expirationSeconds": 3600}
            self.tokens += 1
            return {**obj, "status": {"token": f"{name}-{self.tokens}"}}
        self.made.append(obj["metadata"]["name"])
        return obj


def test_account_token_is_renewed_and_missing_accounts_are_created() -> None:
    """A token is kept for most of its lifetime or until it is rejected; a missing account is created."""
    server: Any = Accounts()
    now = [1000.0]
    token = AccountToken(server, ORCH, namespace="orch-system", account="job", wall=lambda: now[0])
    assert run(token()) == "job-1"
    assert server.made == ["job"]
    now[0] += 2879
    assert run(token()) == "job-1"
    now[0] += 1
    assert run(token()) == "job-2"
    token.refused()
    assert run(token()) == "job-3"


@pytest.mark.parametrize(("code", "raised"), [(409, False), (403, True)])
def test_account_that_is_created_meanwhile(code: int, raised: bool) -> None:
    """Whoever creates it, its token can be requested then."""
    server: Any = Accounts()
    create = server.create

    async def race(*arguments: Any, **named: Any) -> Any:
        made = await create(*arguments, **named)
        if not named:
            raise ApiError(code, "", "refused")
        return made

    server.create = race
    token = AccountToken(server, ORCH, namespace="orch-system", account="job", wall=lambda: 0.0)
    if raised:
        with pytest.raises(ApiError, match="refused"):
            run(token())
    else:
        assert run(token()) == "job-1"


def test_account_errors_are_raised() -> None:
    """Other errors are raised to the caller."""

    class Refusing:
        async def create(self, *arguments: Any, **named: Any) -> Any:
            raise unavailable("away")

    refusing: Any = Refusing()
    with pytest.raises(ApiError, match="away"):
        run(AccountToken(refusing, ORCH, namespace="a", account="b", wall=lambda: 0.0)())
