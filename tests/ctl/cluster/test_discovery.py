"""``api-resources``, ``api-versions``, and names of resources."""

from __future__ import annotations

import pytest

from tests.ctl.ctl_runner import Ctl


def test_resources_are_chosen_by_category_and_sorted(ctl: Ctl) -> None:
    """api-resources takes --categories and --sort-by."""
    found = ctl("api-resources", "--categories=all", "-o", "name").lines
    assert "deployments.apps" in found and "configmaps" not in found
    names = [line.split()[0] for line in ctl("api-resources", "--sort-by=name", "--no-headers").lines]
    assert names == sorted(names)


def test_api_resources_and_versions(ctl: Ctl) -> None:
    """Lists resources with their short names, API versions, and the version of the server."""
    lines = ctl("api-resources", "--api-group=apps", "--no-headers").lines
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in [line.split() for line in lines]
    assert "nodes" in ctl("api-resources", "--namespaced=false", "-o", "name").lines
    assert "pods" not in ctl("api-resources", "--namespaced=false", "-o", "name").lines
    assert {"v1", "apps/v1", ctl.server.dialect("rbac.authorization.{abbr}.io/v1")} <= set(ctl("api-versions").lines)
    assert "Server Version: v1.23" in ctl("version").out


@pytest.mark.parametrize("word", ["deploy", "deployment", "Deployment", "deployments.apps", "deployments.v1.apps"])
def test_resource_names_that_are_accepted(ctl: Ctl, word: str) -> None:
    """Short names, kinds, groups and versions are accepted as names of a resource."""
    ctl("create", "deployment", "web", "--image=nginx:1")
    assert ctl("get", word, "web", "-o", "name").lines == ["deployment.apps/web"]


def test_resources_that_the_preferred_version_does_not_have(ctl: Ctl) -> None:
    """Such resources are listed in the version that has them, and found by name with and without their group."""
    names = ctl("api-resources", "-o", "name").lines
    assert len(names) == len(set(names))
    [qualified] = [name for name in names if name.startswith("podsecuritypolicies.")]
    for word in ("podsecuritypolicies", "psp", qualified):
        assert ctl("get", word).error.endswith("No resources found\n")
