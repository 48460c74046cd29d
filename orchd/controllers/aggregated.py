"""Resources of aggregated API servers, from discovery."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from orchd.client.interfaces import IRawClient
from orchd.client.requests import Call
from orchd.controllers.objects import condition
from orchd.errors import ApiError
from orchd.kinds.fields import spec, status
from orchd.kinds.jsonvalues import Object

#: Text of a client for status 503.
_UNAVAILABLE = "the server is currently unable to handle the request"


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatedResource:
    """A namespaced resource of an aggregated server."""

    group: str
    version: str
    plural: str
    verbs: frozenset[str]


@dataclass(slots=True)
class Discovered:
    """`failures` holds the error by group and version, "group/version"."""

    resources: list[AggregatedResource] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


async def discover(client: IRawClient, api_services: Iterable[Object]) -> Discovered:
    """The namespaced resources that can be deleted of all APIServices that have a service, each in the version with the
    highest priority. Versions whose server is not available, or whose document cannot be read, are failures."""
    discovered = Discovered()
    seen: set[tuple[str, str]] = set()
    remote = [each for each in api_services if spec(each).get("service") is not None]
    for each in sorted(remote, key=lambda s: -int(spec(s).get("versionPriority") or 0)):
        group, version = str(spec(each).get("group", "")), str(spec(each).get("version", ""))
        available = condition(status(each), "Available")
        if available is None or available.get("status") != "True":
            discovered.failures[f"{group}/{version}"] = _UNAVAILABLE
            continue
        try:
            for resource in await _read(client, group, version):
                if (resource.group, resource.plural) not in seen:
                    seen.add((resource.group, resource.plural))
                    discovered.resources.append(resource)
        except ApiError as error:
            discovered.failures[f"{group}/{version}"] = _UNAVAILABLE if error.code == 503 else error.message
    return discovered


async def _read(client: IRawClient, group: str, version: str) -> list[AggregatedResource]:
    """The deletable resources of a group version, from its discovery document. Raises ApiError, also for an invalid
    document."""
    response = await client.exchange(Call(method="GET", path=f"/apis/{group}/{version}"))
    try:
        entries = orjson.loads(response.body)["resources"]
        return [
            AggregatedResource(group=group, version=version, plural=str(entry["name"]), verbs=frozenset(entry["verbs"]))
            for entry in entries
            if entry["namespaced"]
            and "/" not in entry["name"]
            and "delete" in entry["verbs"]
            and "list" in entry["verbs"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ApiError(500, "InternalError", f"the discovery document of {group}/{version} cannot be read") from None
