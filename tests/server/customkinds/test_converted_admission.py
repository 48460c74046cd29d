"""Admission webhooks for a version to which a conversion webhook converts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.testing.doubles.server import InProcessServer, make_server, run

DEFINITIONS = ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
CONFIGURATIONS = ResourceRef(ORCH("admissionregistration.{abbr}.io"), "v1", "mutatingwebhookconfigurations")
MEMBERS = {"example.com/v1": "old", "example.com/v2": "new"}


class Webhooks:
    """Both webhooks: conversion maps spec.old of v1 to spec.new of v2, and the admission webhook sets the latter."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def post(self, where: Any, document: dict[str, Any], *more: Any) -> dict[str, Any]:
        request = document["request"]
        response: dict[str, Any] = {"uid": request["uid"]}
        if document["kind"] == "AdmissionReview":
            self.seen.append((request["object"]["apiVersion"], request["object"]["spec"]))
            patch = [{"op": "replace", "path": "/spec/new", "value": "patched"}]
            response |= {
                "allowed": True,
                "patchType": "JSONPatch",
                "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
            }
        else:
            to = request["desiredAPIVersion"]
            response["result"] = {"status": "Success"}
            response["convertedObjects"] = [
                {**obj, "apiVersion": to, "spec": {MEMBERS[to]: next(iter(obj["spec"].values()))}}
                for obj in request["objects"]
            ]
        return {"apiVersion": document["apiVersion"], "kind": document["kind"], "response": response}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path)
    yield server
    server.stop()


def version(name: str) -> dict[str, Any]:
    spec = {"type": "object", "properties": {MEMBERS[f"example.com/{name}"]: {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}


@pytest.mark.parametrize("sent", ["v1", "v2"])
def test_webhook_sees_every_version_converted(
    server: InProcessServer, monkeypatch: pytest.MonkeyPatch, sent: str
) -> None:
    """A webhook whose rules name one version gets writes through all versions in that one, and its patch is converted
    back."""
    played = Webhooks()
    monkeypatch.setattr(server.server.outbound.webhooks, "post", played.post)
    admin = server.client()
    hook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/convert"}}
    definition = {
        "apiVersion": f"{DEFINITIONS.group}/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
            "conversion": {"strategy": "Webhook", "webhook": hook}, "versions": [version("v1"), version("v2")],
        },
    }  # fmt: skip
    run(admin.create(DEFINITIONS, "", definition))
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["things"], "operations": ["CREATE"]}
    webhook = {
        "name": "set.example.com", "clientConfig": {"url": "https://example.com/admit"}, "rules": [rule],
        "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }  # fmt: skip
    configuration = {
        "apiVersion": f"{CONFIGURATIONS.group}/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "set"},
        "webhooks": [webhook],
    }  # fmt: skip
    run(admin.create(CONFIGURATIONS, "", configuration))
    member = MEMBERS[f"example.com/{sent}"]
    body = {"apiVersion": f"example.com/{sent}", "kind": "Thing", "metadata": {"name": "a"}, "spec": {member: "x"}}
    made = run(admin.create(ResourceRef("example.com", sent, "things"), "", body))
    assert played.seen == [("example.com/v2", {"new": "x"})]
    assert made["spec"] == {member: "patched"}
    assert run(admin.get(ResourceRef("example.com", "v1", "things"), "", "a"))["spec"] == {"old": "patched"}
