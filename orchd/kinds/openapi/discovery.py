"""The discovery documents of a catalog: groups, versions and resources, as JSON data.

Shapes: APIVersions, APIGroupList, APIGroup, APIResourceList and RootPaths of ``meta/v1``, and version.Info
(specification, "API discovery"). All functions are pure; callers encode and cache the documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from orchd.kinds.catalog import Catalog, Group, Resource, group_version
from orchd.kinds.release import Release
from orchd.kinds.rows import Subresource

Json = dict[str, Any]

#: Verbs of a custom kind are listed in this order; those of built-in kinds alphabetically.
CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def api_versions(catalog: Catalog, server_address: str) -> Json:
    """``/api``: versions of the group without a name. `server_address` is ``host:port``, the same for every client."""
    core = catalog.group("")
    return {
        "kind": "APIVersions",
        "versions": list(core.versions) if core else [],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    }


def api_group_list(catalog: Catalog, foreign: Sequence[Json] = ()) -> Json:
    """``/apis``: every named group in priority order, then those of `foreign`: groups with versions that other servers
    serve, in the form of the list's items."""
    local = [_group(group) for group in catalog.groups if group.name]
    names = {group["name"] for group in local}
    others = [group for group in foreign if group["name"] not in names]
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [*(_with_others(group, foreign) for group in local), *others],
    }


def api_group(catalog: Catalog, name: str, foreign: Sequence[Json] = ()) -> Json | None:
    """``/apis/NAME``, None if the group is not served; `foreign` as in the list."""
    group = catalog.group(name) if name else None
    if group is not None:
        return {"kind": "APIGroup", "apiVersion": "v1", **_with_others(_group(group), foreign)}
    other = next((each for each in foreign if each["name"] == name), None)
    return None if other is None else {"kind": "APIGroup", "apiVersion": "v1", **other}


def _with_others(group: Json, foreign: Sequence[Json]) -> Json:
    """A group of this server, with versions of it that other servers serve."""
    more = [v for other in foreign if other["name"] == group["name"] for v in other["versions"]]
    more = [version for version in more if version not in group["versions"]]
    return {**group, "versions": [*group["versions"], *more]} if more else group


def _group(group: Group) -> Json:
    return {
        "name": group.name,
        "versions": [_version(group.name, version) for version in group.versions],
        "preferredVersion": _version(group.name, group.preferred),
    }


def _version(group: str, version: str) -> Json:
    return {"groupVersion": group_version(group, version), "version": version}


def api_resource_list(catalog: Catalog, group: str, version: str, *, hashes: bool = True) -> Json | None:
    """``/api/v1`` or ``/apis/GROUP/VERSION``: resources and subresources; None if the version is not served.

    Built-in resources are listed by path (so is ``pods/log`` after ``pods``), custom ones in the catalog's order.
    `hashes`: with the hash of each resource's storage version.
    """
    served = catalog.group(group)
    if served is None or version not in served.versions:
        return None
    listed = catalog.in_version(group, version)
    builtin: list[Json] = []
    custom: list[Json] = []
    for resource in listed:
        (custom if resource.custom else builtin).extend(api_resources(resource, hashes=hashes))
    builtin.sort(key=lambda entry: str(entry["name"]))
    out: Json = {"kind": "APIResourceList"}
    if group:
        out["apiVersion"] = "v1"
    out["groupVersion"] = group_version(group, version)
    out["resources"] = builtin + custom
    return out


def api_resources(resource: Resource, *, hashes: bool = True) -> list[Json]:
    """The APIResource of a resource and of each of its subresources."""
    entry: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": listed_verbs(resource),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.stored and hashes:
        entry["storageVersionHash"] = resource.storage_version_hash
    return [entry, *(_subresource(resource, sub) for sub in resource.subresources.values())]


def listed_verbs(resource: Resource) -> list[str]:
    """The verbs of a resource in the order in which discovery lists them."""
    if resource.custom:
        return [verb for verb in CUSTOM_VERBS if verb in resource.verbs]
    return sorted(resource.verbs)


def _subresource(resource: Resource, sub: Subresource) -> Json:
    entry: Json = {"name": f"{resource.plural}/{sub.name}", "singularName": "", "namespaced": resource.namespaced}
    if sub.version:
        entry["group"] = sub.group
        entry["version"] = sub.version
        if not sub.group:
            del entry["group"]
    entry["kind"] = sub.kind
    entry["verbs"] = sorted(sub.verbs)
    return entry


#: Paths outside the API groups; health checks are added per endpoint.
_ROOT_PATHS: Final = tuple(
    "/.well-known/openid-configuration /api /apis /apis/ /healthz /livez /metrics /openapi/v2 /openid/v1/jwks /readyz "
    "/version".split()
)
#: Paths that not all releases have: since a release, until one.
_ROOT_PATHS_OF: Final = (
    ("/logs", "", "1.24"), ("/metrics/slis", "1.26", ""), ("/openapi/v3", "1.24", ""), ("/openapi/v3/", "1.24", ""),
)  # fmt: skip


def root_paths(catalog: Catalog, more: Iterable[str] = ()) -> Json:
    """``/``: all root paths, sorted. `more` are the paths of health checks (``/livez/ping``)."""
    paths = set(_ROOT_PATHS)
    paths.update(path for path, since, until in _ROOT_PATHS_OF if catalog.release.includes(since, until))
    for group in catalog.groups:
        base = f"/apis/{group.name}" if group.name else "/api"
        paths.add(base)
        paths.update(f"{base}/{version}" for version in group.versions)
    paths.update(more)
    return {"paths": sorted(paths)}


#: The release from which on the version document has the emulated version and the lowest compatible one.
_EMULATION_SINCE = "1.33"


def _emulated(release: Release) -> Json:
    return {
        "emulationMajor": "1",
        "emulationMinor": str(release.minor),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": release.previous.partition(".")[2],
    }


def version_info(
    release: Release,
    *,
    git_commit: str = "",
    build_date: str = "1970-01-01T00:00:00Z",
    implementation: Sequence[str] = ("python", "cpython", "linux/amd64"),
) -> Json:
    """``/version``. `release` is the one whose API this is; clients decide by it which features they use.

    `implementation` is language version, compiler and platform, which the API calls goVersion, compiler, platform.
    """
    language, compiler, platform = implementation
    return {
        "major": "1",
        "minor": str(release.minor),
        **(_emulated(release) if release.includes(_EMULATION_SINCE) else {}),
        "gitVersion": release.version,
        "gitCommit": git_commit,
        "gitTreeState": "clean",
        "buildDate": build_date,
        "goVersion": language,
        "compiler": compiler,
        "platform": platform,
    }
