"""AdmissionReview documents: what a webhook is sent, and what its response may say."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CONNECT, CREATE, DELETE, UPDATE
from orchd.server.admission.webhooks.reviews import (
    BadReviewError,
    Verdict,
    build_review,
    denial,
    parse_response,
    patch_size,
    version_for,
)
from tests.server.admission.conftest import ADMIN, World

PATCH = b'[{"op": "remove", "path": "/a"}]'
ENCODED = base64.b64encode(PATCH).decode()
INVALID, FAILED = "received invalid webhook response: ", "failed to call webhook: "
FIELD = "json: cannot unmarshal {} into Go struct field AdmissionResponse.response.{} of type {}"


def parse(response: Any, *, version: str = "v1", mutating: bool = True, **around: Any) -> Verdict:
    group_version = ORCH(f"admission.{{abbr}}.io/{version}")
    document = {"apiVersion": group_version, "kind": "AdmissionReview", "response": response, **around}
    return parse_response(document, uid="u", version=version, mutating=mutating, dialect=ORCH)


@pytest.mark.parametrize(
    ("accepted", "version"), [((), ""), (("v1",), "v1"), (("v2", "v1beta1", "v1"), "v1beta1"), (("v1alpha1",), "")]
)
def test_first_accepted_version_is_sent(accepted: tuple[str, ...], version: str) -> None:
    assert version_for(accepted) == version


@pytest.mark.parametrize(
    ("response", "verdict"),
    [
        ({}, Verdict(allowed=False)),
        ({"allowed": True}, Verdict(allowed=True)),
        ({"allowed": None, "status": None, "warnings": None, "auditAnnotations": None}, Verdict(allowed=False)),
        (
            {"allowed": False, "status": {"code": 418, "message": "no"}, "warnings": ["w", "x"],
             "auditAnnotations": {"a": "b"}},
            Verdict(allowed=False, status={"code": 418, "message": "no"}, warnings=("w", "x"), annotations={"a": "b"}),
        ),
        ({"patch": ENCODED, "patchType": "JSONPatch"}, Verdict(allowed=False, patch=PATCH, patch_type="JSONPatch")),
        ({"patch": ENCODED, "patchType": "Other"}, Verdict(allowed=False, patch=PATCH, patch_type="Other")),
    ],
)  # fmt: skip
def test_verdict_has_the_members_of_the_response(response: Object, verdict: Verdict) -> None:
    assert parse({"uid": "u", **response}) == verdict


@pytest.mark.parametrize(
    ("mutating", "response", "problem"),
    [
        (True, {"uid": "x"}, f'{INVALID}expected response.uid="u", got "x"'),
        (True, {"uid": None}, f'{INVALID}expected response.uid="u", got ""'),
        (True, {"patch": ENCODED}, f"{INVALID}webhook returned response.patch but not response.patchType"),
        (True, {"patchType": "JSONPatch"}, f"{INVALID}webhook returned response.patchType but not response.patch"),
        (True, {"patch": "", "patchType": ""}, f"{INVALID}webhook returned response.patchType but not response.patch"),
        (True, {"patch": ENCODED, "patchType": ""}, f'{INVALID}webhook returned invalid response.patchType of ""'),
        (True, {"patch": "AAA!"}, f"{FAILED}illegal base64 data at input byte 3"),
        (True, {"patch": "AAA"}, f"{FAILED}illegal base64 data at input byte 3"),
        (False, {"patch": ENCODED, "patchType": "JSONPatch"}, f"{INVALID}validating webhook may not return response.patch"),
        (False, {"patchType": "JSONPatch"}, f"{INVALID}validating webhook may not return response.patchType"),
        (False, {"patchType": ""}, f"{INVALID}validating webhook may not return response.patchType"),
        (True, {"uid": 1}, FAILED + FIELD.format("number", "uid", "types.UID")),
        (True, {"allowed": "yes"}, FAILED + FIELD.format("string", "allowed", "bool")),
        (True, {"patch": []}, FAILED + FIELD.format("array", "patch", "[]uint8")),
        (True, {"patchType": {}}, FAILED + FIELD.format("object", "patchType", "v1.PatchType")),
        (True, {"warnings": "w"}, FAILED + FIELD.format("string", "warnings", "[]string")),
        (True, {"warnings": ["w", 1]}, FAILED + FIELD.format("number", "warnings", "string")),
        (True, {"auditAnnotations": []}, FAILED + FIELD.format("array", "auditAnnotations", "map[string]string")),
        (True, {"auditAnnotations": {"a": True}}, FAILED + FIELD.format("bool", "warnings", "string")),
        (True, {"status": "no"}, FAILED + FIELD.format("string", "status", "v1.Status")),
    ],
)  # fmt: skip
def test_malformed_responses(mutating: bool, response: Object, problem: str) -> None:
    """An undecodable response is a failed call; another one is invalid."""
    with pytest.raises(BadReviewError) as caught:
        parse({"uid": "u", **response}, mutating=mutating)
    assert str(caught.value) == problem


def test_responses_of_v1beta1_are_not_checked() -> None:
    """Neither their uid nor the type of their patch; the patch of a validating webhook is dropped."""
    response = {"uid": "x", "allowed": True, "patch": ENCODED, "patchType": "Other"}
    assert parse(response, version="v1beta1") == Verdict(allowed=True, patch=PATCH, patch_type="JSONPatch")
    assert parse(response, version="v1beta1", mutating=False) == Verdict(allowed=True, patch_type="JSONPatch")
    assert parse({"patchType": "Other"}, version="v1beta1") == Verdict(allowed=False, patch_type="Other")


@pytest.mark.parametrize(
    ("document", "size"),
    [({}, 0), ({"response": None}, 0), ({"response": {"patch": None}}, 0), ({"response": {"patch": "abc"}}, 3)],
)
def test_size_of_a_patch(document: Object, size: int) -> None:
    assert patch_size(document) == size


@pytest.mark.parametrize(
    ("status", "code", "reason", "said"),
    [
        ({}, 400, "", " without explanation"),
        ({"message": "no"}, 400, "", ": no"),
        ({"reason": "Gone", "code": 410}, 410, "Gone", ": Gone"),
        ({"message": "no", "reason": "Gone", "code": 200}, 400, "Gone", ": no"),
        ({"code": 400}, 400, "", " without explanation"),
        ({"message": "no", "reason": 7, "code": None}, 400, "", ": no"),
    ],
)
def test_denials(status: Object, code: int, reason: str, said: str) -> None:
    error = denial("h.example.com", status)
    assert (error.code, error.reason) == (code, reason)
    assert error.message == f'admission webhook "h.example.com" denied the request{said}'


def test_denial_has_the_details_of_the_webhook() -> None:
    assert denial("h", {"details": {"name": "x"}}).details == {"name": "x"}
    assert denial("h", {"details": "x"}).details == denial("h", {}).details


OPTIONS = {"kind": "X", "apiVersion": "y", "force": True, "fieldManager": "m"}


@pytest.mark.parametrize(
    ("plural", "more", "request_members"),
    [
        ("pods", {"operation": CREATE, "options": OPTIONS}, {"name": "a", "namespace": "ns", "operation": CREATE,
         "options": {"kind": "CreateOptions", "apiVersion": "meta.orch.io/v1", "fieldManager": "m"}}),
        ("pods", {"operation": UPDATE, "sub": "status", "dry_run": True}, {"name": "a", "namespace": "ns",
         "subResource": "status", "requestSubResource": "status", "dryRun": True,
         "options": {"kind": "UpdateOptions", "apiVersion": "meta.orch.io/v1"}}),
        ("pods", {"operation": CONNECT, "sub": "exec"}, {"name": "a", "namespace": "ns", "subResource": "exec",
         "requestSubResource": "exec", "options": None}),
        ("nodes", {"operation": DELETE}, {"name": "a", "options": {"kind": "DeleteOptions",
         "apiVersion": "meta.orch.io/v1"}}),
        ("namespaces", {"operation": CREATE}, {"name": "a", "namespace": "a"}),
        ("pods", {"operation": CREATE, "name": ""}, {"namespace": "ns"}),
        ("pods", {"operation": CREATE, "sub": "eviction", "kind": ("policy", "v1", "Eviction")}, {"name": "a",
         "namespace": "ns", "subResource": "eviction", "requestSubResource": "eviction",
         "kind": {"group": "policy", "version": "v1", "kind": "Eviction"},
         "requestKind": {"group": "policy", "version": "v1", "kind": "Eviction"}}),
    ],
)  # fmt: skip
def test_members_of_a_request(plural: str, more: Any, request_members: Object) -> None:
    """A request has a name, a namespace and a subresource only where the write has one."""
    world, obj, old = World(), {"metadata": {"name": "a"}}, {"metadata": {"name": "a", "uid": "o"}}
    operation = more["operation"]
    review = world.review(plural, obj, old, **more)
    document = build_review(review, review.resource, obj, old, uid="u", version="v1", dialect=ORCH)
    assert (document["apiVersion"], document["kind"]) == (ORCH("admission.{abbr}.io/v1"), "AdmissionReview")
    kind = {"group": "", "version": "v1", "kind": review.resource.kind}
    resource = {"group": "", "version": "v1", "resource": plural}
    options = document["request"]["options"] if "options" not in request_members else None
    assert document["request"] == {
        "uid": "u", "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
        "operation": operation, "userInfo": ADMIN.as_json(), "object": obj, "oldObject": old, "dryRun": False,
        "options": options, **request_members,
    }  # fmt: skip


def test_request_for_another_version_names_both() -> None:
    """`kind` and `resource` are those of the version that is sent."""
    world = World()
    review = world.review("horizontalpodautoscalers", {"metadata": {"name": "a"}}, group="autoscaling", version="v2")
    sent = world.catalog.resource("autoscaling", "v1", "horizontalpodautoscalers")
    assert sent is not None
    request = build_review(review, sent, None, None, uid="u", version="v1beta1", dialect=ORCH)["request"]
    versions = {key: request[key]["version"] for key in ("kind", "resource", "requestKind", "requestResource")}
    assert versions == {"kind": "v1", "resource": "v1", "requestKind": "v2", "requestResource": "v2"}
