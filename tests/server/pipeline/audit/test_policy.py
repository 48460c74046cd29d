"""The audit policy: matching of rules, and invalid policies."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from orchd.config.documents import types
from orchd.config.documents.decoding import DocumentError, decode_document
from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.kinds.users import User
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.audit.policy import LEVELS, NONE, Policy, PolicyError, make_policy

ALICE = User(name="alice", groups=("people",))


def parse(document: str, dialect: Dialect) -> Policy:
    return make_policy(decode_document(document.encode(), types.AUDIT_POLICY, dialect))


def text(*rules: dict[str, Any], **more: Any) -> str:
    return yaml.safe_dump({"apiVersion": "audit.orch.io/v1", "kind": "Policy", "rules": list(rules), **more})


def level(rule: dict[str, Any], method: str, path: str, user: User | None = ALICE) -> str:
    policy = parse(text({"level": "Metadata", **rule}), ORCH)
    raw, _, query = path.partition("?")
    info = requestinfo.parse(method, raw, {k: [v] for k, _, v in (p.partition("=") for p in query.split("&") if p)})
    return LEVELS[policy.rule(user, info).level]


POD = "/api/v1/namespaces/a/pods/x"


@pytest.mark.parametrize(
    ("rule", "method", "path", "covered"),
    [
        ({}, "GET", POD, True),
        ({}, "GET", "/version", True),
        ({"users": ["alice"]}, "GET", POD, True),
        ({"users": ["bob"]}, "GET", POD, False),
        ({"userGroups": ["people"]}, "GET", POD, True),
        ({"userGroups": ["others"]}, "GET", POD, False),
        ({"verbs": ["get", "list"]}, "GET", POD, True),
        ({"verbs": ["watch"]}, "GET", "/api/v1/pods?watch=1", True),
        ({"verbs": ["create"]}, "GET", POD, False),
        ({"namespaces": ["a"]}, "GET", POD, True),
        ({"namespaces": ["b"]}, "GET", POD, False),
        ({"namespaces": [""]}, "GET", "/api/v1/nodes", True),
        ({"namespaces": [""]}, "GET", "/version", False),
        ({"resources": [{"group": ""}]}, "GET", POD, True),
        ({"resources": [{"group": "apps"}]}, "GET", POD, False),
        ({"resources": [{"group": "", "resources": ["pods"]}]}, "GET", POD, True),
        ({"resources": [{"group": "", "resources": ["pods"]}]}, "GET", POD + "/log", False),
        ({"resources": [{"group": "", "resources": ["pods/log"]}]}, "GET", POD + "/log", True),
        ({"resources": [{"group": "", "resources": ["pods/*"]}]}, "GET", POD + "/log", True),
        ({"resources": [{"group": "", "resources": ["*/log"]}]}, "GET", POD + "/log", True),
        ({"resources": [{"group": "", "resources": ["*/status"]}]}, "GET", POD + "/log", False),
        ({"resources": [{"group": "", "resources": ["*"]}]}, "GET", POD + "/log", True),
        ({"resources": [{"group": "", "resources": ["pods"], "resourceNames": ["x"]}]}, "GET", POD, True),
        ({"resources": [{"group": "", "resources": ["pods"], "resourceNames": ["other"]}]}, "GET", POD, False),
        (
            {"resources": [{"group": "", "resources": ["pods"], "resourceNames": ["x"]}]},
            "POST",
            "/api/v1/namespaces/a/pods",
            False,
        ),
        ({"resources": [{"group": ""}]}, "GET", "/api/v1", False),
        ({"nonResourceURLs": ["/version"]}, "GET", "/version", True),
        ({"nonResourceURLs": ["/healthz*"]}, "GET", "/healthz/ping", True),
        ({"nonResourceURLs": ["*"]}, "GET", "/version", True),
        ({"nonResourceURLs": ["*"]}, "GET", POD, False),
    ],
)
def test_rule_matching(rule: dict[str, Any], method: str, path: str, covered: bool) -> None:
    """All fields of a rule must match; omitted fields match everything."""
    assert level(rule, method, path) == ("Metadata" if covered else "None")


@pytest.mark.parametrize("rule", [{"users": ["alice"]}, {"userGroups": ["people"]}])
def test_user_rules_do_not_match_unauthenticated_requests(rule: dict[str, Any]) -> None:
    """Rules with users do not match unauthenticated requests."""
    assert level(rule, "GET", POD, None) == "None"


def test_first_matching_rule_decides() -> None:
    """The first matching rule decides; omitStages of the policy are added to the rule's."""
    policy = parse(
        text(
            {"level": "None", "users": ["alice"], "omitStages": ["Panic"]}, {"level": "Request", "omitManagedFields": False},
            omitStages=["RequestReceived"], omitManagedFields=True,
        ),
        ORCH,
    )  # fmt: skip
    info = requestinfo.parse("GET", POD, {})
    first, second = policy.rule(ALICE, info), policy.rule(User(name="bob"), info)
    assert first.level == NONE and first.omitted == {"RequestReceived", "Panic"} and first.omits_managed_fields
    assert (
        LEVELS[second.level] == "Request" and second.omitted == {"RequestReceived"} and not second.omits_managed_fields
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (text(), "rules: at least one rule is needed"),
        (
            text({"level": "Everything"}),
            "rules[0].level: 'Everything' is not one of None, Metadata, Request, RequestResponse",
        ),
        (text({"level": "None"}, {}), "rules[1].level: '' is not one of None, Metadata, Request, RequestResponse"),
        (
            text({"level": "None"}, omitStages=["Received"]),
            "omitStages: 'Received' is not one of RequestReceived, ResponseStarted, ResponseComplete, Panic",
        ),
        (
            text({"level": "None", "nonResourceURLs": ["version"]}),
            "rules[0].nonResourceURLs: 'version' must begin with a '/' character",
        ),
        (
            text({"level": "None", "nonResourceURLs": ["/a*b"]}),
            "rules[0].nonResourceURLs: '/a*b' may have '*' as its last character only",
        ),
        (
            text({"level": "None", "nonResourceURLs": ["/a"], "namespaces": ["a"]}),
            "rules[0].nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs",
        ),
        (
            text({"level": "None", "resources": [{"group": "apps/v1"}]}),
            "rules[0].resources[0].group: 'apps/v1' is no group: versions do not belong here",
        ),
        (
            text({"level": "None", "resources": [{"resourceNames": ["a"]}]}),
            "rules[0].resources[0].resourceNames: using resourceNames requires at least one resource",
        ),
    ],
)
def test_invalid_policies_are_refused(document: str, message: str) -> None:
    """The error for an invalid policy has the path of the field."""
    with pytest.raises(PolicyError) as refused:
        parse(document, ORCH)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("- a", "couldn't get version/kind; json parse error: json: cannot unmarshal array"),
        (
            "kind: Policy\napiVersion: v1\nrules: [{level: None}]",
            'no kind "Policy" is registered for version "v1"; expected Policy of',
        ),
        (text({"level": "None", "user": ["a"]}), 'strict decoding error: unknown field "rules[0].user"'),
        (text({"level": "None"}, extra=1), 'strict decoding error: unknown field "extra"'),
        (text({"level": "None"}) + "rules: []\n", "strict decoding error: yaml: unmarshal errors:"),
        (
            text({"level": "None", "users": "alice"}),
            "json: cannot unmarshal string into Go struct field PolicyRule.rules.users of type []string",
        ),
        (
            text({"level": "None"}, omitManagedFields="no"),
            "json: cannot unmarshal string into Go struct field Policy.omitManagedFields of type bool",
        ),
    ],
)
def test_policies_are_decoded_strictly(document: str, message: str) -> None:
    """Unknown, repeated and mistyped members, and other kinds, are refused with the field."""
    with pytest.raises(DocumentError) as refused:
        parse(document, ORCH)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_policy_group_follows_the_dialect(version: str) -> None:
    """The API group of a policy is the dialect's, in all of its versions."""
    document = text({"level": "None"}).replace("/v1", f"/{version}")
    assert parse(document, ORCH).rules
    with pytest.raises(DocumentError):
        parse(document, KUBERNETES)
