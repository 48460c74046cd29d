"""Lossless conversion of objects in canonical shape between the versions of their kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchd.kinds.catalog import Catalog, split_group_version
from orchd.kinds.ir import Type
from orchd.kinds.objects.conversions import autoscalers, custom, definitions, renames
from orchd.kinds.objects.shape import canonical

Object = dict[str, Any]
#: A conversion step. Returns a new object whose apiVersion is not set yet.
Step = Callable[[Object, Catalog], Object]

#: kind -> (first label of the group)/version -> steps from and to the hub version; other versions are equal to the hub.
FORMS: Final[dict[str, dict[str, tuple[Step, Step]]]] = {
    "CustomResourceDefinition": {"apiextensions/v1beta1": (definitions.from_v1beta1, definitions.to_v1beta1)},
    "EndpointSlice": {"discovery/v1beta1": (renames.slice_from_v1beta1, renames.slice_to_v1beta1)},
    "Event": {
        "events/v1": (renames.event_to_core, renames.event_from_core),
        "events/v1beta1": (renames.event_to_core, renames.event_from_core),
    },
    "HorizontalPodAutoscaler": {
        "autoscaling/v1": (autoscalers.from_v1, autoscalers.to_v1),
        "autoscaling/v2beta1": (autoscalers.from_v2beta1, autoscalers.to_v2beta1),
        # Equal to the hub (v2), except for the members that are always written.
        "autoscaling/v2": (renames.same, renames.same),
        "autoscaling/v2beta2": (renames.same, renames.same),
    },
    "PodDisruptionBudget": {"policy/v1beta1": (renames.budget_from_v1beta1, renames.budget_to_v1beta1)},
    "RuntimeClass": {"node/v1alpha1": (renames.runtime_from_v1alpha1, renames.runtime_to_v1alpha1)},
}


def package(api_version: str) -> str:
    """The type package of an apiVersion: ``policy/v1``, ``core/v1`` for the core group."""
    group, version = split_group_version(api_version)
    return f"{group.partition('.')[0] or 'core'}/{version}"


def same_form(kind: str, api_version: str, other: str) -> bool:
    """True if objects of `kind` differ in apiVersion only between two versions."""
    if api_version == other:
        return True
    forms = FORMS.get(kind)
    if forms is None:
        return True
    one, two = package(api_version), package(other)
    return one not in forms and two not in forms


def convert(obj: Object, to: str, catalog: Catalog) -> Object:
    """Convert `obj`, in canonical shape, to the apiVersion `to`.

    Raises KeyError for an unknown version of a built-in kind, ApiError 500 for a custom kind with a conversion webhook.
    """
    api_version, kind = obj["apiVersion"], obj["kind"]
    if api_version == to:
        return obj
    served = catalog.kind(to, kind) or catalog.kind(api_version, kind)
    if served is not None and served.custom:
        return custom.convert(obj, to, served)
    if same_form(kind, api_version, to):
        return {**obj, "apiVersion": to}
    forms = FORMS[kind]
    steps = forms.get(package(api_version))
    middle = obj if steps is None else steps[0](obj, catalog)
    steps = forms.get(package(to))
    result = middle if steps is None else steps[1](middle, catalog)
    return canonical({**result, "apiVersion": to}, _type(kind, to, catalog))


def _type(kind: str, api_version: str, catalog: Catalog) -> Type:
    return catalog.type(f"{package(api_version)}.{kind}")
