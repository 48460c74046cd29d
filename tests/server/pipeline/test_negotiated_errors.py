"""Media types of errors and documents at paths that are no resources, and requests that releases answer differently."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchd.testing.doubles.server import InProcessServer, make_server, run, user

ALICE = user("alice", "dev")
YAML = {"accept": "application/yaml"}
IMAGE = {"accept": "image/png"}


@pytest.fixture(scope="module", params=["1.23", "1.35"])
def either(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server of each release, and its name."""
    folder: Path = tmp_path_factory.mktemp("either")
    server = make_server(folder, "--dialect=kubernetes", f"--emulated-version={request.param}")
    yield server, request.param
    server.stop()


@pytest.mark.parametrize(("method", "path", "asker", "code"), [
    ("POST", "/version", None, 405), ("PATCH", "/apis/apps/v1", None, 405), ("GET", "/nope", ALICE, 403),
])  # fmt: skip
def test_errors_have_the_accepted_form(either: Any, method: str, path: str, asker: Any, code: int) -> None:
    """Also errors of paths that are no resources are YAML if the request accepts that."""
    server: InProcessServer = either[0]
    response = run(server.request(method, path, user=asker, headers=YAML))
    assert (response.code, response.response.content_type) == (code, "application/yaml")
    assert response.body.startswith(b"apiVersion: v1\ncode: ")


@pytest.mark.parametrize(("path", "listed"), [
    ("/apis", True), ("/apis/apps", True), ("/api", False), ("/apis/apps/v1", False), ("/version", False),
    ("/openid/v1/jwks", False),
])  # fmt: skip
def test_documents_in_another_form_are_refused(either: Any, path: str, listed: bool) -> None:
    """Documents of the aggregator list the media types; others are routes, whose error is another."""
    server, release = either
    response = run(server.request("GET", path, headers=IMAGE))
    assert response.code == 406
    message = response.json["message"]
    if listed:
        assert message.startswith("only the following media types are accepted: application/json")
    else:
        assert message.startswith("406: Not Acceptable") and ("representations" in message) is (release == "1.35")


def test_index_is_the_list_of_paths(either: Any) -> None:
    """/index.html is the document of /."""
    server: InProcessServer = either[0]
    assert run(server.request("GET", "/index.html")).body == run(server.request("GET", "/")).body


def test_tokens_of_missing_accounts(either: Any) -> None:
    """Release 1.23 validates a token request before it reads the account, and extends the lifetime for any audience."""
    server, release = either
    url = "/api/v1/namespaces/default/serviceaccounts"
    asked = {"spec": {"audiences": ["x"], "expirationSeconds": 5}}
    assert run(server.request("POST", f"{url}/none/token", body=asked)).code == (422 if release == "1.23" else 404)
    run(server.request("POST", url, body={"metadata": {"name": "a"}}))
    pod = {"metadata": {"name": "p"}, "spec": {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}]}}
    assert run(server.request("POST", "/api/v1/namespaces/default/pods", body=pod)).code == 201
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    asked = {"spec": {"audiences": ["x"], "expirationSeconds": 3607, "boundObjectRef": bound}}
    token = run(server.request("POST", f"{url}/a/token", body=asked)).json["status"]["token"]
    claims = orjson.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert claims["exp"] - claims["iat"] == (365 * 24 * 3600 if release == "1.23" else 3607)


def test_logs_refuse_a_choice_of_streams(either: Any) -> None:
    """The option behind a gate that is off is an error in release 1.35, before the pod is looked for."""
    server, release = either
    response = run(server.request("GET", "/api/v1/namespaces/default/pods/none/log?stream=Stdout"))
    assert response.code == (404 if release == "1.23" else 422)


