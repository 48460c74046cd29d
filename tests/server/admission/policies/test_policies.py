"""Admission policies on a whole server that emulates release 1.35."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User
from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run
from orchd.txkit.turns import TurnBudget

POLICIES = "/apis/admissionregistration.orch.io/v1/validatingadmissionpolicies"
BINDINGS = f"{POLICIES[:-3]}ybindings"
MAPS = "/api/v1/namespaces/default/configmaps"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    server = make_server(tmp_path_factory.mktemp("policies"), "--emulated-version=1.35")
    yield server
    server.stop()


def send(server: InProcessServer, method: str, path: str, body: Object | None = None, **more: Any) -> JsonResponse:
    return run(server.request(method, path, body=body, **more))


class Policy:
    """A policy with a binding, removed at the end."""

    def __init__(self, server: InProcessServer, binding: Object | None = None, **spec: Any) -> None:
        self.server = server
        constraints = {"resourceRules": [RULE], **spec.pop("matchConstraints", {})}
        self.answers = [
            send(
                server,
                "POST",
                path,
                {
                    "apiVersion": "admissionregistration.orch.io/v1",
                    "kind": kind,
                    "metadata": {"name": "p"},
                    "spec": body,
                },
            )
            for path, kind, body in (
                (POLICIES, "ValidatingAdmissionPolicy", {"matchConstraints": constraints, **spec}),
                (
                    BINDINGS,
                    "ValidatingAdmissionPolicyBinding",
                    {"policyName": "p", "validationActions": ["Deny"], **(binding or {})},
                ),
            )
        ]

    def __enter__(self) -> Policy:
        if [response.code for response in self.answers] != [201, 201]:
            self.__exit__()
            raise AssertionError([response.json for response in self.answers])
        return self

    def __exit__(self, *_: object) -> None:
        for path in (BINDINGS, POLICIES):
            send(self.server, "DELETE", f"{path}/p")


def config_map(name: str = "a", **more: Any) -> Object:
    labels = more.pop("labels", {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, **more}


def create(server: InProcessServer, obj: Object | None = None, **more: Any) -> tuple[int, str]:
    """The code and the end of the message of a dry run."""
    response = send(server, "POST", f"{MAPS}?dryRun=All", config_map() if obj is None else obj, **more)
    said = "" if response.code < 300 else response.json["message"]
    return response.code, said.partition("denied request: ")[2] or said


FAILED = "failed expression: "
#: spec of a policy, object, code, message.
DECISIONS: dict[str, tuple[Object, Object, int, str]] = {
    "holds": ({"validations": [{"expression": "object.metadata.name == 'a'"}]}, config_map(), 201, ""),
    "fails": ({"validations": [{"expression": " false "}]}, config_map(), 422, f"{FAILED}false"),
    "message": ({"validations": [{"expression": "false", "message": " no "}]}, config_map(), 422, "no"),
    "message expression": (
        {
            "validations": [
                {"expression": "false", "message": "m", "messageExpression": "'it is ' + object.metadata.name"}
            ]
        },
        config_map(),
        422,
        "it is a",
    ),
    "message expression of two lines": (
        {"validations": [{"expression": "false", "message": "m", "messageExpression": "'a\\nb'"}]},
        config_map(),
        422,
        "m",
    ),
    "message expression with an error": (
        {"validations": [{"expression": "false", "messageExpression": "string(object.x)"}]},
        config_map(),
        422,
        f"{FAILED}false",
    ),
    "reason": ({"validations": [{"expression": "false", "reason": "Forbidden"}]}, config_map(), 403, f"{FAILED}false"),
    "first failure": (
        {"validations": [{"expression": "true"}, {"expression": "1 > 2"}, {"expression": "false"}]},
        config_map(),
        422,
        f"{FAILED}1 > 2",
    ),
    "error": (
        {"validations": [{"expression": "object.data.x == 'y'"}]},
        config_map(),
        422,
        "expression 'object.data.x == 'y'' resulted in error: no such key: data",
    ),
    "ignored error": (
        {"validations": [{"expression": "object.data.x == 'y'"}], "failurePolicy": "Ignore"},
        config_map(),
        201,
        "",
    ),
    "ignored errors, not failures": (
        {"validations": [{"expression": "false"}], "failurePolicy": "Ignore"},
        config_map(),
        422,
        f"{FAILED}false",
    ),
    "variables": (
        {
            "variables": [
                {"name": "n", "expression": "object.metadata.name"},
                {"name": "l", "expression": "size(variables.n)"},
            ],
            "validations": [{"expression": "variables.l > 1"}],
        },
        config_map(),
        422,
        f"{FAILED}variables.l > 1",
    ),
    "presence of a variable": (
        {
            "variables": [{"name": "n", "expression": "object.metadata.name"}],
            "validations": [{"expression": "has(variables.n) && variables.?n.hasValue() && variables.n == 'x'"}],
        },
        config_map(),
        422,
        f"{FAILED}has(variables.n) && variables.?n.hasValue() && variables.n == 'x'",
    ),
    "unused variable with an error": (
        {
            "variables": [{"name": "n", "expression": "object.x"}],
            "validations": [{"expression": "true || variables.n"}],
        },
        config_map(),
        201,
        "",
    ),
    "variable with an error": (
        {"variables": [{"name": "n", "expression": "object.x"}], "validations": [{"expression": "variables.n"}]}
        | {"validations": [{"expression": "variables.n == 1"}]},
        config_map(),
        422,
        "expression 'variables.n == 1' resulted in error: composited variable \"n\" fails to evaluate: no such key: x",
    ),
    "false condition": (
        {"matchConditions": [{"name": "c", "expression": "false"}], "validations": [{"expression": "false"}]},
        config_map(),
        201,
        "",
    ),
    "condition with an error": (
        {"matchConditions": [{"name": "c", "expression": "object.x == 1"}], "validations": [{"expression": "true"}]},
        config_map(),
        422,
        "expression 'object.x == 1' resulted in error: no such key: x",
    ),
    "ignored error of a condition": (
        {
            "matchConditions": [{"name": "c", "expression": "object.x == 1"}],
            "validations": [{"expression": "false"}],
            "failurePolicy": "Ignore",
        },
        config_map(),
        201,
        "",
    ),
    "a false condition outweighs an error": (
        {
            "matchConditions": [{"name": "c", "expression": "object.x == 1"}, {"name": "d", "expression": "false"}],
            "validations": [{"expression": "false"}],
        },
        config_map(),
        201,
        "",
    ),
    "request": (
        {
            "validations": [
                {
                    "expression": "request.operation == 'CREATE' && request.dryRun && request.resource.resource == 'configmaps' && "
                    "request.kind.kind == 'ConfigMap' && request.namespace == 'default' && request.name == 'a' && "
                    "!has(request.subResource) && oldObject == null && request.options.kind == 'CreateOptions'"
                }
            ]
        },
        config_map(),
        201,
        "",
    ),
    "namespace": (
        {"validations": [{"expression": "namespaceObject.metadata.name == 'x'"}]},
        config_map(),
        422,
        f"{FAILED}namespaceObject.metadata.name == 'x'",
    ),
    "budget": (
        {
            "validations": [
                {"expression": "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, " * 4 + "true" + "))" * 4}
            ]
        },
        config_map(),
        422,
        "operation cancelled: actual cost limit exceeded",
    ),
    "budget of all": (
        {
            "validations": [
                {
                    "expression": "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, " * 2
                    + f"{i} < 300"
                    + "))" * 2
                }
                for i in range(300)
            ]
        },
        config_map(),
        422,
        "validation failed due to running out of cost budget, no further validation rules will be run",
    ),
    "object selector": (
        {"matchConstraints": {"objectSelector": {"matchLabels": {"a": "b"}}}, "validations": [{"expression": "false"}]},
        config_map(),
        201,
        "",
    ),
    "object selector matches": (
        {"matchConstraints": {"objectSelector": {"matchLabels": {"a": "b"}}}, "validations": [{"expression": "false"}]},
        config_map(labels={"a": "b"}),
        422,
        f"{FAILED}false",
    ),
    "namespace selector": (
        {
            "matchConstraints": {"namespaceSelector": {"matchLabels": {"a": "b"}}},
            "validations": [{"expression": "false"}],
        },
        config_map(),
        201,
        "",
    ),
    "excluded": (
        {
            "matchConstraints": {"excludeResourceRules": [{**RULE, "resourceNames": ["a"]}]},
            "validations": [{"expression": "false"}],
        },
        config_map(),
        201,
        "",
    ),
    "excluded by another name": (
        {
            "matchConstraints": {"excludeResourceRules": [{**RULE, "resourceNames": ["b"]}]},
            "validations": [{"expression": "false"}],
        },
        config_map(),
        422,
        f"{FAILED}false",
    ),
    "named": (
        {
            "matchConstraints": {"resourceRules": [{**RULE, "resourceNames": ["b"]}]},
            "validations": [{"expression": "false"}],
        },
        config_map(),
        201,
        "",
    ),
    "unknown parameters": (
        {"paramKind": {"apiVersion": "a/v1", "kind": "B"}, "validations": [{"expression": "false"}]},
        config_map(),
        422,
        "failed to configure policy: failed to find resource referenced by paramKind: 'a/v1, Kind=B'",
    ),
    "audit annotation with an error": (
        {"auditAnnotations": [{"key": "k", "valueExpression": "object.x"}]}
        | {"auditAnnotations": [{"key": "k", "valueExpression": "string(object.x)"}]},
        config_map(),
        422,
        "expression 'string(object.x)' resulted in error: no such key: x",
    ),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_decisions_follow_expressions(server: InProcessServer, case: str) -> None:
    """A policy accepts or rejects a write as its expressions, its constraints and its failure policy say."""
    spec, obj, code, message = DECISIONS[case]
    with Policy(server, **spec):
        got = create(server, obj)
    assert got[0] == code
    assert got[1].endswith(message) if case == "budget" else got[1] == message


def test_a_rejection_names_policy_and_binding_in_message_and_cause(server: InProcessServer) -> None:
    """The message of a rejection is that of its only cause, after the object's name."""
    with Policy(server, validations=[{"expression": "false"}]):
        response = send(server, "POST", MAPS, config_map()).json
    said = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed expression: false"
    assert response["message"] == f'configmaps "a" is forbidden: {said}'
    assert response["details"] == {"name": "a", "kind": "configmaps", "causes": [{"message": said}]}


