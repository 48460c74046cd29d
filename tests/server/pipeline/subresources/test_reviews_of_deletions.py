"""What admission sees of deletions that are not requests for one object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchd.testing.doubles.server import make_server, run
from tests.server.pipeline.subresources.test_pod_endpoints import PODS, pod

GROUP = "admissionregistration.orch.io/v1"
POLICIES = f"/apis/{GROUP}/validatingadmissionpolicies"


def test_admission_of_evictions_and_collections(tmp_path: Path) -> None:
    """A policy on deletions of pods refuses a deletion and that of a collection, which has no name, but not an
    eviction."""
    server = make_server(tmp_path, "--emulated-version=1.35", "--disable-admission-plugins=ServiceAccount")

    def call(method: str, path: str, body: Any = None) -> Any:
        return run(server.request(method, path, body=body))

    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}]
    validations = [{"expression": "false", "messageExpression": "'name ' + request.?name.orValue('absent')"}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": validations}
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    try:
        assert call("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}}).code == 201
        assert call("POST", PODS, pod("x")).code == 201
        assert call("POST", POLICIES, {"metadata": {"name": "p"}, "spec": spec}).code == 201
        assert (
            call(
                "POST", f"/apis/{GROUP}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": bound}
            ).code
            == 201
        )
        assert "name x" in call("DELETE", f"{PODS}/x").json["message"]
        collection = call("DELETE", PODS)
        assert collection.code == 422 and "name x" not in collection.json["message"]
        assert call("POST", f"{PODS}/x/eviction", {"metadata": {"name": "x"}}).code == 201
    finally:
        server.stop()
