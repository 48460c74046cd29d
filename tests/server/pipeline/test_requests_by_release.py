"""What releases answer differently to the same request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.kinds.users import User
from orchd.server.authn.signedtokens import unverified_claims
from orchd.server.pipeline.audit.record import STATUS_MEMBERS_BY_RELEASE, status_of
from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run
from orchd.txkit.coroutines import start

OLD, NEW = "1.23", "1.35"
MAPS = "/api/v1/namespaces/a/configmaps"
NAMESPACE: Any = {"metadata": {"name": "a"}}
ACCOUNT: Any = {"metadata": {"name": "robot"}}
POD: Any = {
    "metadata": {"name": "p"},
    "spec": {"serviceAccountName": "robot", "nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
}


def tokens(**metadata: str) -> tuple[str, str, Any]:
    body = {"kind": "TokenRequest", "apiVersion": "authentication.orch.io/v1", "metadata": metadata, "spec": {}}
    return "POST", "/api/v1/namespaces/a/serviceaccounts/robot/token", body


def bound(kind: str, name: str) -> tuple[str, str, Any]:
    method, path, body = tokens()
    return method, path, {**body, "spec": {"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name}}}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, InProcessServer]]:
    made = {}
    for release in (OLD, NEW):
        flags = (f"--emulated-version={release}", "--disable-admission-plugins=ServiceAccount")
        server = made[release] = make_server(tmp_path_factory.mktemp(release), *flags)
        for path, body in (
            ("/api/v1/namespaces", NAMESPACE),
            ("/api/v1/nodes", {"metadata": {"name": "n"}}),
            ("/api/v1/namespaces/a/serviceaccounts", ACCOUNT),
            ("/api/v1/namespaces/a/pods", POD),
        ):
            assert ask(server, ("POST", path, body)).code == 201
    yield made
    for server in made.values():
        server.stop()


def ask(server: InProcessServer, request: tuple[str, str, Any], **more: Any) -> JsonResponse:
    method, path, body = request
    user = User(name="admin", groups=("system:masters",))
    return run(server.request(method, path, user=user, body=body, **more))


REQUESTS: list[tuple[tuple[str, str, Any], int, str, int, str]] = [
    # A request; the code and a part of the message of the old release, and of the new one.
    (tokens(name="other"), 201, "", 422, 'metadata.name: Invalid value: "other": must match the service account name'),
    (tokens(namespace="b"), 201, "", 400, "the namespace of the provided object does not match the namespace sent"),
    (tokens(uid="1"), 201, "", 409, "the UID in the token request (1) does not match the UID of the service account"),
    (bound("Node", "n"), 400, "cannot bind token to object of type /v1, Kind=Node", 201, ""),
    (bound("Node", "gone"), 400, "cannot bind token to object", 404, 'nodes "gone" not found'),
    (
        ("GET", f"{MAPS}?resourceVersion=x", None),
        500,
        "resourceVersion: Invalid",
        400,
        "invalid resource version: resourceVersion: Invalid",
    ),
    (
        ("GET", f"{MAPS}?limit=1&continue=eyJ4IjoxfQ", None),
        400,
        'this encoded version ""',
        400,
        "does not recognize this encoded version ",
    ),
    (
        ("GET", f"{MAPS}?watch=1&resourceVersionMatch=Exact&resourceVersion=1", None),
        422,
        "resourceVersionMatch is forbidden for watch",
        422,
        "forbidden for watch unless sendInitialEvents is provided",
    ),
    (
        ("PUT", f"{MAPS}/gone", {"metadata": {"name": "gone", "uid": "x"}}),
        409,
        "Precondition failed: UID in precondition: x",
        404,
        'configmaps "gone" not found',
    ),
    (
        ("PUT", "/api/v1/namespaces/a/services/gone/status", {"metadata": {"name": "gone"}}),
        422,
        "spec.ports: Required value",
        422,
        "spec.ports: Required value",
    ),
    (
        ("PUT", "/apis/apps/v1/namespaces/a/daemonsets/gone/status", {"metadata": {"name": "gone"}}),
        404,
        'daemonsets.apps "gone" not found',
        404,
        'daemonsets.apps "gone" not found',
    ),
]


@pytest.mark.parametrize("row", REQUESTS, ids=lambda row: f"{row[0][1]}-{row[3]}-{row[4][:20]}")
def test_answers_of_both_releases(servers: dict[str, InProcessServer], row: Any) -> None:
    """Each release answers with its own code and message."""
    request, *expected = row
    for release, code, message in ((OLD, *expected[:2]), (NEW, *expected[2:])):
        response = ask(servers[release], request)
        assert response.code == code, response.body
        assert message in response.json.get("message", ""), response.body


def test_an_exact_revision_of_the_future_is_waited_for(servers: dict[str, InProcessServer]) -> None:
    """The old release refuses it at once, the new one when it does not come within some seconds."""
    path, user = (
        f"{MAPS}?resourceVersion=99999&resourceVersionMatch=Exact",
        User(name="admin", groups=("system:masters",)),
    )
    assert "future revision" in ask(servers[OLD], ("GET", path, None)).json["message"]
    server = servers[NEW]
    found: list[Any] = []
    start(server.request("GET", path, user=user)).addCallback(found.append)
    assert not found
    server.clock.advance(10)
    assert found[0].code == 504 and "Too large resource version: 99999" in found[0].json["message"]


def test_refused_representations_are_listed(servers: dict[str, InProcessServer]) -> None:
    """The new release lists the representations when it has none that the client accepts."""
    messages = [
        ask(server, ("GET", MAPS, None), headers={"Accept": "text/html"}).json["message"] for server in servers.values()
    ]
    assert messages[0] == "406: Not Acceptable"
    assert messages[1].startswith(
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"
    )


def test_order_of_errors_of_lists(servers: dict[str, InProcessServer]) -> None:
    """The new release examines the options of a list before its representation, but for media types that no list has,
    of which a watch has those of its stream too."""
    unknown = "application/json;as=Unknown;v=v1;g=meta.orch.io"
    assert ask(servers[NEW], ("GET", MAPS + "?fieldSelector=spec.x=1", None), headers={"Accept": unknown}).code == 406
    for query in ("?limit=x", "?watch=true&timeoutSeconds=x", "?watch=true&resourceVersionMatch=Newest"):
        codes = [ask(s, ("GET", MAPS + query, None), headers={"Accept": unknown}).code for s in servers.values()]
        assert codes[0] == 406 and codes[1] in (400, 422), query
        refused = ask(servers[NEW], ("GET", MAPS + query, None), headers={"Accept": "text/html"})
        assert refused.code == 406 and "application/json;stream=watch" in refused.json["message"]


def test_tables_of_scales_and_statuses(servers: dict[str, InProcessServer]) -> None:
    """The new release has tables of scales, and of statuses where the kind allows it."""
    controllers = "/api/v1/namespaces/a/replicationcontrollers"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {"metadata": {"name": "r"}, "spec": {"replicas": 2, "selector": {"a": "b"}, "template": template}}
    paths = (
        f"{controllers}/r/scale",
        f"{controllers}/r/status",
        "/apis/apiregistration.orch.io/v1/apiservices/v1.apps/status",
    )
    accepted = "application/json;as={};v=v1;g=meta.orch.io"
    table, listed = accepted.format("Table"), accepted.format("PartialObjectMetadataList")
    for server, codes in zip(servers.values(), ([406, 406, 406], [200, 200, 406]), strict=True):
        assert ask(server, ("POST", controllers, body)).code == 201
        answers = [ask(server, ("GET", path, None), headers={"Accept": table}) for path in paths]
        assert [response.code for response in answers] == codes
        refused = ask(server, ("GET", paths[0], None), headers={"Accept": listed})
        assert refused.code == 406 and "is not a list (*autoscaling.Scale)" in refused.json["message"]
    scale = ask(servers[NEW], ("GET", paths[0], None), headers={"Accept": table}).json
    assert scale["rows"][0]["cells"][:3] == ["r", 2, 0]
    assert [column["name"] for column in scale["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]


def test_partial_metadata_is_that_of_the_version(servers: dict[str, InProcessServer]) -> None:
    """Annotations in which the stored version keeps fields are not in the metadata of the version that has them."""
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    spec = {"scaleTargetRef": target, "maxReplicas": 2, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}}}
    server, path = servers[OLD], "/apis/autoscaling/v2/namespaces/a/horizontalpodautoscalers"
    assert ask(server, ("POST", path, {"metadata": {"name": "h"}, "spec": spec})).code == 201
    accepted = "application/json;as={};v=v1;g=meta.orch.io"
    one = ask(server, ("GET", f"{path}/h", None), headers={"Accept": accepted.format("PartialObjectMetadata")}).json
    every = ask(server, ("GET", path, None), headers={"Accept": accepted.format("PartialObjectMetadataList")}).json
    for partial in (one, *every["items"]):
        assert "annotations" not in partial["metadata"]
    stored = ask(server, ("GET", f"{path.replace('v2', 'v1')}/h", None)).json
    assert "autoscaling.alpha.orch.io/behavior" in stored["metadata"]["annotations"]


def test_pods_keep_the_generation_that_was_observed(servers: dict[str, InProcessServer]) -> None:
    """In the new release a status, or a condition, that omits observedGeneration keeps the stored one."""
    path, merge = "/api/v1/namespaces/a/pods/seen", {"Content-Type": "application/merge-patch+json"}
    pod = {"metadata": {"name": "seen"}, "spec": {**POD["spec"], "nodeName": ""}}
    condition = {"type": "example.com/x", "status": "True"}
    status = {"observedGeneration": 1, "conditions": [{**condition, "observedGeneration": 1}]}
    assert ask(servers[NEW], ("POST", "/api/v1/namespaces/a/pods", pod)).code == 201
    assert ask(servers[NEW], ("PATCH", f"{path}/status", {"status": status}), headers=merge).code == 200
    stored = ask(servers[NEW], ("GET", path, None)).json
    changed = ask(servers[NEW], ("PUT", f"{path}/status", {**stored, "status": {"conditions": [condition]}})).json
    assert changed["status"]["observedGeneration"] == 1
    assert changed["status"]["conditions"][0]["observedGeneration"] == 1


def test_reviews_take_extra_values_that_are_null(servers: dict[str, InProcessServer]) -> None:
    """A null in spec.extra counts as an empty list."""
    spec = {"user": "u", "nonResourceAttributes": {"path": "/", "verb": "get"}, "extra": {"k": None}}
    for server in servers.values():
        review = ("POST", "/apis/authorization.orch.io/v1/subjectaccessreviews", {"spec": spec})
        assert ask(server, review).code == 201


def test_pods_have_a_generation(servers: dict[str, InProcessServer]) -> None:
    """Pods of the new release have a generation, which changes of the spec raise."""
    path = "/api/v1/namespaces/a/pods/p"
    change = [{"op": "replace", "path": "/spec/containers/0/image", "value": "j"}]
    seen = []
    for server in servers.values():
        before = ask(server, ("GET", path, None)).json["metadata"].get("generation")
        response = ask(server, ("PATCH", path, change), headers={"Content-Type": "application/json-patch+json"})
        assert response.code == 200, response.body
        seen.append((before, response.json["metadata"].get("generation")))
    assert seen == [(None, None), (1, 2)]


def test_deleted_objects_have_the_revision_of_their_removal(servers: dict[str, InProcessServer]) -> None:
    """The new release answers a deletion with the object at the revision of its removal, the old one as it was
    stored."""
    newer = []
    for server in servers.values():
        made = ask(server, ("POST", "/api/v1/namespaces/a/serviceaccounts", {"metadata": {"name": "gone"}})).json
        removed = ask(server, ("DELETE", "/api/v1/namespaces/a/serviceaccounts/gone", None)).json
        newer.append(int(removed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"]))
    assert newer == [False, True]


def test_apply_of_another_kind(servers: dict[str, InProcessServer]) -> None:
    """A configuration without kind is the server's error in the old release, the client's in the new one."""
    headers = {"Content-Type": "application/apply-patch+yaml"}
    request = ("PATCH", f"{MAPS}/x?fieldManager=m", {"apiVersion": "v1", "metadata": {"name": "x"}})
    answers = [ask(server, request, headers=headers) for server in servers.values()]
    assert [response.code for response in answers] == [500, 400]
    assert answers[1].json["message"] == "invalid object type: /v1, Kind="


def test_binding_copies_zone_and_region(servers: dict[str, InProcessServer]) -> None:
    """In the new release pods get zone and region of their node, and the other labels of the Binding."""
    seen = []
    for server in servers.values():
        zone = {"topology.orch.io/zone": "z", "other": "x"}
        assert ask(server, ("POST", "/api/v1/nodes", {"metadata": {"name": "zoned", "labels": zone}})).code == 201
        pod = {"metadata": {"name": "free"}, "spec": {**POD["spec"], "nodeName": ""}}
        assert ask(server, ("POST", "/api/v1/namespaces/a/pods", pod)).code == 201
        binding = {"metadata": {"name": "free", "labels": {"b": "c"}}, "target": {"kind": "Node", "name": "zoned"}}
        assert ask(server, ("POST", "/api/v1/namespaces/a/pods/free/binding", binding)).code == 201
        seen.append(ask(server, ("GET", "/api/v1/namespaces/a/pods/free", None)).json["metadata"].get("labels"))
    assert seen == [None, {"b": "c", "topology.orch.io/zone": "z"}]


@pytest.mark.parametrize(
    ("release", "plugin", "known"),
    [(OLD, "PodSecurityPolicy", True), (NEW, "PodSecurityPolicy", False), (OLD, "PodTopologyLabels", False)],
)
def test_admission_plugins_by_release(tmp_path: Path, release: str, plugin: str, known: bool) -> None:
    """A plugin that a release does not have is an error of the flag."""
    flags = (f"--emulated-version={release}", f"--enable-admission-plugins={plugin}")
    if known:
        make_server(tmp_path, *flags).stop()
        return
    with pytest.raises(Exception, match=plugin):
        make_server(tmp_path, *flags)


def test_tokens_have_an_identifier_and_a_node(servers: dict[str, InProcessServer]) -> None:
    """Tokens of the new release have an ID and name the node of their pod; the request is answered with the account's
    metadata."""
    old, new = (ask(servers[release], bound("Pod", "p")).json for release in (OLD, NEW))
    earlier, later = (unverified_claims(each["status"]["token"]) for each in (old, new))
    assert earlier is not None and later is not None
    assert "jti" not in earlier and "node" not in earlier["orch.io"]
    assert len(later["jti"]) == 36 and later["orch.io"]["node"]["name"] == "n"
    assert "name" not in old["metadata"] and new["metadata"]["name"] == "robot"
    review = ("POST", "/apis/authentication.orch.io/v1/tokenreviews", {"spec": {"token": new["status"]["token"]}})
    extra = ask(servers[NEW], review).json["status"]["user"]["extra"]
    assert extra["authentication.orch.io/credential-id"] == [f"JTI={later['jti']}"]
    assert extra["authentication.orch.io/node-name"] == ["n"]


def test_audit_events_repeat_the_status() -> None:
    """Events of the new release repeat message and details of a Status, those of the old one do not."""
    response = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "R", "message": "m", "details": {}}
    found = [status_of(404, response, release.choose(STATUS_MEMBERS_BY_RELEASE)) for release in (SPECIFICATION, NEWEST)]
    assert found[0] == {"metadata": {}, "status": "Failure", "reason": "R", "code": 404}
    assert found[1] == {**found[0], "message": "m", "details": {}}


TABLE = "application/json;as=Table;v=v1;g=meta.orch.io"


@pytest.mark.parametrize(("part", "expected"), [("", (200, 200)), ("/status", (406, 200))])
def test_status_has_tables_since_later_releases(
    servers: dict[str, InProcessServer], part: str, expected: tuple[int, int]
) -> None:
    """In 1.23 only an object itself is shown as a table, not its status."""
    path = f"/api/v1/namespaces/a/pods/p{part}"
    found = tuple(ask(servers[each], ("GET", path, None), headers={"accept": TABLE}).code for each in (OLD, NEW))
    assert found == expected


@pytest.mark.parametrize("path", ["pods/p/proxy/x", "pods/p/exec", "services/s/proxy", "pods/p/portforward"])
def test_connections_are_not_tried_only(servers: dict[str, InProcessServer], path: str) -> None:
    """dryRun is refused before the backend is looked for."""
    response = ask(servers[OLD], ("GET", f"/api/v1/namespaces/a/{path}?dryRun=All", None))
    assert (response.code, response.json["message"]) == (400, "dryRun is not supported")


@pytest.mark.parametrize(("sent", "kept"), [(2**33 + 1, 1), (2**32 + 7, 7), (5, 5)])
def test_applied_integers_lose_what_exceeds_their_size(
    servers: dict[str, InProcessServer], sent: int, kept: int
) -> None:
    """The reference converts applied numbers to their type without a check of their size."""
    limit = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
             "spec": {"maxReplicas": 2, "scaleTargetRef": {"kind": "D", "name": "d"}},
             "status": {"desiredReplicas": sent, "currentReplicas": 1}}  # fmt: skip
    path = "/apis/autoscaling/v2/namespaces/a/horizontalpodautoscalers/h"
    request = "PATCH", f"{path}/status?fieldManager=m&force=true", limit
    ask(servers[OLD], ("POST", path.removesuffix("/h"), {**limit, "status": None}))
    response = ask(servers[OLD], request, headers={"content-type": "application/apply-patch+yaml"})
    assert (response.code, response.json["status"]["desiredReplicas"]) == (200, kept)


def test_a_bound_pod_is_no_longer_nominated(servers: dict[str, InProcessServer]) -> None:
    """Release 1.35 removes the node that preemption chose when the pod is bound."""
    pods = "/api/v1/namespaces/a/pods"
    spec = {"containers": [{"name": "c", "image": "i"}]}
    binding = {"metadata": {"name": "nominated"}, "target": {"kind": "Node", "name": "n"}}
    for release, server in servers.items():
        assert ask(server, ("POST", pods, {"metadata": {"name": "nominated"}, "spec": spec})).code == 201
        patch = {"status": {"nominatedNodeName": "n"}}
        headers = {"content-type": "application/merge-patch+json"}
        assert ask(server, ("PATCH", f"{pods}/nominated/status", patch), headers=headers).code == 200
        assert ask(server, ("POST", f"{pods}/nominated/binding", binding)).code == 201
        status = ask(server, ("GET", f"{pods}/nominated", None)).json["status"]
        assert ("nominatedNodeName" in status) is (release == OLD)


def test_writes_of_a_range_of_addresses_write_its_status(servers: dict[str, InProcessServer]) -> None:
    """A range is created and replaced with the status that is sent, which its sender manages."""
    path = "/apis/networking.orch.io/v1/servicecidrs"
    ready = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
        "reason": "r",
        "message": "",
    }
    body = {"metadata": {"name": "r"}, "spec": {"cidrs": ["10.9.0.0/16"]}, "status": {"conditions": [ready]}}
    made = ask(servers[str(NEWEST)], ("POST", path, body)).json
    assert made["status"]["conditions"] == [ready]
    assert list(made["metadata"]["managedFields"][0]["fieldsV1"]) == ["f:spec", "f:status"]
    changed = ask(servers[str(NEWEST)], ("PUT", f"{path}/r", {**made, "status": {}})).json
    assert changed.get("status") in (None, {})