def test_a_warning_instead_of_a_rejection(server: InProcessServer) -> None:
    """The action Warn lets the write pass and warns its client."""
    with Policy(
        server, {"validationActions": ["Warn", "Audit"]}, validations=[{"expression": "false", "message": "m"}]
    ):
        response = send(server, "POST", f"{MAPS}?dryRun=All", config_map())
    assert response.code == 201
    warnings = [value for name, value in response.response.headers if name.lower() == "warning"]
    assert warnings == ["299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': m\""]


def test_without_a_binding_a_policy_has_no_effect(server: InProcessServer) -> None:
    """A policy is applied only where a binding applies it."""
    with Policy(server, {"policyName": "other"}, validations=[{"expression": "false"}]):
        assert create(server) == (201, "")


def test_a_changed_policy_applies_to_the_next_write(server: InProcessServer) -> None:
    """A change of the expressions of a policy replaces those that were compiled."""
    with Policy(server, validations=[{"expression": "false"}]):
        assert create(server)[0] == 422
        change = {"spec": {"validations": [{"expression": "true"}]}}
        changed = send(
            server, "PATCH", f"{POLICIES}/p", change, headers={"Content-Type": "application/merge-patch+json"}
        ).json
        assert changed["metadata"]["generation"] == 2
        assert create(server) == (201, "")


