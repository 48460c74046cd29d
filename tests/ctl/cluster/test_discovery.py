"""``api-resources``, ``api-versions``, and names of resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.client.errors import NoResponseError, UnreachableError
from orchd.client.interfaces import RawResponse
from orchd.client.requests import Call
from orchd.ctl.cluster.discovery import Discovery
from orchd.dialect import COMMAND_LINE, DIALECTS
from orchd.errors import ApiError
from orchd.kinds.release import default_release
from orchd.testing.doubles.server import make_server, run
from tests.ctl.ctl_runner import Ctl


def test_resources_are_chosen_by_category_and_sorted(ctl: Ctl) -> None:
    """api-resources takes --categories and --sort-by."""
    found = ctl("api-resources", "--categories=all", "-o", "name").lines
    assert "deployments.apps" in found and "configmaps" not in found
    names = [line.split()[0] for line in ctl("api-resources", "--sort-by=name", "--no-headers").lines]
    assert names == sorted(names)
    reviews = ctl("api-resources", "--verbs=create", "--categories=", "-o", "name").lines
    assert ctl.server.dialect("tokenreviews.authentication.{abbr}.io") in reviews
    assert "componentstatuses" not in reviews


def test_api_resources_and_versions(ctl: Ctl) -> None:
    """Lists resources with their short names, API versions, and the version of the server."""
    lines = ctl("api-resources", "--api-group=apps", "--no-headers").lines
    assert lines[0].split() == ["controllerrevisions", "apps/v1", "true", "ControllerRevision"]
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in [line.split() for line in lines]
    headings = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    assert ctl("api-resources").lines[0].split() == headings
    wide = ctl("api-resources", "--api-group=apps", "-o", "wide").lines
    assert wide[0].split() == [*headings, "VERBS", "CATEGORIES"]
    assert wide[-1].split()[-2:] == ["create,delete,deletecollection,get,list,patch,update,watch", "all"]
    assert "nodes" in ctl("api-resources", "--namespaced=false", "-o", "name").lines
    assert "pods" not in ctl("api-resources", "--namespaced=false", "-o", "name").lines
    assert {"v1", "apps/v1", ctl.server.dialect("rbac.authorization.{abbr}.io/v1")} <= set(ctl("api-versions").lines)
    assert f"Server Version: {default_release(ctl.server.dialect).version}" in ctl("version").out


@pytest.mark.parametrize("word", ["deploy", "deployment", "Deployment", "deployments.apps", "deployments.v1.apps"])
def test_resource_names_that_are_accepted(ctl: Ctl, word: str) -> None:
    """Short names, kinds, groups and versions are accepted as names of a resource."""
    ctl("create", "deployment", "web", "--image=nginx:1")
    assert ctl("get", word, "web", "-o", "name").lines == ["deployment.apps/web"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_resources_that_the_preferred_version_does_not_have(dialect: str, tmp_path: Path) -> None:
    """Such resources are listed in the version that has them, and found by name with and without their group."""
    server = make_server(tmp_path, f"--dialect={dialect}", "--emulated-version=1.23")
    ctl = Ctl(server)
    names = ctl("api-resources", "-o", "name").lines
    assert len(names) == len(set(names))
    [qualified] = [name for name in names if name.startswith("podsecuritypolicies.")]
    for word in ("podsecuritypolicies", "psp", qualified):
        assert ctl("get", word).error.endswith("No resources found\n")
    server.stop()


class Failing:
    """A server whose documents below a path are errors."""

    def __init__(self, ctl: Ctl, path: str, error: ApiError) -> None:
        self._inner: Any = ctl.server.client("admin")
        self._path, self._error = path, error

    async def exchange(self, call: Call) -> RawResponse:
        if call.path.startswith(self._path):
            raise self._error
        response: RawResponse = await self._inner.exchange(call)
        return response


DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("error", "path", "says"),
    [
        (
            UnreachableError("https://s", "refused"),
            "/",
            "cannot reach https://s: refused: check --server, or the cluster of the current context (config view)",
        ),
        (
            NoResponseError("https://s", 30),
            "/",
            "no response from https://s within 30 s: give a longer --request-timeout, or check the server's health",
        ),
        (
            ApiError(401, "Unauthorized", "Unauthorized"),
            "/apis/apps",
            "Unauthorized: check the credentials of the current context (config view)",
        ),
        (ApiError(503, "ServiceUnavailable", "down"), "/apis/apps", "down"),
    ],
)
def test_a_server_that_does_not_answer_is_no_missing_kind(
    ctl: Ctl, monkeypatch: pytest.MonkeyPatch, error: ApiError, path: str, says: str
) -> None:
    """An object cannot be applied because its kind cannot be looked up: the error is the server's, in one line."""
    failing = Failing(ctl, path, error)
    monkeypatch.setattr(ctl.server, "client", lambda *user, **more: failing)
    assert ctl("apply", "-f", "-", send=DEPLOYMENT, status=1).error == f"{COMMAND_LINE}: {says}\n"


def test_groups_that_do_not_answer_are_named(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that is not found may be in a group that does not answer, which the error names."""
    failing = Failing(ctl, "/apis/apps", ApiError(503, "ServiceUnavailable", "down"))
    monkeypatch.setattr(ctl.server, "client", lambda *user, **more: failing)
    assert (
        "api-resources lists those that it has; apps/v1 did not respond: down" in ctl("get", "nothings", status=1).error
    )
    assert ctl("api-resources", "-o", "name", status=1).error == f"{COMMAND_LINE}: apps/v1 did not respond: down\n"


def test_resources_are_those_of_the_preferred_version() -> None:
    """A resource that several versions have is that of the preferred one; one that this does not have is that of the
    first that does."""

    def listed(*plurals: str) -> dict[str, Any]:
        return {"resources": [{"name": each, "kind": each.title(), "verbs": ["list"]} for each in plurals]}

    versions = [{"version": each} for each in ("v1beta1", "v1", "v2")]
    documents = {
        "/apis": {"groups": [{"name": "g", "versions": versions, "preferredVersion": {"version": "v1"}}]}, "/api/v1": listed(),
        "/apis/g/v1": listed("a"), "/apis/g/v1beta1": listed("a", "b"), "/apis/g/v2": listed("a", "b", "c"),
    }  # fmt: skip

    async def fetch(path: str) -> dict[str, Any]:
        return documents[path]

    resources = run(Discovery(fetch).preferred())
    assert [(each.plural, each.version) for each in resources] == [("a", "v1"), ("b", "v1beta1"), ("c", "v2")]
