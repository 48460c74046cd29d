"""Type checking of policies."""

from __future__ import annotations

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.expressions.typechecking import TypeChecker
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST

CATALOG = builtin_catalog(KUBERNETES, NEWEST)


def rule(resource: str, *, groups: tuple[str, ...] = ("",)) -> Object:
    return {"apiGroups": list(groups), "apiVersions": ["v1"], "operations": ["*"], "resources": [resource]}


def warnings(expression: str, *rules: Object, **spec: object) -> list[Object]:
    policy = {
        "spec": {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression}], **spec}
    }
    return TypeChecker(CATALOG, lambda resource: None).warnings(policy)


@pytest.mark.parametrize("expression", [
    "object.data.x == 'y'", "object.metadata.name == 'a'", "oldObject == null || object.immutable", "request.name == 'a'",
    "object.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')", "authorizer.path('/x').check('get').allowed()",
])  # fmt: skip
def test_expressions_that_fit_the_kind_have_no_warnings(expression: str) -> None:
    """Fields that a kind has, with their types, are not warned of."""
    assert warnings(expression, rule("configmaps")) == []


@pytest.mark.parametrize(("expression", "column", "message"), [
    ("object.dat == {}", 7, "undefined field 'dat'"),
    ("object.immutable == 1", 18, "found no matching overload for '_==_' applied to '(bool, int)'"),
    ("params.data.x == 'y'", 1, "undeclared reference to 'params' (in container '')"),
    ("object.metadata.creationTimestamp == 'x'", 35, "found no matching overload for '_==_' applied to '(timestamp, string)'"),
])  # fmt: skip
def test_a_warning_names_kind_field_and_place(expression: str, column: int, message: str) -> None:
    """A warning is the compile error for a kind, below its name."""
    [found] = warnings(expression, rule("configmaps"))
    assert found["fieldRef"] == "spec.validations[0].expression"
    assert found["warning"] == (
        f"/v1, Kind=ConfigMap: ERROR: <input>:1:{column}: {message}\n | {expression}\n | {'.' * (column - 1)}^\n"
    )


def test_each_kind_is_checked_in_order() -> None:
    """The warnings of several kinds are one text, in the order of group, version and kind."""
    [found] = warnings("object.spec.x == 1", rule("services"), rule("deployments", groups=("apps", "")), rule("pods"))
    assert [line.partition(",")[0] for line in found["warning"].split("\n") if "Kind=" in line] == [
        "/v1", "/v1", "apps/v1",
    ]  # fmt: skip
    assert found["warning"].index("Kind=Pod") < found["warning"].index("Kind=Service")


def test_variables_and_parameters_have_types() -> None:
    """A member of variables has the type of its expression if that is a scalar; parameters have that of their kind."""
    variables = [{"name": "n", "expression": "object.metadata.name"}, {"name": "d", "expression": "object"}]
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert len(warnings("variables.n == 1", rule("pods"), variables=variables)) == 1
    assert warnings("variables.d.anything == 1", rule("pods"), variables=variables) == []
    assert len(warnings("params.dat == 1", rule("pods"), paramKind=kind)) == 1


@pytest.mark.parametrize("given", [rule("*"), rule("pods/status"), rule("pods", groups=("*",)), rule("unknown")])
def test_rules_without_known_kinds_are_not_checked(given: Object) -> None:
    """Wildcards, subresources and resources that are not served give no warnings."""
    assert warnings("object.nothing == 1", given) == []
