"""``api-resources``, ``api-versions``, and names of resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.client.errors import NoResponseError, UnreachableError
from orchd.client.interfaces import RawResponse
from orchd.client.requests import Call
from orchd.ctl.cluster.discovery import Discovery
from orchd.ctl.errors import CommandError
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


def test_documents_are_read_again_after_they_are_forgotten() -> None:
    """Groups, versions and their failures."""
    paths: list[str] = []

    async def fetch(path: str) -> dict[str, Any]:
        paths.append(path)
        if path == "/apis/g/v2":
            raise ApiError(503, "ServiceUnavailable", "down")
        return {
            "groups": [{"name": "g", "versions": [{"version": "v1"}, {"version": "v2"}]}, {"name": "none"}],
            "resources": [],
        }

    discovery = Discovery(fetch)
    for _ in range(2):
        run(discovery.preferred())
        run(discovery.preferred())
        assert run(discovery.groups()) == {"g": ("v1", ["v1", "v2"])}
        assert list(discovery.failures) == ["g/v2"]
        discovery.forget()
        assert discovery.failures == {}
    assert sorted(paths) == sorted(["/apis", "/api/v1", "/apis/g/v1", "/apis/g/v2"] * 2)


def test_a_version_that_is_gone_has_no_kinds(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing(ctl, "/apis/apps", ApiError(404, "NotFound", "no such version"))
    monkeypatch.setattr(ctl.server, "client", lambda *user, **more: failing)
    assert 'no kind "Deployment" in version "apps/v1"' in ctl("apply", "-f", "-", send=DEPLOYMENT, status=1).error
    assert "did not respond" not in ctl("get", "nothings", status=1).error


RESOURCES: dict[str, dict[str, Any]] = {
    "/apis": {
        "groups": [
            {
                "name": "a.example",
                "versions": [{"version": "v1"}, {"version": "v2"}],
                "preferredVersion": {"version": "v2"},
            },
            {"name": "b", "versions": [{"version": "v1"}]},
        ]
    },
    "/api/v1": {
        "resources": [
            {"name": "things", "kind": "Thing", "shortNames": ["th"], "verbs": ["list"], "namespaced": True},
            {"name": "things/scale", "kind": "Scale"},
        ]
    },
    "/apis/a.example/v1": {
        "resources": [{"name": "olds", "kind": "Old", "singularName": "former"}, {"name": "things", "kind": "Thing"}]
    },
    "/apis/a.example/v2": {"resources": [{"name": "things", "kind": "Thing", "categories": ["all"]}]},
    "/apis/b/v1": {"resources": [{"name": "boxes", "kind": "Box", "categories": ["all"], "verbs": ["list"]}]},
}


@pytest.mark.parametrize(
    ("word", "resource"),
    [
        ("things", "/v1/things"), ("thing", "/v1/things"), ("THING", "/v1/things"), ("th", "/v1/things"), ("things.v1", "/v1/things"), ("box", "b/v1/boxes"),
        ("things.a", "a.example/v2/things"), ("things.a.example", "a.example/v2/things"), ("things.v1.a.example", "a.example/v1/things"),
        ("things.v3.a.example", None), ("former", "a.example/v1/olds"), ("old", "a.example/v1/olds"), ("olds.a.example", "a.example/v1/olds"), ("none", None),
        ("boxes.v1", None), ("boxes.b", "b/v1/boxes"), ("things.example", None),
    ],
)  # fmt: skip
def test_names_of_resources(word: str, resource: str | None) -> None:
    """The core group comes first, then preferred versions, then others; a group may be shortened to its beginning."""

    async def fetch(path: str) -> dict[str, Any]:
        return RESOURCES[path]

    discovery = Discovery(fetch)
    if resource is None:
        with pytest.raises(CommandError, match="no resource type"):
            run(discovery.find(word))
    else:
        chosen = run(discovery.find(word))
        assert f"{chosen.group}/{chosen.version}/{chosen.plural}" == resource
    assert [each.plural for each in run(discovery.category("all"))] == ["boxes"]


def test_what_is_known_of_a_resource() -> None:
    async def fetch(path: str) -> dict[str, Any]:
        return RESOURCES[path]

    [thing] = run(Discovery(fetch).version("", "v1"))
    assert (thing.singular, thing.namespaced, thing.subresources, thing.label("x")) == (
        "thing",
        True,
        ("scale",),
        "thing/x",
    )
    [old, *_] = run(Discovery(fetch).version("a.example", "v1"))
    assert (old.singular, old.namespaced, old.qualified, old.api_version, old.label("x")) == (
        "former", False, "olds.a.example", "a.example/v1", "former.a.example/x",
    )  # fmt: skip