#: paramRef of a binding -> code and message of the write.
PARAMETERS: list[tuple[Object | None, int, str]] = [
    ({"name": "param", "namespace": "default", "parameterNotFoundAction": "Deny"}, 422, "limit is 3"),
    ({"name": "param", "parameterNotFoundAction": "Deny"}, 422, "limit is 3"),
    ({"name": "none", "parameterNotFoundAction": "Allow"}, 201, ""),
    (
        {"name": "none", "parameterNotFoundAction": "Deny"},
        422,
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    ),
    ({"selector": {"matchLabels": {"is": "param"}}, "parameterNotFoundAction": "Deny"}, 422, "limit is 3"),
    ({"selector": {"matchLabels": {"is": "none"}}, "parameterNotFoundAction": "Allow"}, 201, ""),
    (
        None,
        422,
        "expression 'size(object.metadata.name) > int(params.data.limit)' resulted in error: no such key: data",
    ),
]


def test_parameters_of_a_cluster_scoped_kind(server: InProcessServer) -> None:
    """They have no namespace, and a reference with one is wrong."""
    reference = {"name": "default", "parameterNotFoundAction": "Deny"}
    spec = {"paramKind": {"apiVersion": "v1", "kind": "Namespace"}}
    validation = {"expression": "params.metadata.name != 'default'", "message": "found"}
    with Policy(server, {"paramRef": reference}, validations=[validation], **spec):
        assert create(server) == (422, "found")
    with Policy(server, {"paramRef": {**reference, "namespace": "default"}}, validations=[validation], **spec):
        assert create(server) == (
            422,
            "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
        )


