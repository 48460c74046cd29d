"""Matches writes to policies and bindings: selectors, rules with names of objects, exclusions, equivalent versions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.objects.selectors import LabelSelector
from orchd.server.admission.interfaces import Review
from orchd.server.admission.selection import Namespaces, objects_match
from orchd.server.admission.webhooks.matching import equivalents, fits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatchResources:
    """Which writes a policy or binding is about. Without rules, all that are not excluded."""

    rules: tuple[ObjectView, ...]
    excluded: tuple[ObjectView, ...]
    namespaces: LabelSelector
    objects: LabelSelector
    exact: bool

    @staticmethod
    def of(value: ObjectView) -> MatchResources:
        """The selection of an object in a policy or binding."""
        return MatchResources(
            rules=tuple(value.get("resourceRules") or ()),
            excluded=tuple(value.get("excludeResourceRules") or ()),
            namespaces=LabelSelector.from_object(value.get("namespaceSelector") or {}),
            objects=LabelSelector.from_object(value.get("objectSelector") or {}),
            exact=value.get("matchPolicy") == "Exact",
        )

    def may_concern(self, operation: str, resource: Resource, subresource: str, catalog: Catalog) -> bool:
        """False if no write of an operation and resource matches, whatever its object. Errs towards true."""
        if not self.rules:
            return True
        versions = equivalents(catalog, resource)
        return any(
            fits({**rule, "scope": "*"}, operation, version, subresource, namespaced=True)
            for rule in self.rules
            for version in versions
        )

    async def match(self, review: Review, namespaces: Namespaces, catalog: Catalog) -> Resource | None:
        """The resource in whose version a write is shown if it matches, else None. Raises ApiError 404 if its namespace
        is missing."""
        if self._rule(self.excluded, review, catalog) is not None:
            return None
        resource = self._rule(self.rules, review, catalog) if self.rules else review.resource
        if resource is None or not objects_match(self.objects, review):
            return None
        return resource if await namespaces.match(self.namespaces, review) else None

    def _rule(self, rules: Iterable[ObjectView], review: Review, catalog: Catalog) -> Resource | None:
        """The resource whose version one of the rules matches."""
        named = [rule for rule in rules if _names(rule, review.name)]
        resource = review.resource
        if any(_fits(rule, review, resource) for rule in named):
            return resource
        if self.exact or not named:
            return None
        others = [each for each in equivalents(catalog, resource) if each.api_version != resource.api_version]
        return next((other for rule in named for other in others if _fits(rule, review, other)), None)


def _fits(rule: ObjectView, review: Review, resource: Resource) -> bool:
    return fits(rule, review.operation, resource, review.subresource, namespaced=bool(review.namespace))


def _names(rule: ObjectView, name: str) -> bool:
    """True if a rule is about objects of any name, or of this one."""
    names = rule.get("resourceNames")
    return not names or name in names
