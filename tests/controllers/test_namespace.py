"""The contents of a terminating namespace: what is deleted, and what the conditions say meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.loop import RetryError
from orchd.controllers.namespace import (
    CONDITIONS,
    NamespaceController,
    Remains,
    deletable,
    next_conditions,
    wrong_conditions,
)
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from tests.controllers.recording_support import CONFLICT, FORBIDDEN, MISSING, RecordingClient
from tests.controllers.unit_support import ControllerBench

NOT_ALLOWED = ApiError(405, "MethodNotAllowed", "not allowed")


class Contents(RecordingClient):
    """The objects of a namespace by resource. Those without finalizers go when they are deleted. `failures` of lists are
    by plural."""

    def __init__(self, namespace: Object, **objects: Sequence[Object]) -> None:
        super().__init__(namespace)
        self.contents: dict[str, Sequence[Object]] = {**objects}
        self.list_failures: dict[str, ApiError] = {}
        #: Members of discovery documents by path.
        self.documents: dict[str, Sequence[Object]] = {}

    async def list(self, ref: ResourceRef, namespace: str = "", **more: Any) -> Object:
        if ref.plural in self.list_failures:
            raise self.list_failures[ref.plural]
        return {"items": list(self.contents.get(ref.plural, [])), "metadata": {}}

    async def exchange(self, call: Any) -> Any:
        if call.path not in self.documents:
            raise MISSING
        return _Response(orjson.dumps({"resources": self.documents[call.path]}))

    async def delete_collection(self, ref: ResourceRef, namespace: str, **more: Any) -> None:
        self._take("delete_collection", ref, "", more["options"], "")
        self._drop(ref, lambda each: True)

    async def delete(
        self, ref: ResourceRef, namespace: str, name: str, *, options: Any = None, need_response: bool = True
    ) -> None:
        self._take("delete", ref, name, options, "")
        self._drop(ref, lambda each: each["metadata"]["name"] == name)

    def _drop(self, ref: ResourceRef, chosen: Any) -> None:
        kept = self.contents[ref.plural]
        self.contents[ref.plural] = [each for each in kept if each["metadata"].get("finalizers") or not chosen(each)]

    def deleted(self) -> Sequence[str]:
        """The resources whose objects were deleted."""
        return [what for verb, what, _ in self.calls if verb.startswith("delete")]


class _Response:
    def __init__(self, body: bytes) -> None:
        self.body = body


def terminating(*finalizers: str, since: float = NOW) -> Object:
    metadata = {"name": "a", "deletionTimestamp": timestamp(since)}
    return {"metadata": metadata, "spec": {"finalizers": list(finalizers)}, "status": {"phase": "Terminating"}}


def named(name: str, *finalizers: str, **members: Any) -> Object:
    return {"metadata": {"name": name, **({"finalizers": list(finalizers)} if finalizers else {})}, **members}


def api_service(group: str, version: str, available: str = "True") -> Object:
    conditions = [{"type": "Available", "status": available}]
    return {
        "metadata": {"name": f"{version}.{group}"},
        "spec": {"group": group, "version": version, "service": {"name": "s"}},
        "status": {"conditions": conditions},
    }


def entry(
    name: str, *, namespaced: bool = True, verbs: tuple[str, ...] = ("delete", "list", "deletecollection")
) -> Object:
    return {"name": name, "namespaced": namespaced, "verbs": list(verbs)}


def reconcile(client: Contents, **environment: Any) -> float | None:
    bench = ControllerBench(NamespaceController, client, **environment)
    seconds: float | None = result_of(bench.controller.reconcile(("", "a")))
    return seconds


def written_conditions(client: Contents) -> dict[str, str]:
    """Reason by type of the conditions that say that something is wrong."""
    (body,) = [
        body for (_, what, _), body in zip(client.calls, client.bodies, strict=True) if what == "namespaces/status"
    ]
    return {each["type"]: each["reason"] for each in body["status"]["conditions"] if each["status"] == "True"}


@pytest.mark.parametrize(("finalizers", "left"), [(("orch",), []), (("orch", "example.com/own"), ["example.com/own"])])
def test_empty_namespace_is_finalized(finalizers: tuple[str, ...], left: list[str]) -> None:
    """The controller's own finalizer is removed, others stay."""
    client = Contents(terminating(*finalizers))
    reconcile(client)
    assert client.calls[-1] == ("update", "namespaces/finalize", "a")
    assert client.bodies[-1]["spec"]["finalizers"] == left
    assert written_conditions(client) == {}


