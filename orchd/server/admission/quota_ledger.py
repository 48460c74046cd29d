"""The state of a quota while writes of one namespace are checked against it one after the other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.amounts import Usage, add, amounts, format_amounts
from orchd.kinds.objects.quota.scopes import in_scopes
from orchd.kinds.objects.quota.usage import concerned_names, unspecified
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.release import Release
from orchd.server.admission.interfaces import Review
from orchd.server.admission.plugin import refuse


def _resources(missing: Mapping[str, Sequence[str]]) -> str:
    return ",".join(missing)


def _resources_and_containers(missing: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{name} for: {','.join(containers)}" for name, containers in missing.items())


#: How refusals list the resources that containers have to specify, by release.
_MISSING: Final = (("", _resources), ("1.35", _resources_and_containers))


class Ledger:
    """Limits and usage of `quota`, and the usage of the writes that were added since it was read."""

    def __init__(self, quota: Object, dialect: Dialect, release: Release) -> None:
        self.quota = quota
        self.name: str = quota["metadata"]["name"]
        status = fields.status(quota)
        self._dialect = dialect
        self._release = release
        # A quota may have thousands of names: only those that a write concerns are parsed.
        self._hard: Mapping[str, str] = status.get("hard") or {}
        self._used: Mapping[str, str] = status.get("used") or {}
        #: The usage of names that were charged.
        self._charged: Usage = {}
        #: Names in the quota that limit a resource.
        self._names: dict[Resource, list[str]] = {}

    def concerns(self, review: Review) -> bool:
        """True if the quota limits the object of a write."""
        return bool(self.names(review.resource)) and in_scopes(review.resource, review.object or {}, self.quota)

    def names(self, resource: Resource) -> list[str]:
        """The names in the quota that limit a resource."""
        names = self._names.get(resource)
        if names is None:
            concerned = concerned_names(resource, self._hard, self._dialect)
            names = self._names[resource] = [name for name in self._hard if name in concerned] if concerned else []
        return names

    def check(self, review: Review, delta: Usage) -> Usage:
        """The part of `delta` that the quota counts. Raises ApiError 403 if the write exceeds it."""
        self.check_known(review)
        asked = {name: delta[name] for name in self.names(review.resource) if name in delta}
        used, hard = self._used_of(asked), amounts({name: self._hard[name] for name in asked})
        over = [name for name in asked if used[name] + asked[name] > hard[name]]
        if over:
            requested, spent, limited = (
                format_amounts({name: values[name] for name in over}) for values in (asked, used, hard)
            )
            raise refuse(
                review, f"exceeded quota: {self.name}, requested: {requested}, used: {spent}, limited: {limited}"
            )
        return asked

    def check_known(self, review: Review) -> None:
        """Raises ApiError 403 if the usage of the object or of the quota cannot be known."""
        names = self.names(review.resource)
        if review.resource.plural == "pods" and review.resource.group == "":
            missing = unspecified(review.object or {}, names, self._dialect)
            if missing:
                listed = self._release.choose(_MISSING)(missing)
                raise refuse(review, f"failed quota: {self.name}: must specify {listed}")
        if any(name not in self._used for name in names):
            raise refuse(review, f"status unknown for quota: {self.name}, resources: {','.join(sorted(names))}")

    def add(self, asked: Usage) -> None:
        """Count what `check` returned."""
        self._charged |= add(self._used_of(asked), asked)

    def _used_of(self, names: Iterable[str]) -> Usage:
        return {name: self._charged.get(name) or Quantity.parse(self._used[name]) for name in names}

    @property
    def used(self) -> dict[str, str]:
        """The usage as in the status of a quota."""
        return {**self._used, **{name: str(value) for name, value in self._charged.items()}}
