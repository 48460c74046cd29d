"""Type checking of policies."""

from __future__ import annotations

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.crd.resources import custom_kind
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
    return TypeChecker(CATALOG, lambda resource: False).warnings(policy)


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
    [texts] = warnings(expression, rule("configmaps"))
    assert texts["fieldRef"] == "spec.validations[0].expression"
    assert texts["warning"] == (
        f"/v1, Kind=ConfigMap: ERROR: <input>:1:{column}: {message}\n | {expression}\n | {'.' * (column - 1)}^\n"
    )


def test_each_kind_is_checked_in_order() -> None:
    """The warnings of several kinds are one text, in the order of group, version and kind."""
    [texts] = warnings("object.spec.x == 1", rule("services"), rule("deployments", groups=("apps", "")), rule("pods"))
    assert [line.partition(",")[0] for line in texts["warning"].split("\n") if "Kind=" in line] == [
        "/v1", "/v1", "apps/v1",
    ]  # fmt: skip
    assert texts["warning"].index("Kind=Pod") < texts["warning"].index("Kind=Service")


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


def test_custom_kinds_have_the_fields_of_every_object() -> None:
    """Objects of custom kinds and those embedded in them have metadata, whatever the schema says about it; fields have
    the types of their formats. Kinds whose schema is not known are not checked."""
    embedded = {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    spec = {"at": {"type": "string", "format": "date-time"}, "pod": {"type": "object", **embedded}}
    properties = {"metadata": {"type": "object"}, "spec": {"type": "object", "properties": spec}}
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    names = {"plural": "ks", "kind": "K"}
    whole = {"spec": {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}}
    catalog = CATALOG.adding(custom_kind(whole, lambda: whole, CATALOG.types, KUBERNETES).resources)

    def columns(expression: str, *, known: bool = True) -> list[str]:
        rules = [rule("ks", groups=("example.com",))]
        policy = {"spec": {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression}]}}
        found = TypeChecker(catalog, lambda resource: known).warnings(policy)
        return [each["warning"].partition("<input>:1:")[2].partition("\n")[0] for each in found]

    assert columns("object.metadata.labels.a == object.spec.pod.metadata.name + object.spec.pod.kind") == []
    assert columns("object.spec.at > timestamp('2020-01-01T00:00:00Z')") == []
    assert columns("object.spec.nothing == 1") == ["12: undefined field 'nothing'"]
    assert columns("object.spec.nothing == 1", known=False) == []


def test_types_that_contain_themselves_end_there() -> None:
    """Within itself, a type has no fields."""
    definitions = rule("customresourcedefinitions", groups=("apiextensions.k8s.io",))
    schema = "object.spec.versions[0].schema.openAPIV3Schema"
    assert warnings(f"{schema}.title == 'x'", definitions) == []
    assert len(warnings(f"{schema}.not.title == 'x'", definitions)) == 1