@pytest.mark.parametrize(("reference", "code", "message"), PARAMETERS)
def test_parameters_are_found_by_name_or_labels(
    server: InProcessServer, reference: Object | None, code: int, message: str
) -> None:
    """The policy is evaluated with each parameter that its binding selects, in the namespace of the write by
    default."""
    param = config_map("param", labels={"is": "param"}, data={"limit": "3"})
    assert send(server, "POST", MAPS, param).code == 201
    try:
        binding = {"paramRef": reference} if reference else {}
        validation = {
            "expression": "size(object.metadata.name) > int(params.data.limit)",
            "messageExpression": "'limit is ' + params.data.limit",
        }
        with Policy(server, binding, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, validations=[validation]):
            assert create(server) == (code, message)
    finally:
        send(server, "DELETE", f"{MAPS}/param")


def test_the_turn_is_given_away_between_parameters(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters are selected and evaluated one by one, so that hundreds of them keep no other request waiting."""
    waits = []
    wait = TurnBudget.wait

    async def noted(turns: TurnBudget) -> None:
        waits.append(turns)
        await wait(turns)

    names = [f"param-{i}" for i in range(20)]
    for name in names:
        assert send(server, "POST", MAPS, config_map(name, labels={"is": "param"})).code == 201
    reference = {"selector": {"matchLabels": {"is": "param"}}, "parameterNotFoundAction": "Deny"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    try:
        with Policy(server, {"paramRef": reference}, paramKind=kind, validations=[{"expression": "true"}]):
            assert create(server) == (201, "")
            monkeypatch.setattr(TurnBudget, "wait", noted)
            assert create(server) == (201, "")
            assert len(waits) == 2 * len(names)
    finally:
        for name in names:
            send(server, "DELETE", f"{MAPS}/{name}")


def test_parameters_of_a_namespace_are_in_itself(server: InProcessServer) -> None:
    """A binding without a namespace of its own looks for the parameters of a write of a namespace in that namespace."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["namespaces"]}
    reference = {"name": "param", "parameterNotFoundAction": "Deny"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    with Policy(
        server,
        {"paramRef": reference},
        paramKind=kind,
        matchConstraints={"resourceRules": [rule]},
        validations=[{"expression": "true"}],
    ):
        answer = send(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "fresh"}})
        assert answer.json["message"].endswith("no params found for policy binding with `Deny` parameterNotFoundAction")


def test_expressions_ask_the_authorizer_about_the_user(server: InProcessServer) -> None:
    """`authorizer` answers for the user of the request, and for a service account that is named."""
    expression = (
        "authorizer.group('').resource('pods').namespace('default').check('create').allowed() && "
        "!authorizer.serviceAccount('default', 'x').path('/metrics').check('get').allowed()"
    )
    with Policy(server, validations=[{"expression": expression}]):
        assert create(server) == (201, "")


