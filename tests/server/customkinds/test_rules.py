"""Validation rules in schemas: an alpha feature with a gate, and without an evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.testing.server import make_server, run

DEFINITIONS = ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
RULES = ORCH("x-{long}-validations")


def definition() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": {"type": "integer", RULES: [{"rule": "self > 0"}]}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": f"{DEFINITIONS.group}/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    }  # fmt: skip


def test_validation_rules_are_dropped_by_default(tmp_path: Path) -> None:
    """With the gate off, which is the default, rules are dropped from definitions."""
    server = make_server(tmp_path)
    try:
        made = run(server.client().create(DEFINITIONS, "", definition()))
        schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert schema["properties"]["a"] == {"type": "integer"}
    finally:
        server.stop()


def test_validation_rules_are_refused_with_the_gate(tmp_path: Path) -> None:
    """With the gate on, a definition with rules is rejected with a cause that names them."""
    server = make_server(tmp_path, "--feature-gates=CustomResourceValidationExpressions=true")
    try:
        with pytest.raises(ApiError) as caught:
            run(server.client().create(DEFINITIONS, "", definition()))
        (cause,) = caught.value.status()["details"]["causes"]
        assert (caught.value.code, cause["reason"]) == (422, "FieldValueInvalid")
        assert cause["field"] == f"spec.validation.openAPIV3Schema.properties[a].{RULES}[0].rule"
    finally:
        server.stop()
