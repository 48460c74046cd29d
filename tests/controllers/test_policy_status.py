"""The controller of the status of admission policies."""

from __future__ import annotations

from pathlib import Path

from orchd.testing.doubles.server import make_server, run

PATH = "/apis/admissionregistration.orch.io/v1/validatingadmissionpolicies"


def test_the_status_tells_what_does_not_fit(tmp_path: Path) -> None:
    """The controller writes warnings and the generation that it has seen, once for each generation."""
    server = make_server(
        tmp_path, "--emulated-version=1.35", "--controllers=validatingadmissionpolicy-status-controller"
    )
    try:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
        spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "object.spc == 1"}]}
        policy = {"metadata": {"name": "p"}, "spec": spec}
        assert run(server.request("POST", PATH, body=policy)).code == 201
        for _ in range(100):
            server.clock.advance(1)
            status = run(server.request("GET", f"{PATH}/p")).json["status"]
            if status:
                break
        assert status["observedGeneration"] == 1
        [warning] = status["typeChecking"]["expressionWarnings"]
        assert warning["fieldRef"] == "spec.validations[0].expression"
        assert "undefined field 'spc'" in warning["warning"]
    finally:
        server.stop()
