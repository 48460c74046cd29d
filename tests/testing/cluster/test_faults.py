"""Injected faults and the record of requests, on an in-process server."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Credentials
from orchd.server.http.request_body import NoBody
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.query import Query
from orchd.testing.cluster.faults import Fault, FaultStage, check_resource
from orchd.testing.cluster.recording import RequestLog
from orchd.testing.cluster.server import ClusterServer, ServerSpec
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start


def make(
    path: str = "/api/v1/namespaces/a/pods/x", method: str = "GET", user: User | None = None, **query: str
) -> Request:
    values = Query.of({name: (value,) for name, value in query.items()})
    return Request(
        method=method,
        path=path,
        raw_path=path,
        query=values,
        headers={"user-agent": ("me/1",)},
        body=NoBody(),
        credentials=Credentials(headers={}),
        received=0.0,
        user=user,
        info=requestinfo.parse(method, path, values),
    )


async def answer(request: Request) -> Response:
    request.user = request.user or User(name="alice", groups=("dev",))
    return Response(code=201)


def codes(stage: FaultStage, *requests: Request) -> list[int]:
    statuses = []
    for request in requests:
        try:
            statuses.append(run(stage(request, answer)).code)
        except ApiError as error:
            statuses.append(error.code)
    return statuses


def test_next_matching_requests_fail() -> None:
    """A fault applies to the given number of matching requests, and to no others."""
    stage = FaultStage(Clock())
    stage.add(Fault(match={"verb": "get", "resource": "pods"}, times=2, code=503))
    pods, maps = make, partial(make, "/api/v1/namespaces/a/configmaps/x")
    assert codes(stage, maps(), pods(), maps(), pods(), pods()) == [201, 503, 201, 503, 201]
    assert stage.faults == []


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 418, 429, 500, 503, 504])
def test_any_status_code_can_be_injected(code: int) -> None:
    """An injected failure has the requested code, also one without a Status reason."""
    stage = FaultStage(Clock())
    stage.add(Fault(match={}, times=1, code=code, message="no"))
    assert codes(stage, make()) == [code]


def test_failures_are_used_in_order() -> None:
    """Each matching request takes one failure, in order."""
    stage = FaultStage(Clock())
    stage.add(Fault(match={}, times=1, code=500))
    stage.add(Fault(match={}, times=1, code=409))
    assert codes(stage, make(), make(), make()) == [500, 409, 201]


def test_internal_requests_are_not_affected() -> None:
    """Requests of controllers and informers, whose user is known before authentication, are not affected."""
    stage = FaultStage(Clock())
    stage.add(Fault(match={}, times=1, code=500))
    assert codes(stage, make(user=User(name="own", groups=())), make()) == [201, 500]


def test_delays_follow_the_servers_clock() -> None:
    """A delayed request continues when the clock has reached its time."""
    clock = Clock()
    stage = FaultStage(clock)
    stage.add(Fault(match={}, times=1, delay=30.0))
    outcome: list[Any] = []
    start(stage(make(), answer)).addBoth(outcome.append)
    clock.advance(29)
    assert outcome == []
    clock.advance(1)
    assert outcome[0].code == 201


@pytest.mark.parametrize(
    "fault",
    [
        *({"times": 0}, {"code": 200}, {"delay": -1.0}, {"match": {"colour": "red"}}, {"times": 1.5}, {"code": "500"}),
        *(
            {"match": {"verb": "GET"}},
            {"match": {"verb": "lists"}},
            {"match": {"resource": "pods/status"}},
            {"match": {"name": None}},
        ),
    ],
    ids=str,
)
def test_invalid_faults_are_refused(fault: dict[str, Any]) -> None:
    """A fault that could never apply is an error in the test that adds it."""
    with pytest.raises(ValueError, match="fault"):
        FaultStage(Clock()).add(Fault(**{"match": {}, "times": 1, "code": 500, **fault}))


@pytest.mark.parametrize("name", ["pod", "Pod", "po", "Pods", "deploy"])
def test_names_other_than_resources_are_rejected(name: str) -> None:
    """A kind, singular or short name is rejected with the name of the resource; unknown names may be of later kinds."""
    catalog = builtin_catalog(KUBERNETES)
    with pytest.raises(ValueError, match=r"the resource is '(pods|deployments)'"):
        check_resource(catalog, name)
    for good in ("pods", "deployments", "widgets", ""):
        check_resource(catalog, good)


def test_watches_from_before_the_oldest_revision_are_refused() -> None:
    """After history was expired, only later revisions can be watched; lists of "any" version are served."""
    stage = FaultStage(Clock())
    stage.oldest_revision = 100
    pods = "/api/v1/namespaces/a/pods"
    watch: dict[str, Any] = {"watch": "true"}
    assert codes(
        stage,
        make(pods, **watch, resourceVersion="100"),
        make(pods, **watch, resourceVersion="0"),
        make(pods, resourceVersion="99"),
        make(pods, resourceVersion="99", resourceVersionMatch="Exact"),
    ) == [201, 201, 201, 410]


def test_requests_are_recorded_with_their_user() -> None:
    """A record has the authenticated user, the response code and the request."""
    log = RequestLog(lambda: 12.5)
    run(log(make(), answer))
    (entry,) = log.take(clear=False)
    assert entry["user"] == "alice" and entry["groups"] == ["dev"] and entry["agent"] == "me/1"
    assert (entry["verb"], entry["resource"], entry["namespace"], entry["name"]) == ("get", "pods", "a", "x")
    assert (entry["code"], entry["time"], entry["query"]) == (201, 12.5, {})
    assert log.take(clear=True) and not log.take(clear=True)


def test_refused_requests_are_recorded_with_their_code() -> None:
    """An error of a later stage is recorded with its code."""

    async def refuse(request: Request) -> Response:
        raise errors.unauthorized()

    log = RequestLog(lambda: 0.0)
    with pytest.raises(ApiError):
        run(log(make(), refuse))
    run(log(make(user=User(name="own", groups=())), answer))
    assert [(entry["code"], entry["user"]) for entry in log.take(clear=False)] == [(401, "")]


def test_server_without_sockets(tmp_path: Path) -> None:
    """A template server has its objects and everything else except connections."""
    server = ClusterServer(ServerSpec(dialect="orch", flags=("--scheduler=false",), folder=""), tmp_path)
    server.start_unbound()
    listed: list[Any] = []
    start(server.server.client.list(ResourceRef("", "v1", "namespaces"))).addBoth(listed.append)
    # Clients of a process share its turns: after a long one the list continues in a later one.
    while not listed and server.reactor.run_due():
        pass
    assert {each["metadata"]["name"] for each in listed[0]["items"]} >= {"default", "orch-system"}
    server.server.service.stopService()
