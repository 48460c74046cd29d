"""Claims of devices without a server: which keys a change queues, and what one pass writes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.controllers.objects import PODS
from orchd.controllers.resource_claims import ResourceClaimController
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.testing.doubles.results import result_of
from tests.controllers.recording_support import FORBIDDEN, MISSING, recording_client
from tests.controllers.test_resource_claims import CLAIMS, TEMPLATES
from tests.controllers.unit_support import ControllerBench

FINALIZER = ORCH("resource.{long}.io/delete-protection")
ENTRY = ORCH("resource.{long}.io/pod-claim-name")
GONE: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
OWN = [{"name": "own", "resourceClaimName": "c"}]
MADE = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
Entry = dict[str, Any]


def pod(
    entries: Any = (), node: str = "", phase: str = "Pending", named: Any = None, uid: str = "p", **metadata: Any
) -> Entry:
    status: Entry = {"phase": phase}
    if named is not None:
        status["resourceClaimStatuses"] = [{"name": key, "resourceClaimName": value} for key, value in named.items()]
    return {
        "metadata": {"name": "p", "namespace": "a", "uid": uid, **metadata},
        "spec": {"resourceClaims": list(entries), **({"nodeName": node} if node else {})},
        "status": status,
    }


def owner(uid: str = "p", **changes: Any) -> list[Entry]:
    return [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True, **changes}]


def claim(
    users: Any = (), allocated: bool = False, finalizers: Any = (FINALIZER, "other"), owners: Any = (), **metadata: Any
) -> Entry:
    """A claim; `users` are uids of pods named p."""
    status: Entry = {"allocation": {"x": "y"}} if allocated else {}
    if users:
        status["reservedFor"] = [{"resource": "pods", "name": "p", "uid": uid} for uid in users]
    return {
        "metadata": {
            "name": "c", "namespace": "a", "uid": "c", "finalizers": list(finalizers), "ownerReferences": list(owners),
            **metadata,
        },
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {}}]}},
        "status": status,
    }  # fmt: skip


def template(**request: Any) -> Entry:
    spec = {"devices": {"requests": [{"name": "r", "exactly": request}]}}
    return {
        "metadata": {"name": "t", "namespace": "a"},
        "spec": {"metadata": {"annotations": {"c": "d"}}, "spec": spec},
    }


def begin(*objects: tuple[Any, Entry], client: Any = None) -> ControllerBench:
    def make(env: Environment) -> ResourceClaimController:
        return ResourceClaimController(env)

    bench = ControllerBench(make, client)
    result_of(bench.controller.listen())
    for ref, obj in objects:
        bench.informers.put(ref, obj)
        bench.client.objects[obj["metadata"]["name"]] = obj
    bench.queued()
    return bench


@pytest.mark.parametrize(
    ("change", "removed", "queued"),
    [
        (pod(), False, []),
        (pod(OWN), False, ["pods/p"]),
        (pod(OWN), True, ["claims/c"]),
        (pod(OWN, "n", **GONE), False, []),
        (pod(OWN, **GONE), False, ["claims/c"]),
        (pod(OWN, "n", "Running"), False, ["pods/p"]),
        (pod(OWN, "n", "Succeeded"), False, ["claims/c", "pods/p"]),
        (pod([*MADE, *OWN], "n", "Failed"), False, ["claims/c", "pods/p"]),
        (pod(MADE, "n", "Failed", {"gpu": "g"}), False, ["claims/g", "pods/p"]),
        (pod(MADE, "n", "Failed", {"gpu": None}), False, ["pods/p"]),
    ],
)
def test_changes_of_pods_queue_them_and_their_claims(change: Entry, removed: bool, queued: list[str]) -> None:
    """The claims of those that have ended, or never ran."""
    bench = begin()
    bench.informers.put(PODS, change)
    if removed:
        bench.queued()
        bench.informers.informer(PODS).remove("a", "p")
    assert bench.queued() == [("a", each) for each in queued]


@pytest.mark.parametrize(
    ("change", "removed", "queued"),
    [
        (claim(), False, ["claims/c"]),
        (claim(owners=owner()), False, ["claims/c"]),
        (claim(owners=owner()), True, ["pods/p"]),
        (claim(), True, []),
        (claim(owners=owner(kind="Job")), True, []),
        (claim(owners=owner(apiVersion="v2")), True, []),
    ],
)
def test_changes_of_claims_queue_them_and_their_pods(change: Entry, removed: bool, queued: list[str]) -> None:
    """The pod for which a claim was made, when that is deleted."""
    bench = begin()
    bench.informers.put(CLAIMS, change)
    if removed:
        bench.queued()
        bench.informers.informer(CLAIMS).remove("a", "c")
    assert bench.queued() == [("a", each) for each in queued]


def writes(bench: ControllerBench) -> list[tuple[str, str, str]]:
    return [(verb, what, name) for verb, what, name in bench.client.calls if verb != "get"]


@pytest.mark.parametrize(
    ("of", "claims", "expected"),
    [
        (pod(MADE), [], [("create", "resourceclaims", ""), ("patch", "pods/status", "p")]),
        (pod(MADE, **GONE), [], []),
        (pod(MADE, phase="Succeeded"), [], []),
        (pod(MADE, named={"gpu": None}), [], []),
        (pod(MADE, named={"gpu": "c"}), [claim(owners=owner())], []),
        (pod(MADE, named={"gpu": "c"}), [claim(owners=owner("q"))], ["create", "patch"]),
        (pod(MADE, named={"gpu": "c"}), [], ["create", "patch"]),
        (pod(MADE), [claim(owners=owner(), annotations={ENTRY: "gpu"})], ["patch"]),
        (pod(MADE), [claim(owners=owner(), annotations={ENTRY: "other"})], ["create", "patch"]),
        (pod(OWN), [claim(allocated=True)], []),
        (pod(OWN, "n"), [], []),
        (pod(OWN, "n"), [claim()], []),
        (pod(OWN, "n"), [claim(["p"], allocated=True)], []),
        (pod(OWN, "n"), [claim(["q"], allocated=True)], [("update", "resourceclaims/status", "c")]),
        (pod(OWN, "n"), [claim([f"u{n}" for n in range(255)], allocated=True)], ["update"]),
        (pod(OWN, "n"), [claim([f"u{n}" for n in range(256)], allocated=True)], []),
        (pod([*MADE, *OWN], "n"), [claim(allocated=True)], ["create", "patch"]),
    ],
)
def test_pass_over_a_pod(of: Entry, claims: list[Entry], expected: list[Any]) -> None:
    """Claims are made from templates unless the pod has them; a pod with a node gets its allocated claims reserved."""
    bench = begin((PODS, of), (TEMPLATES, template()), *((CLAIMS, each) for each in claims))
    assert result_of(bench.controller.reconcile(("a", "pods/p"))) is None
    done: list[Any] = writes(bench)
    assert (done if expected and isinstance(expected[0], tuple) else [verb for verb, _, _ in done]) == expected


def test_reservation_of_a_pod() -> None:
    bench = begin((PODS, pod(OWN, "n")), (CLAIMS, claim(["q"], allocated=True)))
    result_of(bench.controller.reconcile(("a", "pods/p")))
    assert bench.client.bodies[-1]["status"] == {
        "allocation": {"x": "y"},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": each} for each in "qp"],
    }


def test_names_of_claims_are_applied_to_the_status() -> None:
    """Of all entries that are made now, or were made and not written yet."""
    entries = [{"name": each, "resourceClaimTemplateName": "t"} for each in ("gpu", "net")]
    bench = begin(
        (PODS, pod(entries)), (TEMPLATES, template()), (CLAIMS, claim(owners=owner(), annotations={ENTRY: "net"}))
    )
    result_of(bench.controller.reconcile(("a", "pods/p")))
    created, patch = bench.client.bodies
    assert created["metadata"] == {
        "generateName": "p-gpu-",
        "annotations": {"c": "d", ENTRY: "gpu"},
        "ownerReferences": owner(),
    }
    assert patch["status"] == {
        "resourceClaimStatuses": [
            {"name": "gpu", "resourceClaimName": "generated"},
            {"name": "net", "resourceClaimName": "c"},
        ]
    }


@pytest.mark.parametrize(
    ("entries", "templates", "client", "note"),
    [
        (MADE, [], None, 'resource claim template "t": resourceclaimtemplates.resource.orch.io "t" not found'),
        (MADE, [template()], recording_client(create=FORBIDDEN), "refused"),
        ([{"name": "gpu"}], [], None, 'pod "a/p", spec.resourceClaim "gpu": none of the supported fields are set'),
    ],
)
def test_claims_that_cannot_be_made(entries: Any, templates: list[Entry], client: Any, note: str) -> None:
    """An Event says why, and the pod is tried again."""
    bench = begin((PODS, pod(entries)), *((TEMPLATES, each) for each in templates), client=client)
    with pytest.raises(RetryError):
        result_of(bench.controller.reconcile(("a", "pods/p")))
    assert bench.events.notes == [("FailedResourceClaimCreation", f"PodResourceClaim gpu: {note}")]
    failures = {("failure", "false"): 1} if client else {}
    assert bench.values()["resourceclaim_controller_creates_total"] == failures


def test_claims_with_access_of_an_administrator_are_counted_apart() -> None:
    bench = begin((PODS, pod(MADE)), (TEMPLATES, template(adminAccess=True)))
    result_of(bench.controller.reconcile(("a", "pods/p")))
    assert bench.values()["resourceclaim_controller_creates_total"] == {("success", "true"): 1}


STATUS, WHOLE, DELETE = (
    ("update", "resourceclaims/status", "c"),
    ("update", "resourceclaims", "c"),
    ("delete", "resourceclaims", "c"),
)
#: Claim, pod; then the writes, and the last status and finalizers that are written.
CLAIM_PASSES: dict[str, tuple[Entry, Entry | None, list[Any], Entry | None, list[str] | None]] = {
    "unused": (claim(allocated=True), None, [], None, None),
    "in use": (claim(["p"], allocated=True), pod(OWN, "n"), [], None, None),
    "used by a pod that is gone": (claim(["p"], allocated=True), None, [STATUS, WHOLE], {}, ["other"]),
    "used by a former pod": (claim(["q"], allocated=True), pod(OWN), [STATUS, WHOLE], {}, ["other"]),
    "used by a pod that has ended": (
        claim(["p"], allocated=True),
        pod(OWN, "n", "Succeeded"),
        [STATUS, WHOLE],
        {},
        ["other"],
    ),
    "used by a deleted pod that never ran": (claim(["p"], allocated=True), pod(OWN, **GONE), [STATUS, WHOLE], {}, ["other"]),
    "used by a deleted pod that runs": (claim(["p"], allocated=True), pod(OWN, "n", **GONE), [], None, None),
    "one of two users is left": (
        claim(["p", "q"], allocated=True),
        pod(OWN, "n"),
        [STATUS],
        {"allocation": {"x": "y"}, "reservedFor": [{"resource": "pods", "name": "p", "uid": "p"}]},
        None,
    ),
    "without the finalizer": (
        claim(["q"], allocated=True, finalizers=["other"]),
        pod(OWN, "n"),
        [STATUS],
        {"allocation": {"x": "y"}},
        None,
    ),
    "deleted": (claim(allocated=True, **GONE), None, [STATUS, WHOLE], {}, ["other"]),
    "deleted before its allocation": (claim(**GONE), None, [WHOLE], None, ["other"]),
    "deleted, in use": (claim(["p"], allocated=True, **GONE), pod(OWN, "n"), [], None, None),
    "deleted, without the finalizer": (claim(finalizers=(), **GONE), None, [], None, None),
    "made for a pod that has ended": (claim(owners=owner()), pod(MADE, "n", "Failed"), [DELETE], None, None),
    "made for a former pod": (claim(owners=owner("q")), pod(MADE), [DELETE], None, None),
    "made for a pod": (claim(owners=owner()), pod(MADE), [], None, None),
    "made for a pod that is gone": (claim(owners=owner()), None, [], None, None),
    "owned by another kind": (claim(owners=owner("q", kind="Job")), pod(MADE), [], None, None),
    "made for a pod that has ended, deleted": (
        claim(owners=owner(), **GONE),
        pod(MADE, "n", "Failed"),
        [WHOLE],
        None,
        ["other"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIM_PASSES)
def test_pass_over_a_claim(name: str) -> None:
    """Users that are gone or have ended are removed; the last one releases the devices; a claim ends with the pod for
    which it was made."""
    of, user, expected, status, finalizers = CLAIM_PASSES[name]
    bench = begin((CLAIMS, of), *([(PODS, user)] if user else []))
    result_of(bench.controller.reconcile(("a", "claims/c")))
    assert writes(bench) == expected
    written = dict(
        zip(
            writes(bench),
            [body for (verb, _, _), body in zip(bench.client.calls, bench.client.bodies, strict=True) if verb != "get"],
            strict=True,
        )
    )
    assert (written[STATUS]["status"] if STATUS in written else None) == status
    assert (written[WHOLE]["metadata"]["finalizers"] if WHOLE in written else None) == finalizers


@pytest.mark.parametrize("user", [{"apiGroup": "x", "resource": "pods"}, {"resource": "others"}])
def test_users_that_are_no_pods_stay(user: Entry) -> None:
    of = claim(allocated=True)
    of["status"]["reservedFor"] = [{**user, "name": "p", "uid": "x"}]
    bench = begin((CLAIMS, of))
    result_of(bench.controller.reconcile(("a", "claims/c")))
    assert not writes(bench)


def test_pod_that_the_informer_does_not_have_yet_is_read() -> None:
    bench = begin((CLAIMS, claim(["p"], allocated=True)))
    bench.client.objects["p"] = pod(OWN, "n")
    result_of(bench.controller.reconcile(("a", "claims/c")))
    assert bench.client.calls == [("get", "pods", "p")]


def test_claim_that_is_gone() -> None:
    """Is no error, neither in the informer nor when it is deleted."""
    bench = begin((CLAIMS, claim(owners=owner("q"))), (PODS, pod(MADE)), client=recording_client(delete=MISSING))
    assert result_of(bench.controller.reconcile(("a", "claims/c"))) is None
    assert result_of(bench.controller.reconcile(("a", "claims/missing"))) is None
    bench = begin((CLAIMS, claim(owners=owner("q"))), (PODS, pod(MADE)), client=recording_client(delete=FORBIDDEN))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "claims/c")))