#: Selectors of a list of pods that a node asks about, and whether it may.
NODE_CHECKS = [
    ("", False),
    (".fieldSelector('spec.nodeName=n1')", True),
    (".fieldSelector('spec.nodeName=n1,status.phase=Running')", True),
    (".fieldSelector('spec.nodeName=n1').labelSelector('((')", True),
    (".fieldSelector('spec.nodeName=n2')", False),
    (".fieldSelector('spec.nodeName!=n1')", False),
    (".fieldSelector('spec.nodeName')", False),
    (".labelSelector('spec.nodeName=n1')", False),
]


def test_checks_with_selectors_are_decided_by_the_authorizers(tmp_path: Path) -> None:
    """Nodes may list the pods that are bound to them, and no others."""
    node = User(name="system:node:n1", groups=("system:nodes", "system:authenticated"))
    server = make_server(tmp_path, "--emulated-version=1.35", "--authorization-mode=Node,RBAC")
    rbac = "/apis/rbac.authorization.orch.io/v1"
    role = {
        "metadata": {"name": "write"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}],
    }
    subjects = [{"kind": "Group", "apiGroup": "rbac.authorization.orch.io", "name": "system:nodes"}]
    reference = {"apiGroup": "rbac.authorization.orch.io", "kind": "ClusterRole", "name": "write"}
    assert send(server, "POST", f"{rbac}/clusterroles", role).code == 201
    binding = {"metadata": {"name": "write"}, "subjects": subjects, "roleRef": reference}
    assert send(server, "POST", f"{rbac}/clusterrolebindings", binding).code == 201
    check = "authorizer.group('').resource('pods'){}.check('list').allowed()"
    validations = [
        {"expression": f"object.metadata.name != 'a{at}' || {check.format(refined)}"}
        for at, (refined, _) in enumerate(NODE_CHECKS)
    ]
    with Policy(server, validations=validations):
        allowed = [create(server, config_map(f"a{at}"), user=node)[0] for at in range(len(NODE_CHECKS))]
    server.stop()
    assert allowed == [201 if may else 422 for _, may in NODE_CHECKS]


def test_status_starts_empty_and_is_kept(server: InProcessServer) -> None:
    """A client cannot set the status of a policy through the main endpoint, but through its own."""
    with Policy(server, validations=[{"expression": "true"}]):
        patch = {"status": {"observedGeneration": 1}, "spec": {"failurePolicy": "Ignore"}}
        kind = {"Content-Type": "application/merge-patch+json"}
        assert send(server, "PATCH", f"{POLICIES}/p", patch, headers=kind).json["status"] == {}
        written = send(server, "PATCH", f"{POLICIES}/p/status", patch, headers=kind).json
        assert written["status"] == {"observedGeneration": 1}
        assert written["metadata"]["generation"] == 2


def test_policies_are_no_part_of_the_specification_release(tmp_path: Path) -> None:
    """A server of release 1.23 has neither the kinds nor the plugin."""
    server = make_server(tmp_path)
    try:
        assert send(server, "GET", POLICIES).code == 404
        names = {resource["name"] for resource in send(server, "GET", POLICIES.rpartition("/")[0]).json["resources"]}
        assert not any("policies" in name for name in names)
    finally:
        server.stop()


def test_match_conditions_that_do_not_all_hold_are_measured(server: InProcessServer) -> None:
    """Durations of conditions that all hold are not recorded; of errors those before a false condition are counted."""
    prefix, labels = "apiserver_admission_match_condition_evaluation", 'kind="policy",name="p",operation="CREATE"'

    def counts() -> list[float]:
        text = send(server, "GET", "/metrics").body.decode()
        return [
            sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(f"{name}{{{labels}"))
            for name in (f"{prefix}_seconds_count", f"{prefix}_errors_total")
        ]

    true, false, wrong = (
        {"name": name, "expression": text} for name, text in (("t", "true"), ("f", "false"), ("w", "object.x == 1"))
    )
    seen, before = [], counts()
    for conditions in ([true], [false, wrong], [wrong, false], [wrong]):
        with Policy(server, matchConditions=conditions, validations=[{"expression": "true"}]):
            create(server)
        after = counts()
        seen.append([now - then for now, then in zip(after, before, strict=True)])
        before = after
    assert seen == [[0, 0], [1, 0], [1, 1], [1, 1]]
