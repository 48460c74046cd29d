"""The entry points of validation: rules by kind, names, warnings; arguments are not modified."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "b"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


@pytest.fixture(params=[ORCH, KUBERNETES], ids=lambda d: d.name)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    made: Dialect = request.param
    return made


def _pods(dialect: Dialect) -> Resource:
    resource = builtin_catalog(dialect).resource("", "v1", "pods")
    assert resource is not None
    return resource


def _pod(dialect: Dialect, **spec: Any) -> dict[str, Any]:
    raw = copy.deepcopy(POD)
    raw["spec"].update(spec)
    resource = _pods(dialect)
    return default.apply(shape.canonical(raw, resource.type), resource, ObjectSettings(dialect=dialect))


def test_minimal_pod_is_valid(dialect: Dialect) -> None:
    """A minimal pod is valid and unchanged."""
    settings, resource, pod = ObjectSettings(dialect=dialect), _pods(dialect), _pod(dialect)
    assert dispatch.validate_create(pod, resource, settings) == []
    assert dispatch.validate_update(pod, pod, resource, settings) == []


def test_validation_does_not_mutate(dialect: Dialect) -> None:
    """Validation does not change its arguments."""
    settings, resource = ObjectSettings(dialect=dialect), _pods(dialect)
    old, new = _pod(dialect), _pod(dialect, nodeName="n", tolerations=[{"operator": "Exists"}])
    kept = copy.deepcopy((old, new))
    causes = dispatch.validate_update(new, old, resource, settings)
    assert [c.field for c in causes] == ["spec"]
    assert (old, new) == kept


def test_an_image_may_change_and_tolerations_be_added(dialect: Dialect) -> None:
    """An image of a running pod may change and tolerations may be added."""
    settings, resource, old = ObjectSettings(dialect=dialect), _pods(dialect), _pod(dialect)
    new = _pod(dialect, tolerations=[{"operator": "Exists"}], activeDeadlineSeconds=5)
    new["spec"]["containers"] = [{**new["spec"]["containers"][0], "image": "other"}]
    assert dispatch.validate_update(new, old, resource, settings) == []


def test_privileged_containers_need_allow_privileged(dialect: Dialect) -> None:
    """Without --allow-privileged, privileged containers are forbidden."""
    resource = _pods(dialect)
    pod = _pod(dialect, containers=[{"name": "c", "image": "i", "securityContext": {"privileged": True}}])
    causes = dispatch.validate_create(pod, resource, ObjectSettings(dialect=dialect))
    assert [(c.reason, c.message) for c in causes] == [
        ("FieldValueForbidden", "Forbidden: disallowed by cluster policy")
    ]
    assert dispatch.validate_create(pod, resource, ObjectSettings(dialect=dialect, allow_privileged=True)) == []


@pytest.mark.parametrize(
    ("group", "version", "plural", "good", "bad"),
    [
        ("", "v1", "pods", "a.b", "A"),
        ("", "v1", "namespaces", "a-b", "a.b"),
        ("", "v1", "services", "a1", "1a"),
        ("rbac.authorization.{abbr}.io", "v1", "roles", "system:A", "a/b"),
        ("apps", "v1", "deployments", "a.b", "a_b"),
    ],
)
def test_names_follow_the_kinds_rule(
    dialect: Dialect, group: str, version: str, plural: str, good: str, bad: str
) -> None:
    """Each kind has its own rule for names."""
    resource = builtin_catalog(dialect).resource(dialect(group), version, plural)
    assert resource is not None
    for name, right in ((good, True), (bad, False)):
        obj = {"metadata": {"name": name, "namespace": "default"}, "spec": {}}
        causes = dispatch.validate_create(obj, resource, ObjectSettings(dialect=dialect))
        assert right is not any(cause.field == "metadata.name" for cause in causes)


def test_warnings_name_deprecated_fields(dialect: Dialect) -> None:
    """Old node labels, repeated variables and unnamed pull secrets cause warnings."""
    settings, resource = ObjectSettings(dialect=dialect), _pods(dialect)
    label = dialect("beta.{long}.io/os")
    pod = _pod(
        dialect,
        nodeSelector={label: "linux"},
        imagePullSecrets=[{}],
        containers=[{"name": "c", "image": "i", "env": [{"name": "A"}, {"name": "A"}]}],
    )
    assert dispatch.warnings(pod, resource, settings) == [
        dialect(f'spec.nodeSelector[{label}]: deprecated since v1.14; use "{{long}}.io/os" instead'),
        'spec.imagePullSecrets[0].name: invalid empty name ""',
        'spec.containers[0].env[1].name: duplicate name "A"',
    ]
    assert dispatch.warnings(pod, resource, settings, old=pod) == []


@pytest.mark.parametrize(("kind", "field"), [("secrets", "data"), ("configmaps", "[]")])
def test_data_is_limited_to_a_mebibyte(dialect: Dialect, kind: str, field: str) -> None:
    """Data of exactly one mebibyte fits; one byte more does not."""
    resource = builtin_catalog(dialect).resource("", "v1", kind)
    assert resource is not None
    for size, expected in ((1 << 20, []), ((1 << 20) + 1, [("FieldValueTooLong", field)])):
        text = "a" * size
        if kind == "secrets":
            text = base64.b64encode(text.encode()).decode()
        obj = {"metadata": {"name": "a", "namespace": "b"}, "data": {"k": text}}
        causes = dispatch.validate_create(obj, resource, ObjectSettings(dialect=dialect))
        assert [(c.reason, c.field) for c in causes] == expected
