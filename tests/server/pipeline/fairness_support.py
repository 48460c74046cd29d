"""The priority and fairness stage with levels and requests of a test, on its clock."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.users import AUTHENTICATED_GROUP, User
from orchd.server.authn.interfaces import Credentials
from orchd.server.bootstrap import objects
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.fairness.estimates import ESTIMATES
from orchd.server.pipeline.fairness.schemas import schema_of
from orchd.server.pipeline.fairness.stage import Capacity, Fairness
from orchd.server.pipeline.interfaces import ISink, IStream, Request, Response
from orchd.server.pipeline.query import Query
from orchd.server.pipeline.stages.limits import InFlightCount
from orchd.server.reconcilers.flow_control import mandatory
from orchd.testing.doubles.server import BytesBody
from orchd.txkit.coroutines import start

ALICE = User(name="alice", groups=(AUTHENTICATED_GROUP,))
BOB = User(name="bob", groups=(AUTHENTICATED_GROUP,))
BOOTSTRAP = [each.object for each in objects.flow_control(ORCH, SPECIFICATION)]
SCHEMAS = [each for each in BOOTSTRAP if each["kind"] == "FlowSchema"]
LEVELS = [each for each in BOOTSTRAP if each["kind"] != "FlowSchema"]


def info(method: str, path: str) -> Any:
    raw, _, query = path.partition("?")
    return requestinfo.parse(method, raw, {k: [v] for k, _, v in (p.partition("=") for p in query.split("&") if p)})


def schema(
    name: str, *rules: dict[str, Any], precedence: int = 500, level: str = "small", by: str = ""
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": list(rules),
    }
    if by:
        spec["distinguisherMethod"] = {"type": by}
    return {"kind": "FlowSchema", "metadata": {"name": name, "uid": f"uid of {name}"}, "spec": spec}


def limited(name: str, shares: int = 100, **queuing: int) -> dict[str, Any]:
    response: dict[str, Any] = {"type": "Queue", "queuing": queuing} if queuing else {"type": "Reject"}
    spec = {"type": "Limited", "limited": {"assuredConcurrencyShares": shares, "limitResponse": response}}
    return {"kind": "PriorityLevelConfiguration", "metadata": {"name": name, "uid": f"uid of {name}"}, "spec": spec}


def subject(kind: str, **said: str) -> dict[str, Any]:
    return {"kind": kind, kind[0].lower() + kind[1:]: said}


EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
OF_ALICE = {"subjects": [subject("User", name="alice")], "resourceRules": [EVERYTHING]}


class ControlledAnswers:
    """Responses that the test completes."""

    def __init__(self) -> None:
        self.open: list[tuple[Request, Deferred[Response]]] = []

    async def __call__(self, request: Request) -> Response:
        waiting: Deferred[Response] = Deferred()
        self.open.append((request, waiting))
        return await waiting

    def finish(self, stream: IStream | None = None) -> None:
        self.open.pop(0)[1].callback(Response(stream=stream))


@implementer(IStream)
class SilentStream:
    """Sends nothing."""

    def start(self, sink: ISink) -> None:
        """Sends nothing."""

    def stop(self) -> None:
        """There is nothing to release."""


class Sized:
    """A cache of `count` objects of 1 KB."""

    def __init__(self, count: int) -> None:
        self.count, self.entry_bytes, self.subscribers = count, 1000 * count, 0

    def __len__(self) -> int:
        return self.count


class EveryCache(dict[str, Any]):
    """The same cache for every resource."""

    def get(self, key: str, default: Any = None) -> Any:
        return self["all"]


class Bench:
    """The stage with two seats for the level "small", on a clock."""

    def __init__(
        self, *levels: dict[str, Any], total: int = 2, count: int = 0, release: Release = SPECIFICATION
    ) -> None:
        self.clock, self.answers, self.underway = Clock(), ControlledAnswers(), InFlightCount()
        estimates = release.choose(ESTIMATES)(lambda: builtin_catalog(ORCH), EveryCache(all=Sized(count)))
        self.stage = Fairness(
            ORCH, release, self.clock, self.underway,
            capacity=Capacity(seats=total, patience=15), estimates=estimates, mandatory=mandatory(ORCH, release),
        )  # fmt: skip
        self.dangling = self.stage.configure(
            map(schema_of, [*SCHEMAS, schema("of-alice", OF_ALICE, by="ByUser")]),
            [*LEVELS[:2], *levels] if levels else LEVELS,
        )

    def send(self, user: User = ALICE, path: str = "/api/v1/namespaces/a/pods/x", method: str = "GET") -> list[Any]:
        raw, _, query = path.partition("?")
        parameters = {k: [v] for k, _, v in (p.partition("=") for p in query.split("&") if p)}
        request = Request(
            method=method, path=raw, raw_path=raw, query=Query.of(parameters), headers={}, body=BytesBody(b""),
            credentials=Credentials(headers={}), received=0.0, user=user,
            info=requestinfo.parse(method, raw, parameters),
        )  # fmt: skip
        out: list[Any] = []
        self.last = start(self.stage(request, self.answers))
        self.last.addBoth(out.append)
        self.headers = request.response_headers
        return out


def small(**queuing: int) -> dict[str, Any]:
    """Shares that leave the mandatory level one seat."""
    return limited("small", 1_000_000, **queuing)