def test_negative_grace_periods_of_pods(either: Any) -> None:
    """Release 1.35 stores one second instead."""
    server, release = either
    run(server.request("POST", "/api/v1/namespaces/default/serviceaccounts", body={"metadata": {"name": "g"}}))
    spec = {"serviceAccountName": "g", "terminationGracePeriodSeconds": -1, "containers": [{"name": "c", "image": "i"}]}
    pod = {"metadata": {"name": "g"}, "spec": spec}
    response = run(server.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", body=pod))
    assert response.json["spec"]["terminationGracePeriodSeconds"] == (-1 if release == "1.23" else 1)


def test_empty_signing_requests(either: Any) -> None:
    """An empty request is shown as such, not as a missing one."""
    server, release = either
    shown = "[]byte{}" if release == "1.23" else '""'
    spec = {"request": "", "signerName": "a.b/c", "usages": ["any"]}
    url = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    message = run(server.request("POST", url, body={"metadata": {"name": "r"}, "spec": spec})).json["message"]
    assert f"spec.request: Invalid value: {shown}: PEM block type must be CERTIFICATE REQUEST" in message


def test_limits_of_pods_name_each_reason_once(either: Any) -> None:
    """Reasons that several containers have are named once. Release 1.23 adds up what all containers of a pod have."""
    server, release = either
    run(server.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "limited"}}))
    run(server.request("POST", "/api/v1/namespaces/limited/serviceaccounts", body={"metadata": {"name": "default"}}))
    limits = [{"type": "Container", "maxLimitRequestRatio": {"memory": "2"}}, {"type": "Pod", "min": {"cpu": "1"}}]
    run(
        server.request(
            "POST",
            "/api/v1/namespaces/limited/limitranges",
            body={"metadata": {"name": "l"}, "spec": {"limits": limits}},
        )
    )
    containers = [{"name": "a", "image": "i", "resources": {"requests": {"cpu": "2"}}}, {"name": "b", "image": "i"}]
    body = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
    message = run(server.request("POST", "/api/v1/namespaces/limited/pods", body=body)).json["message"]
    assert message.count("memory max limit to request ratio") == 1
    assert ("minimum cpu usage per Pod is 1.  No request is specified" in message) is (release == "1.23")


def test_addresses_of_load_balancers(either: Any) -> None:
    """Release 1.35 completes the mode of an address, and warns of one in another spelling."""
    server, release = either
    url = "/api/v1/namespaces/default/services"
    service = {"metadata": {"name": "b"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}
    assert run(server.request("POST", url, body=service)).code == 201
    patch = {"status": {"loadBalancer": {"ingress": [{"ip": "010.1.1.1"}, {"hostname": "a.b"}]}}}
    merge = {"content-type": "application/merge-patch+json"}
    response = run(server.request("PATCH", f"{url}/b/status", body=patch, headers=merge))
    mode, warned = ({"ipMode": "VIP"}, 1) if release == "1.35" else ({}, 0)
    assert response.json["status"]["loadBalancer"]["ingress"] == [{"ip": "010.1.1.1", **mode}, {"hostname": "a.b"}]
    warnings = [value for name, value in response.response.headers if name == "Warning"]
    assert (
        len([each for each in warnings if "status.loadBalancer.ingress[0]: non-standard IP address" in each]) == warned
    )


def test_bindings_of_no_kind_of_role(either: Any) -> None:
    """Who may create bindings but not bind every role gets an error for a reference that names no kind of role, or no
    role."""
    server: InProcessServer = either[0]
    group = "/apis/rbac.authorization.k8s.io/v1"
    rules = [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterrolebindings"], "verbs": ["create"]}]
    run(server.request("POST", f"{group}/clusterroles", body={"metadata": {"name": "binder"}, "rules": rules}))
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "binder"}
    subjects = [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}]
    body = {"metadata": {"name": "binder"}, "roleRef": reference, "subjects": subjects}
    assert run(server.request("POST", f"{group}/clusterrolebindings", body=body)).code == 201
    for reference, code, message in (
        ({}, 500, 'unsupported role reference kind: ""'),
        ({"kind": "ClusterRole"}, 400, "Name parameter required."),
    ):
        body = {"metadata": {"name": "x"}, "roleRef": reference}
        refused = run(server.request("POST", f"{group}/clusterrolebindings", body=body, user=ALICE))
        assert (refused.code, refused.json["message"]) == (code, message)