@pytest.mark.parametrize(
    ("namespace", "calls"),
    [
        ({"metadata": {"name": "b"}}, [("get", "namespaces", "a")]),
        ({"metadata": {"name": "a"}}, [("get", "namespaces", "a")]),
        (terminating(), [("get", "namespaces", "a")]),
    ],
)
def test_namespaces_that_are_left_alone(namespace: Object, calls: Any) -> None:
    """Those that do not exist, are not being deleted or have no finalizers."""
    client = Contents(namespace, configmaps=[named("x")])
    reconcile(client)
    assert client.calls == calls


def test_phase_is_written_first() -> None:
    client = Contents({**terminating("orch"), "status": {"phase": "Active"}})
    reconcile(client)
    assert client.calls[1] == ("update", "namespaces/status", "a")
    assert client.bodies[1]["status"]["phase"] == "Terminating"


@pytest.mark.parametrize(("release", "ordered"), [(SPECIFICATION, False), (NEWEST, True)])
def test_pods_go_first_in_later_releases(release: Any, ordered: bool) -> None:
    """Nothing else is deleted before the last of them, and the conditions do not speak of the contents."""
    pods = [named("p", "example.com/f", spec={}, status={})]
    client = Contents(terminating("orch"), configmaps=[named("x")], pods=pods)
    catalog = builtin_catalog(ORCH, release)
    assert reconcile(client, release=release, catalog=lambda: catalog) == 15 / 2 + 1
    assert sorted(client.deleted()) == (["pods"] if ordered else ["configmaps", "pods"])
    problems = {
        "NamespaceContentRemaining": "SomeResourcesRemain",
        "NamespaceFinalizersRemaining": "SomeFinalizersRemain",
    }
    assert written_conditions(client) == ({} if ordered else problems)


def test_resources_of_aggregated_servers_are_deleted() -> None:
    """Once, unless this server has them; those that cannot be deleted one and all are deleted one by one."""
    client = Contents(
        terminating("orch"),
        apiservices=[api_service("example.com", "v1"), api_service("apps", "v9")],
        widgets=[named("w")],
        gadgets=[named("g"), named("h")],
        deployments=[named("d")],
    )
    client.documents = {
        "/apis/example.com/v1": [
            *(entry("widgets"), entry("gadgets", verbs=("delete", "list")), entry("widgets/status")),
            *(entry("clusterwide", namespaced=False), entry("readable", verbs=("list",))),
        ],
        "/apis/apps/v9": [entry("deployments")],
    }
    reconcile(client)
    assert sorted(client.deleted()) == ["deployments", "gadgets", "gadgets", "widgets"]
    deletions = [
        body for (verb, _, _), body in zip(client.calls, client.bodies, strict=True) if verb.startswith("delete")
    ]
    assert deletions == [{"propagationPolicy": "Background"}] * 4
    assert client.calls[-1][1] == "namespaces/finalize"


def test_unavailable_server_delays_the_end() -> None:
    """What it has in the namespace is not known. The other contents are deleted."""
    client = Contents(
        terminating("orch"), apiservices=[api_service("example.com", "v1", "False")], configmaps=[named("x")]
    )
    with pytest.raises(RetryError) as caught:
        reconcile(client)
    assert client.deleted() == ["configmaps"]
    assert str(caught.value) == (
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
        "example.com/v1: the server is currently unable to handle the request"
    )
    assert written_conditions(client) == {"NamespaceDeletionDiscoveryFailure": "DiscoveryFailed"}


@pytest.mark.parametrize(
    ("error", "fails"), [(MISSING, False), (NOT_ALLOWED, False), (FORBIDDEN, True), (CONFLICT, True)]
)
def test_resources_that_cannot_be_listed(error: ApiError, fails: bool) -> None:
    """One that has gone, or cannot be listed, has no objects; another failure is one of the whole pass."""
    client = Contents(terminating("orch"), secrets=[named("x")])
    client.list_failures = {"configmaps": error}
    if fails:
        with pytest.raises(ApiError) as caught:
            reconcile(client)
        assert (caught.value.code, caught.value.message) == (500, error.message)
        assert written_conditions(client) == {"NamespaceDeletionContentFailure": "ContentDeletionFailed"}
    else:
        reconcile(client)
        assert client.calls[-1][1] == "namespaces/finalize"
    assert client.deleted() == ["secrets"]


