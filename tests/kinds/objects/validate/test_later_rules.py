"""What release 1.35 validates, fills in and warns of otherwise than the release of the specification."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.objects import default
from orchd.kinds.objects.pod_amounts import aggregate
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from orchd.kinds.objects.validate.address_warnings import of_address, of_range
from orchd.kinds.objects.validate.cluster_addresses import canonical_address
from orchd.kinds.objects.validate.core import podresize
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.release import NEWEST, SPECIFICATION, Release

Object = dict[str, Any]
RELEASES = (SPECIFICATION, NEWEST)


def resource(release: Release, group: str, version: str, plural: str) -> Resource:
    catalog = builtin_catalog(ORCH, release, enabled=lambda group, version, default: True)
    resource = catalog.resource(ORCH(group), version, plural)
    assert resource is not None, plural
    return resource


def container(**members: Any) -> Object:
    return {"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File", **members}


def workload(**pod: Any) -> Object:
    spec = {"containers": [container()], "restartPolicy": "Always", "dnsPolicy": "Default", **pod}
    return {
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec},
            "updateStrategy": {"type": "OnDelete"},
            "podManagementPolicy": "Parallel",
        },
    }


@pytest.mark.parametrize(
    "plural, changed, counts",
    [
        ("daemonsets", {"dnsPolicy": "x"}, (2, 1)),
        ("replicasets", {"dnsPolicy": "x"}, (2, 1)),
        # The release of the specification leaves the pods of stateful sets to the time when they are created.
        ("statefulsets", {"dnsPolicy": "x"}, (0, 1)),
    ],
)
def test_errors_of_changed_templates(plural: str, changed: Object, counts: tuple[int, int]) -> None:
    """A change is validated once in later releases, and the template of a stateful set before there are pods."""
    for release, count in zip(RELEASES, counts, strict=True):
        causes = dispatch.validate_update(
            workload(**changed),
            workload(),
            resource(release, "apps", "v1", plural),
            ObjectSettings(dialect=ORCH, release=release),
        )
        assert [cause.field for cause in causes].count("spec.template.spec.dnsPolicy") == count


@pytest.mark.parametrize(("release", "causes"), [(SPECIFICATION, []), (NEWEST, [("metadata.name", "dots")])], ids=str)
def test_names_of_stateful_sets_are_labels_since_1_27(release: Release, causes: list[tuple[str, str]]) -> None:
    """The name is part of the host names of pods. Those of stored sets are not examined again."""
    named = {**workload(), "metadata": {"name": "a.b", "namespace": "b"}}
    sets, settings = resource(release, "apps", "v1", "statefulsets"), ObjectSettings(dialect=ORCH, release=release)
    found = dispatch.validate_create(named, sets, settings)
    assert [(cause.field, cause.message.rpartition(" ")[2]) for cause in found] == causes
    stored = {**named, "metadata": {**named["metadata"], "resourceVersion": "1"}}
    assert dispatch.validate_update(stored, stored, sets, settings) == []


def test_a_claim_of_a_stateful_set_is_a_volume_of_its_pods() -> None:
    """Mounts of claims are valid in the template, since the controller makes volumes of them."""
    mounts = [{"name": "data", "mountPath": "/d"}]
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    settings = ObjectSettings(dialect=ORCH, release=NEWEST)
    counts = {}
    for claims in ([claim], []):
        value = workload(containers=[container(volumeMounts=mounts)])
        value["spec"]["volumeClaimTemplates"] = claims
        causes = dispatch.validate_create(value, resource(NEWEST, "apps", "v1", "statefulsets"), settings)
        counts[len(claims)] = [cause.field for cause in causes if "volumeMounts" in cause.field]
    assert counts == {1: [], 0: ["spec.template.spec.containers[0].volumeMounts[0].name"]}


def test_values_of_selectors_are_validated_since_1_27() -> None:
    """A requirement of a selector may have values that no label can have only in older releases."""
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["!"]}]}
    value = {"metadata": {"name": "a", "namespace": "b"}, "spec": {"maxUnavailable": 1, "selector": selector}}
    at = "spec.selector.matchExpressions[0].values[0]"
    for release, expected in zip(RELEASES, ([], [at]), strict=True):
        settings = ObjectSettings(dialect=ORCH, release=release)
        causes = dispatch.validate_create(value, resource(release, "policy", "v1", "poddisruptionbudgets"), settings)
        assert [cause.field for cause in causes] == expected


POD_AMOUNTS: list[tuple[Object, Object, Object]] = [
    ({"limits": {"cpu": "2"}}, {"requests": {"cpu": "100m", "memory": "1Gi"}}, {"cpu": "100m", "memory": "1Gi"}),
    ({"limits": {"memory": "2Gi"}}, {}, {"memory": "2Gi"}),
    ({"requests": {"cpu": "1"}}, {"requests": {"memory": "1Gi"}}, {"cpu": "1"}),
    ({"limits": {"cpu": "2"}}, {"limits": {"hugepages-2Mi": "4Mi"}}, {"cpu": "2", "hugepages-2Mi": "4Mi"}),
]


@pytest.mark.parametrize("given, own, expected", POD_AMOUNTS)
def test_requests_of_whole_pods(given: Object, own: Object, expected: Object) -> None:
    """A pod with limits requests what its containers do, and otherwise its limits."""
    pod = {"metadata": {"name": "a"}, "spec": {"resources": given, "containers": [container(resources=own)]}}
    settings = ObjectSettings(dialect=ORCH, release=NEWEST)
    filled = default.apply(pod, resource(NEWEST, "", "v1", "pods"), settings)
    assert filled["spec"]["resources"]["requests"] == expected


def test_sidecars_add_up_and_other_init_containers_take_turns() -> None:
    """An init container needs its amount beside those that keep running before it, and no longer than it runs."""

    def one(cpu: str, **members: Any) -> Object:
        return container(resources={"requests": {"cpu": cpu}}, **members)

    spec = {
        "initContainers": [one("3"), one("1", restartPolicy="Always"), one("4")],
        "containers": [one("1"), one("2")],
    }
    assert {name: str(each) for name, each in aggregate(spec, "requests").items()} == {"cpu": "5"}


@pytest.mark.parametrize(
    "value, said",
    [
        ("10.1.2.3", ""),
        ("010.1.2.3", 'use "10.1.2.3"'),
        ("::ffff:1.2.3.4", 'use "1.2.3.4"'),
        ("FD00::1", 'canonical format ("fd00::1")'),
        ("not one", ""),
    ],
)
def test_warnings_of_addresses(value: str, said: str) -> None:
    """Addresses that programs read differently are accepted with a warning."""
    texts = of_address(value, root("ip"), ORCH)
    assert bool(texts) == bool(said)
    assert said in "".join(texts)


@pytest.mark.parametrize(
    "value, said",
    [
        ("10.0.0.0/8", []),
        ("10.1.2.3/8", ['should be "10.0.0.0/8" or "10.1.2.3/32"?']),
        ("010.0.0.0/8", ['use "10.0.0.0/8"']),
        ("fd00::/08", ['use "fd00::/8"']),
        ("::ffff:1.0.0.0/104", ['use "1.0.0.0/8"']),
        ("FD00::/8", ['canonical format ("fd00::/8")']),
    ],
)
def test_warnings_of_ranges(value: str, said: list[str]) -> None:
    """Ranges that are ambiguous or not in their standard form are accepted with a warning."""
    texts = of_range(value, root("cidr"), ORCH)
    assert len(texts) == len(said)
    assert all(words in text for words, text in zip(said, texts, strict=True))


VARIABLES = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
WARNED: list[tuple[Object, str]] = [
    ({"containers": [container(env=VARIABLES)]}, "env[1]: hides previous definition of"),
    ({"containers": [container(env=[VARIABLES[0], {"name": "A", "value": "$(A)2"}])]}, ""),
    (
        {"containers": [container(ports=[{"containerPort": 80, "protocol": "TCP"}] * 2)]},
        "ports[1]: duplicate port definition with spec.containers[0].ports[0]",
    ),
    ({"terminationGracePeriodSeconds": -1}, "negative values are invalid and will be treated as 1"),
    ({"volumes": [{"name": "v", "rbd": {}}]}, "spec.volumes[0].rbd: deprecated in v1.28"),
    (
        {"volumes": [{"name": "v", "configMap": {"name": "m", "items": [{"path": "a"}, {"path": "a/b"}]}}]},
        'volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"',
    ),
    ({"topologySpreadConstraints": [{"topologyKey": "z"}]}, "a null labelSelector results in matching no pod"),
]


@pytest.mark.parametrize("spec, said", WARNED)
def test_warnings_of_pods(spec: Object, said: str) -> None:
    """Pods that are accepted but for something that is likely a mistake are warned of."""
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [container()], **spec}}
    settings = ObjectSettings(dialect=ORCH, release=NEWEST)
    texts = dispatch.warnings(pod, resource(NEWEST, "", "v1", "pods"), settings)
    assert len(texts) == bool(said)
    assert said in "".join(texts)


@pytest.mark.parametrize(
    "text, said",
    [
        ("device.driver == 'x' && device.attributes['x'].fast", ""),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ("foo", "undeclared reference to 'foo'"),
        ("", "Syntax error"),
        ("device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a + b != c)))", ""),
        (
            "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a + b != c + d))))",
            "Forbidden: too complex, exceeds cost limit",
        ),
        ("device == device && device.capacity['x'].y == quantity('1') && device.attributes['x'].all(k, k < device.driver)", ""),
    ],
)  # fmt: skip
def test_selectors_of_devices_are_compiled(text: str, said: str) -> None:
    """A class of devices has selectors that tell which devices are in it."""
    value = {"metadata": {"name": "a"}, "spec": {"selectors": [{"cel": {"expression": text}}]}}
    settings = ObjectSettings(dialect=ORCH, release=NEWEST)
    causes = dispatch.validate_create(value, resource(NEWEST, "resource.{abbr}.io", "v1", "deviceclasses"), settings)
    assert [cause.field for cause in causes] == ["spec.selectors[0].cel.expression"] * bool(said)
    assert said in "".join(cause.message for cause in causes)


@pytest.mark.parametrize(
    "release, message",
    [
        (SPECIFICATION, 'Invalid value: "v1": must appear in spec.versions'),
        (
            NEWEST,
            'Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until '
            "a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions",
        ),
    ],
    ids=str,
)
def test_a_removed_version_of_stored_objects(release: Release, message: str) -> None:
    def definition(*versions: str) -> Object:
        schema = {"openAPIV3Schema": {"type": "object"}}
        names = {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList"}
        served = [{"name": v, "served": True, "storage": v == versions[-1], "schema": schema} for v in versions]
        return {
            "metadata": {"name": "xs.ex.com", "resourceVersion": "1"},
            "spec": {
                "group": "ex.com",
                "scope": "Namespaced",
                "names": names,
                "versions": served,
                "conversion": {"strategy": "None"},
            },
            "status": {"storedVersions": ["v1", "v2"][: 1 + ("v2" in versions)], "acceptedNames": names},
        }

    causes = dispatch.validate_update(
        definition("v2"),
        definition("v1"),
        resource(release, "apiextensions.{abbr}.io", "v1", "customresourcedefinitions"),
        ObjectSettings(dialect=ORCH, release=release),
    )
    assert [(cause.field, cause.message) for cause in causes] == [("status.storedVersions[0]", message)]


@pytest.mark.parametrize(
    ("release", "established", "former", "refused"),
    [
        (SPECIFICATION, True, None, False), (NEWEST, True, None, True), (NEWEST, True, "YWJj", False),
        (NEWEST, False, None, False),
    ],
    ids=str,
)  # fmt: skip
def test_conversion_webhooks_of_established_kinds_need_usable_bundles(
    release: Release, established: bool, former: str | None, refused: bool
) -> None:
    """From release 1.31 on, unless the kind is not established or the stored bundle is not usable either."""

    def definition(bundle: str | None) -> Object:
        names = {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList"}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        client = {"url": "https://a", **({} if bundle is None else {"caBundle": bundle})}
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        spec = {"group": "ex.com", "scope": "Namespaced", "names": names, "versions": [version]}
        condition = {"type": "Established", "status": "True" if established else "False"}
        return {
            "metadata": {"name": "xs.ex.com", "resourceVersion": "1"},
            "spec": {**spec, "conversion": {"strategy": "Webhook", "webhook": webhook}},
            "status": {"storedVersions": ["v1"], "acceptedNames": names, "conditions": [condition]},
        }

    kind = resource(release, "apiextensions.{abbr}.io", "v1", "customresourcedefinitions")
    settings = ObjectSettings(dialect=ORCH, release=release)
    causes = dispatch.validate_update(definition("ZGVm"), definition(former), kind, settings)
    expected = 'Invalid value: "ZGVm": unable to load root certificates: unable to parse bytes as PEM block'
    assert [cause.message for cause in causes] == [expected] * refused


@pytest.mark.parametrize(
    ("release", "shown"),
    [(SPECIFICATION, "apiextensions.CustomResourceDefinitionVersion{"), (NEWEST, '["v2"]: ')],
    ids=str,
)
def test_a_storage_version_that_is_not_stored(release: Release, shown: str) -> None:
    """The error prints the version in the release of the specification, and the stored versions in the newest."""
    names = {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    definition: Object = {
        "metadata": {"name": "xs.ex.com"},
        "spec": {"group": "ex.com", "scope": "Namespaced", "names": names, "versions": [version]},
        "status": {"storedVersions": ["v2"], "acceptedNames": names},
    }
    kind = resource(release, "apiextensions.{abbr}.io", "v1", "customresourcedefinitions")
    causes = dispatch.validate_create(definition, kind, ObjectSettings(dialect=ORCH, release=release))
    assert any(
        cause.message.startswith(f"Invalid value: {shown}")
        and cause.message.endswith("must have the storage version v1")
        for cause in causes
    ), causes


def test_disks_of_several_replicas_are_not_examined_since_1_29() -> None:
    """A writable disk that only one node can mount is refused for daemons only in older releases."""
    value = workload(volumes=[{"name": "v", "gcePersistentDisk": {"pdName": "d"}}])
    at = "spec.template.spec.volumes[0].gcePersistentDisk.readOnly"
    for release, expected in zip(RELEASES, ([at], []), strict=True):
        settings = ObjectSettings(dialect=ORCH, release=release)
        causes = dispatch.validate_create(value, resource(release, "apps", "v1", "daemonsets"), settings)
        assert [cause.field for cause in causes if "volumes" in cause.field] == expected


def _fields(value: Object, release: Release, group: str, plural: str) -> list[str]:
    settings = ObjectSettings(dialect=ORCH, release=release)
    causes = dispatch.validate_create(value, resource(release, group, "v1", plural), settings)
    return [cause.field for cause in causes]


def test_later_releases_validate_exceptions_after_a_malformed_one() -> None:
    """Each malformed exception of a block of addresses is an error; early releases report the first one."""
    block = {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["a", "b"]}}
    value = {"metadata": {"name": "a", "namespace": "b"}, "spec": {"podSelector": {}, "ingress": [{"from": [block]}]}}
    at = "spec.ingress[0].from[0].ipBlock.except"
    for release, expected in zip(RELEASES, ([f"{at}[0]"], [f"{at}[0]", f"{at}[1]"]), strict=True):
        assert _fields(value, release, "networking.{abbr}.io", "networkpolicies") == expected


def test_tolerations_of_runtime_classes_are_unique_but_for_their_seconds() -> None:
    """Tolerations that differ in tolerationSeconds only are duplicates."""
    toleration = {"key": "a", "operator": "Exists", "effect": "NoExecute"}
    listed = [{**toleration, "tolerationSeconds": 1}, {**toleration, "tolerationSeconds": 2}]
    value = {"metadata": {"name": "a"}, "handler": "h", "scheduling": {"tolerations": listed}}
    assert _fields(value, NEWEST, "node.{abbr}.io", "runtimeclasses") == ["scheduling.tolerations[1]"]


def test_sources_of_projected_volumes_have_one_kind_each() -> None:
    """Later releases say that the error is about a source."""
    source = {"configMap": {"name": "a"}, "secret": {"name": "a"}}
    pod = {"volumes": [{"name": "v", "projected": {"sources": [source], "defaultMode": 420}}]}
    for release, words in zip(RELEASES, ("volume type", "volume type per source"), strict=True):
        settings = ObjectSettings(dialect=ORCH, release=release)
        kind = resource(release, "apps", "v1", "daemonsets")
        causes = dispatch.validate_create(workload(**pod), kind, settings)
        assert [cause.message for cause in causes if cause.field.endswith("sources[0]")] == [
            f"Forbidden: may not specify more than 1 {words}"
        ]


MODE, HINTS = (ORCH(f"service.{{long}}.io/topology-{name}") for name in ("mode", "aware-hints"))


@pytest.mark.parametrize(
    ("annotations", "refused"),
    [({MODE: "Auto", HINTS: "Auto"}, False), ({MODE: "Auto"}, False), ({HINTS: "Auto"}, False), ({MODE: "Auto", HINTS: "x"}, True)],
)  # fmt: skip
def test_both_annotations_of_topologies_agree_since_1_27(annotations: Object, refused: bool) -> None:
    """The older and the newer annotation of a service ask for the same."""
    spec = {
        "type": "ClusterIP",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
    }
    service = {"metadata": {"name": "a", "namespace": "b", "annotations": annotations}, "spec": spec}
    for release in RELEASES:
        settings = ObjectSettings(dialect=ORCH, release=release)
        causes = dispatch.validate_create(service, resource(release, "", "v1", "services"), settings)
        messages = [cause.message for cause in causes if cause.field == f"metadata.annotations[{MODE}]"]
        expected = f'Invalid value: "Auto": must match annotations[{HINTS}] when both are specified'
        assert messages == [expected] * (refused and release == NEWEST)


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("10.9.0.1", []),
        ("010.9.0.1", ["must not have leading 0s"]),
        ("fd00:0::1", ['must be in canonical form ("fd00::1")']),
        ("::ffff:10.0.0.1", ["must not be an IPv4-mapped IPv6 address"]),
    ],
)
def test_addresses_have_canonical_names(name: str, problems: list[str]) -> None:
    """The name of an IPAddress is the address as programs print it."""
    assert list(canonical_address(name)) == problems


@pytest.mark.parametrize(
    ("before", "after", "problems"),
    [
        ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "2"}}, []),
        (
            {"requests": {"cpu": "1", "ephemeral-storage": "1"}, "limits": {"ephemeral-storage": "2"}},
            {},
            ["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
             "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
             "spec: Forbidden: only cpu and memory resources are mutable"],
        ),
        (
            {"requests": {"cpu": "1"}, "claims": [{"name": "x"}]},
            {"requests": {"cpu": "2"}, "claims": [{"name": "x"}]},
            ["spec: Forbidden: only cpu and memory resources are mutable"],
        ),
    ],
)  # fmt: skip
def test_resized_containers(before: Object, after: Object, problems: list[str]) -> None:
    """Amounts are changed and not removed, whatever the resource; containers that use claims are not resized."""
    report = Report(ObjectSettings(dialect=ORCH, release=NEWEST))
    new, old = ({"containers": [container(resources=each)]} for each in (after, before))
    podresize._containers(new, old, report)
    assert [f"{each.field}: {each.message}" for each in report.causes] == problems
