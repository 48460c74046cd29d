"""ABAC policy files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.kinds.users import User
from orchd.server.authz.abac import AttributeBasedAuthorizer, Policy, PolicyFileError, parse_policies
from orchd.server.authz.interfaces import Action, Decision, NonResourceRule, ResourceRule
from orchd.testing.doubles.results import result_of

GROUP = ORCH("abac.authorization.{long}.io")
ALICE = User(name="alice", groups=("dev", "system:authenticated"))


def line(**spec: Any) -> str:
    return json.dumps({"apiVersion": f"{GROUP}/v1beta1", "kind": "Policy", "spec": spec})


def parse_lines(*lines: str) -> list[Policy]:
    return parse_policies(ORCH, "p.jsonl", "\n".join(lines).encode())


def decide(text: str, action: Action) -> bool:
    verdict = result_of(AttributeBasedAuthorizer(parse_lines(text)).authorize(action))
    assert verdict.decision is Decision.ALLOW or verdict.reason == "No policy matched."
    return verdict.decision is Decision.ALLOW


def pods(user: User = ALICE, verb: str = "get", namespace: str = "a", group: str = "") -> Action:
    return Action(user=user, verb=verb, resource="pods", namespace=namespace, group=group)


def path(text: str, verb: str = "get") -> Action:
    return Action(user=ALICE, verb=verb, path=text)


@pytest.mark.parametrize(("spec", "action", "allowed"), [
    ({"user": "alice", "namespace": "*", "resource": "*", "apiGroup": "*"}, pods(), True),
    ({"user": "alice", "resource": "pods"}, pods(), False),
    ({"user": "alice", "namespace": "a", "resource": "pods"}, pods(), True),
    ({"user": "alice", "namespace": "a", "resource": "pods"}, pods(namespace="b"), False),
    ({"user": "alice", "namespace": "a", "resource": "secrets"}, pods(), False),
    ({"user": "alice", "namespace": "a", "resource": "*"}, pods(group="apps"), False),
    ({"user": "alice", "namespace": "a", "resource": "*", "apiGroup": "apps"}, pods(group="apps"), True),
    ({"user": "bob", "namespace": "a", "resource": "pods"}, pods(), False),
    ({"user": "Alice", "namespace": "a", "resource": "pods"}, pods(), False),
    ({"group": "dev", "namespace": "a", "resource": "pods"}, pods(), True),
    ({"group": "ops", "namespace": "a", "resource": "pods"}, pods(), False),
    ({"user": "alice", "group": "ops", "namespace": "a", "resource": "pods"}, pods(), False),
    ({"user": "alice", "group": "dev", "namespace": "a", "resource": "pods"}, pods(), True),
    ({"namespace": "*", "resource": "*", "apiGroup": "*"}, pods(), False),
    ({"user": "*", "namespace": "*", "resource": "*"}, pods(), True),
    ({"group": "*", "namespace": "*", "resource": "*"}, pods(), True),
    ({"user": "*", "namespace": "*", "resource": "*"}, pods(User(name="x", groups=("system:unauthenticated",))), False),
    ({"user": "alice", "namespace": "*", "resource": "pods", "readonly": True}, pods(verb="watch"), True),
    ({"user": "alice", "namespace": "*", "resource": "pods", "readonly": True}, pods(verb="create"), False),
    ({"user": "alice", "namespace": "*", "resource": "*", "apiGroup": "*"}, path("/version"), False),
    ({"user": "alice", "nonResourcePath": "/version"}, path("/version"), True),
    ({"user": "alice", "nonResourcePath": "/version"}, path("/version/"), False),
    ({"user": "alice", "nonResourcePath": "*"}, path("/any/thing", "post"), True),
    ({"user": "alice", "nonResourcePath": "/health*"}, path("/healthz/ping"), True),
    ({"user": "alice", "nonResourcePath": "/health**"}, path("/healthz"), True),
    ({"user": "alice", "nonResourcePath": "/*/x"}, path("/a/x"), False),
    ({"user": "alice", "nonResourcePath": "/version", "readonly": True}, path("/version", "post"), False),
    ({"user": "alice", "nonResourcePath": "*"}, pods(), False),
])  # fmt: skip
def test_policy_line_matching(spec: dict[str, Any], action: Action, allowed: bool) -> None:
    """A line allows what all of its fields match; an omitted field matches only requests without the attribute."""
    assert decide(line(**spec), action) is allowed


@pytest.mark.parametrize(("text", "policy"), [
    ("{}", Policy(group="system:authenticated", api_group="*", resource="*", namespace="*", path="*")),
    ('{"user": "a"}', Policy(user="a", api_group="*", resource="*", namespace="*", path="*")),
    ('{"user": "*", "group": "g"}', Policy(group="system:authenticated", api_group="*", resource="*", namespace="*", path="*")),
    ('{"group": "g", "resource": "pods"}', Policy(group="g", api_group="*", resource="pods", namespace="*")),
    ('{"user": "a", "namespace": "n", "readonly": true}',
     Policy(user="a", readonly=True, api_group="*", resource="*", namespace="n")),
    ('{"kind": "Policy", "user": "a", "resource": "x"}', Policy(user="a", api_group="*", resource="x", namespace="*")),
    ("user: a", Policy(user="a", api_group="*", resource="*", namespace="*", path="*")),
])  # fmt: skip
def test_unversioned_policy_lines(text: str, policy: Policy) -> None:
    """Without apiVersion an omitted field matches everything."""
    assert parse_lines(text) == [policy]


@pytest.mark.parametrize(("text", "why"), [
    ("{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
    ("{user: a}", "couldn't get version/kind; json parse error: invalid character 'u' looking for beginning of object key string"),
    ('{"user": 1}', "json: cannot unmarshal number into Go struct field Policy.user of type string"),
    (line(user="a", readonly="yes"), "json: cannot unmarshal string into Go struct field PolicySpec.spec.readonly of type bool"),
    ('{"apiVersion": "v1", "kind": "Pod"}', 'no kind "Pod" is registered for version "v1" in scheme "pkg/apis/abac/register.go:33"'),
    ('{"kind": "Pod"}', f'no kind "Pod" is registered for version "{GROUP}/v0" in scheme "pkg/apis/abac/register.go:33"'),
    ('{"kind": 1}', "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string"),
])  # fmt: skip
def test_bad_lines_are_named(text: str, why: str) -> None:
    """The error has the file, the line number, the line and the reason."""
    with pytest.raises(PolicyFileError) as caught:
        parse_lines("# comment", "", "  ", "{}", text)
    assert str(caught.value) == f"error reading policy file p.jsonl, line 5: {text}: {why}"


def test_long_lines_are_refused() -> None:
    """Lines have a maximum length."""
    with pytest.raises(PolicyFileError, match=r"error reading policy file p.jsonl: .*too long"):
        parse_lines('{"user": "' + "a" * 70000 + '"}')


def test_rules_of_a_user_are_listed() -> None:
    """The rules of a user are those of the lines that apply to the user and the namespace."""
    authorizer = AttributeBasedAuthorizer(parse_lines(
        line(user="alice", namespace="*", resource="pods", readonly=True),
        line(group="dev", namespace="a", resource="*", apiGroup="apps"),
        line(user="alice", namespace="b", resource="secrets"),
        line(user="alice", nonResourcePath="/version"),
        line(user="alice", namespace="*", nonResourcePath="/x"),
    ))  # fmt: skip
    rules = authorizer.rules(ALICE, "a")
    assert rules.resource == (
        ResourceRule(verbs=("get", "list", "watch"), api_groups=("",), resources=("pods",)),
        ResourceRule(verbs=("*",), api_groups=("apps",), resources=("*",)),
    )
    assert rules.non_resource == (NonResourceRule(verbs=("*",), paths=("/x",)),)
    assert not rules.incomplete and not rules.error


def test_policy_file_line_endings(tmp_path: Path) -> None:
    """Both kinds of line endings are accepted."""
    file = tmp_path / "p.jsonl"
    file.write_bytes(b'{"user": "a"}\r\n# x\r\n{"user": "b"}\n')
    assert [p.user for p in AttributeBasedAuthorizer.read(ORCH, str(file)).policies] == ["a", "b"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.binary(max_size=40) | st.text(max_size=40).map(str.encode)), st.dictionaries(
    st.sampled_from(["apiVersion", "kind", "user", "group", "readonly", "resource", "namespace", "spec"]), _VALUES))  # fmt: skip
def test_any_file_is_policies_or_an_error(lines: list[bytes], policy: dict[str, Any]) -> None:
    """Any file content gives a list of policies, or an error that names the file."""
    for text in (
        b"\n".join(lines),
        json.dumps(policy).encode(),
        line(**{k: v for k, v in policy.items() if k != "kind"}).encode(),
    ):
        try:
            policies = parse_policies(ORCH, "p.jsonl", text)
        except PolicyFileError as error:
            assert str(error).startswith("error reading policy file p.jsonl")
        else:
            for each in policies:
                each.allows(pods())
