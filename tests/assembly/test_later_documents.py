"""Health checks and root paths of later releases, and the operations and values that their documents list."""

from __future__ import annotations

from orchd.assembly.checks import checks
from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.openapi import discovery, v3
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.state import ServerState


def names(release: Release) -> tuple[set[str], set[str]]:
    """The names of the checks of a live server and of a ready one."""
    settings = ObjectSettings(dialect=KUBERNETES, release=release)
    health_checks = checks(settings, ServerState(lambda: 0.0, 0), store=lambda: "", informers=lambda: "")
    return {check.name for check in health_checks if check.live}, {check.name for check in health_checks if check.ready}


def test_health_checks_follow_the_release() -> None:
    """A later server has other hooks, and is ready though it cannot reach its store."""
    live, ready = names(NEWEST)
    assert "etcd" in live and "etcd" not in ready
    assert "poststarthook/apiservice-openapiv3-controller" in live & ready
    assert "etcd" in names(SPECIFICATION)[1]


def test_root_paths_follow_the_release() -> None:
    """Logs are a root path of the first release, schemas one of the later."""
    first, later = (
        set(discovery.root_paths(builtin_catalog(KUBERNETES, release))["paths"]) for release in (SPECIFICATION, NEWEST)
    )
    assert "/logs" in first - later and "/openapi/v3" in later - first


def test_schemas_are_those_that_paths_need() -> None:
    """A later document has no schemas beside those that its paths refer to, and the parameters of its release in their
    order."""
    document = v3.document(builtin_catalog(KUBERNETES, NEWEST), "apps", "v1")
    assert document is not None
    assert "io.k8s.apimachinery.pkg.version.Info" not in document["components"]["schemas"]
    post = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["post"]
    assert [each["name"] for each in post["parameters"]] == ["dryRun", "fieldManager", "fieldValidation"]
    quantity = document["components"]["schemas"]["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity["oneOf"] == [{"type": "string"}, {"type": "number"}]
