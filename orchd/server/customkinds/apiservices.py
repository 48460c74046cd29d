"""Maintains one APIService per group and version of custom kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object

#: Priority of custom groups: after all others.
_PRIORITIES: Final = {"groupPriorityMinimum": 1000, "versionPriority": 100}


class ApiServices:
    """Maintains the APIServices of custom kinds; others are left unchanged."""

    def __init__(self, client: IClient, dialect: Dialect) -> None:
        self._client = client
        self._group = dialect("apiregistration.{abbr}.io")
        self._ref = ResourceRef(self._group, "v1", "apiservices")
        self._label = dialect("{short}-aggregator.{long}.io/automanaged")
        self._registered: dict[str, None] | None = None

    async def follow(self, served: Mapping[tuple[str, str], bool]) -> None:
        """Create missing APIServices for `served` groups and versions, delete those no longer served."""
        versions = {f"{version}.{group}": (group, version) for group, version in served}
        if self._registered is None:
            listed = await self._client.list(self._ref)
            self._registered = dict.fromkeys(item["metadata"]["name"] for item in listed["items"] if self._ours(item))
        for name in [name for name in self._registered if name not in versions]:
            await self._remove(name)
            del self._registered[name]
        for name, (group, version) in versions.items():
            if name not in self._registered:
                await self._make(name, group, version)
                self._registered[name] = None

    def _ours(self, item: Object) -> bool:
        return bool((item["metadata"].get("labels") or {}).get(self._label) == "true")

    async def _make(self, name: str, group: str, version: str) -> None:
        service: Object = {
            "apiVersion": f"{self._group}/v1",
            "kind": "APIService",
            "metadata": {"name": name, "labels": {self._label: "true"}},
            "spec": {"group": group, "version": version, **_PRIORITIES},
        }
        try:
            await self._client.create(self._ref, "", service)
        except ApiError as error:
            # An administrator registered another server for this version.
            if error.code != 409:
                raise

    async def _remove(self, name: str) -> None:
        try:
            if self._ours(await self._client.get(self._ref, "", name)):
                await self._client.delete(self._ref, "", name)
        except ApiError as error:
            if error.code != 404:
                raise
