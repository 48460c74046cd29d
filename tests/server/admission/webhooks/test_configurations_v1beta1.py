"""v1beta1 of webhook configurations, on a server whose runtime configuration serves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.testing.doubles.server import InProcessServer, make_server, run

GROUP = ORCH("admissionregistration.{abbr}.io")
KINDS = {
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
}
SIDE_EFFECTS = 'Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path, f"--runtime-config={GROUP}/v1beta1=true")
    yield server
    server.stop()


def ref(version: str, plural: str = "validatingwebhookconfigurations") -> ResourceRef:
    return ResourceRef(GROUP, version, plural)


def configuration(
    *hooks: dict[str, Any], version: str = "v1beta1", plural: str = "validatingwebhookconfigurations"
) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": KINDS[plural],
        "metadata": {"name": "a"},
        "webhooks": [{"clientConfig": {"service": {"namespace": "a", "name": "b"}}, **hook} for hook in hooks],
    }


@pytest.mark.parametrize("plural", sorted(KINDS))
def test_defaults_of_v1beta1(server: InProcessServer, plural: str) -> None:
    """A webhook sent as v1beta1 gets that version's defaults, is stored as v1 and is the same in both."""
    admin = server.client()
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    made = run(
        admin.create(
            ref("v1beta1", plural), "", configuration({"name": "h.example.com", "rules": [rule]}, plural=plural)
        )
    )
    (hook,) = made["webhooks"]
    reinvocation = {"reinvocationPolicy": "Never"} if plural.startswith("mutating") else {}
    assert hook == {
        "name": "h.example.com", "clientConfig": {"service": {"namespace": "a", "name": "b", "port": 443}},
        "rules": [{**rule, "scope": "*"}], "failurePolicy": "Ignore", "matchPolicy": "Exact", "namespaceSelector": {},
        "objectSelector": {}, "sideEffects": "Unknown", "timeoutSeconds": 30, "admissionReviewVersions": ["v1beta1"], **reinvocation,
    }  # fmt: skip
    stored = run(admin.get(ref("v1", plural), "", "a"))
    assert (stored["apiVersion"], stored["webhooks"]) == (f"{GROUP}/v1", [hook])
    assert run(admin.get(ref("v1beta1", plural), "", "a"))["apiVersion"] == f"{GROUP}/v1beta1"


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ([{"name": "h.example.com", "sideEffects": "Unknown"}], SIDE_EFFECTS),
        ([{"name": "h.example.com"}], "must specify one of None, NoneOnDryRun"),
        ([{"name": "h.example.com", "sideEffects": "None"}] * 2, 'Duplicate value: "h.example.com"'),
    ],
)
def test_rules_that_only_v1_has(server: InProcessServer, hooks: list[dict[str, Any]], message: str) -> None:
    """v1beta1 allows any side effects and repeated names, which v1 rejects, except in configurations that have them."""
    admin = server.client()
    reviewed = [{"admissionReviewVersions": ["v1"], **hook} for hook in hooks]
    with pytest.raises(ApiError, match=message):
        run(admin.create(ref("v1"), "", configuration(*reviewed, version="v1")))
    run(admin.create(ref("v1beta1"), "", configuration(*reviewed)))
    stored = run(admin.get(ref("v1"), "", "a"))
    stored["webhooks"][0]["timeoutSeconds"] = 5
    stored = run(admin.update(ref("v1"), "", "a", stored))
    assert stored["webhooks"][0]["timeoutSeconds"] == 5
    stored["webhooks"][0]["sideEffects"] = "Maybe"
    with pytest.raises(ApiError, match='Unsupported value: "Maybe"'):
        run(admin.update(ref("v1"), "", "a", stored))


def test_a_configuration_of_v1_stays_strict(server: InProcessServer) -> None:
    """A change through v1 follows the rules of v1 if the stored configuration does; one through v1beta1 need not."""
    admin = server.client()
    good = {"name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    stored = run(admin.create(ref("v1"), "", configuration(good, version="v1")))
    stored["webhooks"][0]["sideEffects"] = "Unknown"
    with pytest.raises(ApiError, match=SIDE_EFFECTS):
        run(admin.update(ref("v1"), "", "a", stored))
    stored["apiVersion"] = f"{GROUP}/v1beta1"
    assert run(admin.update(ref("v1beta1"), "", "a", stored))["webhooks"][0]["sideEffects"] == "Unknown"


def test_requests_are_warned(server: InProcessServer) -> None:
    """A response names the version that replaces this one; the preferred version is v1."""
    response = run(server.request("GET", f"/apis/{GROUP}/v1beta1/mutatingwebhookconfigurations"))
    assert response.code == 200
    text = f"{GROUP}/v1beta1 MutatingWebhookConfiguration is deprecated in v1.16+, unavailable in v1.22+; use {GROUP}/v1 MutatingWebhookConfiguration"
    assert text in str(response.headers)
    group = run(server.request("GET", f"/apis/{GROUP}")).json
    assert [v["version"] for v in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v1"
