"""AuthorizationConfiguration files: valid and invalid documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchd.config.documents.authorization import ConfiguredAuthorizer, WebhookSettings, parse_authorization
from orchd.config.documents.decoding import DocumentError
from orchd.dialect import KUBERNETES, ORCH, Dialect

KNOWN = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node", "Mine")
RBAC = {"type": "RBAC", "name": "rbac"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("conf") / "webhook.conf"
    path.touch()
    return path


def document(*authorizers: Any, dialect: Dialect = ORCH, version: str = "v1") -> bytes:
    head = {"apiVersion": dialect("apiserver.config.{abbr}.io/") + version, "kind": "AuthorizationConfiguration"}
    return json.dumps({**head, "authorizers": list(authorizers)}).encode()


def webhook(file: Path, name: str = "hook", dialect: Dialect = ORCH, **changed: Any) -> dict[str, Any]:
    settings = {
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "failurePolicy": "NoOpinion",
        "connectionInfo": {"type": dialect("{Short}ConfigFile"), dialect("{short}ConfigFile"): str(file)},
        **changed,
    }
    return {"type": "Webhook", "name": name, "webhook": {k: v for k, v in settings.items() if v is not None}}


def problem(data: bytes) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_authorization(data, ORCH, modes=KNOWN)
    return str(caught.value)


@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES])
@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_authorizers_are_in_order_with_defaults(dialect: Dialect, version: str, file: Path) -> None:
    """Authorizers keep their order; there may be several webhooks, whose cache times have defaults."""
    data = document(
        webhook(file, "first", dialect),
        {"type": "Node", "name": "node"},
        webhook(
            file, "second", dialect, failurePolicy="Deny", timeout="500ms", authorizedTTL="1m", unauthorizedTTL="5s",
            cacheUnauthorizedRequests=False, subjectAccessReviewVersion="v1beta1",
        ),
        {"type": "Mine", "name": "mine"},
        dialect=dialect, version=version,
    )  # fmt: skip
    usual = WebhookSettings(
        timeout=3.0,
        authorized_ttl=300.0,
        unauthorized_ttl=30.0,
        version="v1",
        denies_on_failure=False,
        config_file=str(file),
    )
    other = WebhookSettings(
        timeout=0.5,
        authorized_ttl=60.0,
        unauthorized_ttl=0.0,
        version="v1beta1",
        denies_on_failure=True,
        config_file=str(file),
    )
    assert parse_authorization(data, dialect, modes=KNOWN) == (
        ConfiguredAuthorizer(type="Webhook", name="first", webhook=usual),
        ConfiguredAuthorizer(type="Node", name="node"),
        ConfiguredAuthorizer(type="Webhook", name="second", webhook=other),
        ConfiguredAuthorizer(type="Mine", name="mine"),
    )


AT = "authorizers[0]"


@pytest.mark.parametrize(("given", "why"), [
    ([], "authorizers: Required value: at least one authorization mode must be defined"),
    ([{"name": "x"}], f"{AT}.type: Required value"),
    ([{"type": "Rbac", "name": "x"}],
     f'{AT}.type: Unsupported value: "Rbac": supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", "Mine", "Node", "RBAC", "Webhook"'),
    ([RBAC, {"type": "RBAC", "name": "again"}], 'authorizers[1].type: Duplicate value: "RBAC"'),
    ([{"type": "RBAC"}], f"{AT}.name: Required value"),
    ([RBAC, {"type": "Node", "name": "rbac"}], 'authorizers[1].name: Duplicate value: "rbac"'),
    ([{"type": "RBAC", "name": "Big"}], f'{AT}.name: Invalid value: "Big": authorizer name is invalid: a lowercase RFC 1123 subdomain'),
    ([{"type": "Webhook", "name": "x"}], f"{AT}.webhook: Required value: required when type=Webhook"),
    ([{"type": "Node", "name": "other"}], "expected name node for authorizer Node instead of other"),
    ([{**RBAC, "webhook": {}}], f'{AT}.webhook: Invalid value: "non-null": may only be specified when type=Webhook'),
    ([{**RBAC, "x": 1}], f'strict decoding error: unknown field "{AT}.x"'),
])  # fmt: skip
def test_invalid_authorizers(given: list[Any], why: str) -> None:
    """Each error names the field."""
    assert problem(document(*given)).startswith(why)


VERSIONS = 'supported values: "v1", "v1beta1"'


@pytest.mark.parametrize(("changed", "why"), [
    ({"timeout": None}, "timeout: Required value"),
    ({"timeout": "31s"}, 'timeout: Invalid value: "31s": must be > 0s and <= 30s'),
    ({"timeout": "-1s"}, 'timeout: Invalid value: "-1s": must be > 0s and <= 30s'),
    ({"authorizedTTL": "-1s"}, 'authorizedTTL: Invalid value: "-1s": must be > 0s'),
    ({"unauthorizedTTL": "-1s"}, 'unauthorizedTTL: Invalid value: "-1s": must be > 0s'),
    ({"subjectAccessReviewVersion": None}, "subjectAccessReviewVersion: Required value"),
    ({"subjectAccessReviewVersion": "v2"}, f'subjectAccessReviewVersion: Unsupported value: "v2": {VERSIONS}'),
    ({"failurePolicy": None}, "failurePolicy: Required value"),
    ({"failurePolicy": "Fail"}, 'failurePolicy: Unsupported value: "Fail": supported values: "NoOpinion", "Deny"'),
    ({"connectionInfo": None}, "connectionInfo.type: Required value"),
    ({"connectionInfo": {"type": "X"}}, 'connectionInfo.type: Unsupported value: {"Type":"X","OrchConfigFile":null}: supported values'),
    ({"connectionInfo": {"type": "InClusterConfig"}},
     'connectionInfo.type: Invalid value: "InClusterConfig": this server cannot be its own authorization webhook'),
    ({"connectionInfo": {"type": "OrchConfigFile"}}, "connectionInfo.orchConfigFile: Required value"),
    ({"connectionInfo": {"type": "OrchConfigFile", "orchConfigFile": "a"}},
     'connectionInfo.orchConfigFile: Invalid value: "a": must be an absolute path'),
    ({"connectionInfo": {"type": "OrchConfigFile", "orchConfigFile": "/nowhere/at/all"}},
     'connectionInfo.orchConfigFile: Invalid value: "/nowhere/at/all": error loading file: '),
    ({"connectionInfo": {"type": "OrchConfigFile", "orchConfigFile": "/"}},
     'connectionInfo.orchConfigFile: Invalid value: "/": must be a regular file'),
    ({"matchConditions": [{"expression": "request.user"}], "matchConditionSubjectAccessReviewVersion": "v1"},
     'matchConditions[0].expression: Invalid value: "request.user": must evaluate to bool but got string'),
    ({"matchConditions": [{"expression": "request.name == ''"}], "matchConditionSubjectAccessReviewVersion": "v1"},
     'matchConditions[0].expression: Invalid value: "request.name == \'\'": compilation failed: ERROR: <input>:1:8: undefined field \'name\''),
    ({"matchConditions": [{"expression": " "}], "matchConditionSubjectAccessReviewVersion": "v1"},
     "matchConditions[0].expression: Required value"),
    ({"matchConditionSubjectAccessReviewVersion": "v1beta1"},
     'matchConditionSubjectAccessReviewVersion: Unsupported value: "v1beta1": supported values: "v1"'),
    ({"matchConditions": [{"expression": str(i)} for i in range(65)], "matchConditionSubjectAccessReviewVersion": "v1"},
     "matchConditions: Too many: 65: must have at most 64 items"),
])  # fmt: skip
def test_invalid_webhooks(changed: dict[str, Any], why: str, file: Path) -> None:
    """Each error names the field."""
    assert problem(document(webhook(file, **changed))).startswith(f"{AT}.{why}")


def test_match_conditions_need_their_version(file: Path) -> None:
    """matchConditions require matchConditionSubjectAccessReviewVersion."""
    version = (
        f"{AT}.matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified"
    )
    assert version in problem(document(webhook(file, matchConditions=[{"expression": "true"}])))