def test_objects_without_reason_to_stay_are_a_failure() -> None:
    """An object that is still there and has no finalizers."""

    class Stubborn(Contents):
        def _drop(self, ref: ResourceRef, chosen: Any) -> None:
            pass

    client = Stubborn(terminating("orch"), configmaps=[named("x"), named("y")])
    with pytest.raises(ApiError) as caught:
        reconcile(client)
    assert caught.value.message == ("unexpected items still remain in namespace: a for gvr: /v1, Resource=configmaps")
    assert written_conditions(client) == {
        "NamespaceDeletionContentFailure": "ContentDeletionFailed",
        "NamespaceContentRemaining": "SomeResourcesRemain",
    }


@pytest.mark.parametrize(
    ("phase", "grace", "passed", "seconds"),
    [
        ("Running", 30, 0, 16),
        ("Running", 30, 29, 16),
        ("Running", 30, 30, 8.5),
        ("Running", 100, 30, 51),
        ("Succeeded", 30, 0, 8.5),
        ("Failed", 30, 0, 8.5),
        ("Running", None, 0, 8.5),
    ],
)
def test_grace_periods_of_pods_are_waited_for(phase: str, grace: int | None, passed: float, seconds: float) -> None:
    """Half of the longest of those that run, and a second; after it half of the pause for finalizers."""
    spec = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    pods = [named("p", "f", spec=spec, status={"phase": phase}), named("q", "f", spec={}, status={"phase": "Running"})]
    assert reconcile(Contents(terminating("orch", since=NOW - passed), pods=pods)) == seconds


@pytest.mark.parametrize("several", [False, True])
def test_other_servers_get_time_to_see_the_deletion(several: bool) -> None:
    """With several servers the first pass begins five seconds after the deletion."""
    bench = ControllerBench(NamespaceController, Contents(terminating("orch")), several_servers=several)
    result_of(bench.controller.start())
    bench.informers.put(ResourceRef("", "v1", "namespaces"), {"metadata": {"name": "b"}}, terminating("orch"))
    bench.clock.advance(0)
    bench.clock.advance(0)
    assert bool(bench.client.calls) is not several
    bench.clock.advance(5)
    bench.clock.advance(0)
    assert {name for _, _, name in bench.client.calls} == {"a"}


def test_each_resource_is_deleted_once() -> None:
    """In the version that its group prefers."""
    catalog = builtin_catalog(ORCH)
    resources = deletable(catalog)
    names = [(each.group, each.plural) for each in resources]
    assert len(names) == len(set(names)) and ("", "pods") in names and ("apps", "deployments") in names
    assert not {("", "nodes"), ("", "namespaces"), ("", "bindings")} & set(names)
    versions = {each.plural: each.version for each in resources}
    group = catalog.group("autoscaling")
    assert group is not None and versions["horizontalpodautoscalers"] == group.preferred


def test_conditions_change_with_their_problems() -> None:
    """Each with the time of its change; unchanged ones keep theirs, those of others stay."""
    first = next_conditions(ORCH, [{"type": "Other", "status": "True"}], {}, "t1")
    assert first is not None
    assert [each["type"] for each in first] == ["Other", *(type_ for type_, _, _ in CONDITIONS)]
    assert {(each["status"], each["lastTransitionTime"]) for each in first[1:]} == {("False", "t1")}
    assert next_conditions(ORCH, first, {}, "t2") is None
    second = next_conditions(ORCH, first, {"NamespaceContentRemaining": ("R", "m")}, "t2")
    assert second is not None
    changed = {each["type"]: each for each in second if each.get("lastTransitionTime") == "t2"}
    assert list(changed) == ["NamespaceContentRemaining"]
    assert changed["NamespaceContentRemaining"] == {
        "type": "NamespaceContentRemaining", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "t2",
    }  # fmt: skip
    assert next_conditions(ORCH, second, {"NamespaceContentRemaining": ("R", "m")}, "t3") is None


def test_problems_are_listed_in_order() -> None:
    remains = Remains(errors=["z", "b"], by_resource={"pods.": 2, "maps.": 1}, undiscovered={"b/v1": "y", "a/v1": "x"})
    remains.by_finalizer.update(["g", "f", "g"])
    assert wrong_conditions(remains) == {
        "NamespaceDeletionDiscoveryFailure": (
            "DiscoveryFailed",
            "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: "
            "a/v1: x, b/v1: y",
        ),
        "NamespaceDeletionContentFailure": (
            "ContentDeletionFailed",
            "Failed to delete all resource types, 2 remaining: b, z",
        ),
        "NamespaceContentRemaining": (
            "SomeResourcesRemain",
            "Some resources are remaining: maps. has 1 resource instances, pods. has 2 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: f in 1 resource instances, g in 2 resource instances",
        ),
    }
    assert wrong_conditions(Remains()) == {}
