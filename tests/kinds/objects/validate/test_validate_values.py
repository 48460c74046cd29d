"""Rules for single values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.kinds.gotext.values import quote, show
from orchd.kinds.objects import apparmor
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import names, selectors
from orchd.kinds.objects.validate.core import other_kinds
from orchd.kinds.objects.validate.core.addresses import not_special
from orchd.kinds.objects.validate.core.podfields import container_claims
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.quantities import amount, is_integer


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (names.label, ["a", "a-b", "1", "a" * 63], ["", "A", "-a", "a-", "a.b", "a" * 64, "a\n"]),
        (names.subdomain, ["a", "a.b", "a-b.c"], ["", ".a", "a.", "a..b", "A.b", "a" * 254, "a\n"]),
        (names.label_1035, ["a", "a1", "a-b"], ["1a", "", "A", "a" * 64]),
        (names.qualified_name, ["a", "A_b.c", "x.y/Z"], ["", "/a", "a/", "a/b/c", "X/y", "a b", "a" * 64]),
        (names.label_value, ["", "a", "A_b.c"], ["-", "a b", "a" * 64]),
        (names.config_key, ["a", ".a", "a_b-c.d"], ["", ".", "..", "..a", "a b"]),
        (names.env_name, ["a", "A.b", "_a", ".a"], ["", "1a", ".", "..", "..a", "a b"]),
        (names.port_name, ["http", "a-b", "1a"], ["", "123", "a--b", "-a", "A", "a" * 16]),
        (names.ip, ["1.2.3.4", "::1", "01.2.3.4"], ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "fe80::1%eth0", "x"]),
        (names.wildcard, ["*.a", "*.a.b"], ["*", "a", "a.*.b", "*a"]),
    ],
)
def test_name_and_value_rules(rule: Any, good: Any, bad: Any) -> None:
    """Each rule accepts its valid values and reports every invalid one."""
    assert [w for w in good if rule(w)] == []
    assert [w for w in bad if not rule(w)] == []


def test_a_prefix_may_end_with_a_dash() -> None:
    """A prefix may end with a dash, since generateName appends characters."""
    assert not names.subdomain_name("a-", True)
    assert names.subdomain_name("a-", False)
    assert names.path_segment("..", False) and not names.path_segment("..", True)


@given(
    st.integers(min_value=0, max_value=10**12), st.sampled_from(["", "m", "k", "Ki", "Mi", "Gi", "e3", "u", "n", "E"])
)
def test_quantities_are_exact(number: int, suffix: str) -> None:
    """A quantity scales with its number, whatever its suffix."""
    assert amount(f"{2 * number}{suffix}") == 2 * amount(f"{number}{suffix}")
    assert amount(f"-{number}{suffix}") == -amount(f"{number}{suffix}")


def test_fractions_of_quantities() -> None:
    """Fractions are rounded to whole thousandths."""
    assert is_integer("1000m") and not is_integer("1500m")
    assert amount("1.5Gi") == 3 * 2**29 and amount("0.1") * 10 == 1


@given(st.text())
def test_quoting_never_fails(text: str) -> None:
    """Any text has a quoted form on one line."""
    assert quote(text).startswith('"') and "\n" not in show(text)


def test_paths_print_members_indexes_and_keys() -> None:
    """Path elements are printed in order."""
    at = ((root("spec") / "containers")[0] / "resources" / "limits")["cpu"]
    assert str(at) == "spec.containers[0].resources.limits[cpu]"


@pytest.mark.parametrize(
    ("address", "range_"),
    [
        ("0.0.0.0", "unspecified"), ("::", "unspecified"), ("127.0.0.1", "loopback"), ("::1", "loopback"),
        ("169.254.0.1", "link-local range"), ("fe80::1", "link-local range"), ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"), ("ff12::1", "multicast"), ("x", "must be a valid IP address"),
        ("224.0.1.1", ""), ("ff05::1", ""), ("fd02::1", ""), ("10.0.0.1", ""), ("2001:db8::1", ""),
    ],
)  # fmt: skip
def test_addresses_of_the_node_itself(address: str, range_: str) -> None:
    """Traffic is sent to no address that would reach the node that sends it, or its neighbours."""
    report = Report(ObjectSettings(dialect=ORCH))
    not_special(address, root("ip"), report)
    assert [range_ in cause.message for cause in report.causes] == ([True] if range_ else [])


def _expression(operator: str, *values: str) -> Any:
    return {"matchExpressions": [{"key": "a", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, []), ({}, [{}, {"a": "x"}, {"a": "y"}]), ({"matchLabels": {"a": "x"}}, [{"a": "x"}]),
        (_expression("In", "x", "z"), [{"a": "x"}]), (_expression("NotIn", "x"), [{}, {"a": "y"}]),
        (_expression("Exists"), [{"a": "x"}, {"a": "y"}]), (_expression("DoesNotExist"), [{}]),
        ({"matchLabels": {"a": "x"}, **_expression("NotIn", "x")}, []),
    ],
)  # fmt: skip
def test_what_a_selector_selects(selector: Any, selected: list[Any]) -> None:
    """All of its labels and expressions have to hold; none at all selects nothing."""
    assert [labels for labels in ({}, {"a": "x"}, {"a": "y"}) if selectors.matches(selector, labels)] == selected
    assert selectors.matches(selector, None) is ({} in selected)


@pytest.mark.parametrize(
    ("selector", "usable"),
    [
        (None, True), ({}, True), ({"matchLabels": {"a": "x"}}, True), ({"matchLabels": {"a b": "x"}}, False),
        ({"matchLabels": {"a": "x y"}}, False), (_expression("In", "x"), True), (_expression("In"), False),
        (_expression("NotIn", "x"), True), (_expression("NotIn"), False), (_expression("Exists"), True),
        (_expression("Exists", "x"), False), (_expression("DoesNotExist", "x"), False), (_expression("Gt", "1"), False),
        (_expression("In", "x y"), False), ({"matchExpressions": [{"key": "", "operator": "Exists"}]}, False),
    ],
)  # fmt: skip
def test_selectors_that_can_be_evaluated(selector: Any, usable: bool) -> None:
    """Those of valid names and values, with values as the operator needs them."""
    assert selectors.usable(selector) is usable


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("unconfined", {"type": "Unconfined"}), ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/a", {"type": "Localhost", "localhostProfile": "a"}),
        ("localhost/" + "a" * 4095, {"type": "Localhost", "localhostProfile": "a" * 4095}),
        ("localhost/" + "a" * 4096, None), ("localhost/ a", None), ("localhost/a ", None), ("localhost/", None),
        ("other", None), ("", None),
    ],
)  # fmt: skip
def test_app_armor_profiles_of_annotations(text: str, profile: Any) -> None:
    """The field for an annotation, None for one that no field can hold."""
    assert apparmor.valid_profile(text) == profile


@pytest.mark.parametrize(
    ("selector", "empty"),
    [
        (None, True),
        ({}, True),
        ({"matchLabels": {}, "matchExpressions": []}, True),
        ({"matchLabels": {"a": "b"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, False),
    ],
)
def test_selectors_without_requirements(selector: Any, empty: bool) -> None:
    assert selectors.is_empty(selector) is empty


@pytest.mark.parametrize(
    ("requirement", "key"), [({"operator": "Exists"}, ""), ({"key": "a b", "operator": "Exists"}, "a b")]
)
def test_requirements_of_reviews_name_a_label(requirement: Any, key: str) -> None:
    report = Report(ObjectSettings(dialect=ORCH))
    selectors.label_requirement(requirement, root("r"), report)
    assert {cause.message.partition(": name part")[0] for cause in report.causes} == {f'Invalid value: "{key}"'}


@pytest.mark.parametrize(
    ("listed", "repeated"),
    [
        (["a"], []),
        (["a", "a"], [1]),
        (["a/x", "a/y"], []),
        (["a/x", "a/x"], [1]),
        (["a", "a/x"], [1]),
        (["a/x", "a/y", "a"], [2, 2]),
        (["a/x", "b/x"], []),
    ],
)
def test_claims_that_a_container_uses_twice(listed: list[str], repeated: list[int]) -> None:
    """A claim is used once, whole or by each of its requests; a whole one repeats all of its requests."""
    report = Report(ObjectSettings(dialect=ORCH))
    claims = [dict(zip(("name", "request"), text.split("/"), strict=False)) for text in listed]
    container_claims(claims, {"a", "b"}, root("claims"), report)
    assert [cause.field for cause in report.causes] == [f"claims[{i}]" for i in repeated]


@pytest.mark.parametrize(
    ("deleted", "phase", "problem"),
    [
        (False, "Active", ""),
        (False, "Terminating", "may only be 'Active' if `deletionTimestamp` is empty"),
        (True, "Terminating", ""),
        (True, "Active", "may only be 'Terminating' if `deletionTimestamp` is not empty"),
    ],
)
def test_phases_of_namespaces(deleted: bool, phase: str, problem: str) -> None:
    """A namespace is terminating exactly if it was deleted."""
    metadata = {"name": "a", **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {})}
    report, value = Report(ObjectSettings(dialect=ORCH)), {"metadata": metadata, "status": {"phase": phase}}
    other_kinds.update_namespace_status(value, {"metadata": metadata}, report)
    assert [cause.message for cause in report.causes if "Phase" in cause.field] == (
        [f'Invalid value: "{phase}": {problem}'] if problem else []
    )


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        ({"kind": "Node", "name": "n"}, []),
        ({"name": "n"}, []),
        ({"kind": "", "name": "n"}, []),
        ({"kind": "Pod", "name": "n"}, ["target.kind"]),
        ({"kind": "Node"}, ["target.name"]),
        ({}, ["target.name"]),
    ],
)
def test_targets_of_bindings(target: Any, fields: list[str]) -> None:
    """A pod is bound to a node by its name."""
    report = Report(ObjectSettings(dialect=ORCH))
    other_kinds.create_binding({"target": target}, report)
    assert [cause.field for cause in report.causes] == fields
