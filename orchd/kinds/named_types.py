"""The type of a kind by apiVersion, also of kinds that have no resource of their own."""

from __future__ import annotations

from orchd.dialect import STOCK_META_GROUP
from orchd.kinds.catalog import Catalog, split_group_version
from orchd.kinds.codec import partial
from orchd.kinds.ir import Type
from orchd.kinds.openapi import aggregated

#: Kinds of meta/v1 that are served with apiVersion v1.
_META_KINDS = frozenset(("Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"))


def type_of(catalog: Catalog, api_version: str, kind: str) -> Type | None:
    """The type of a built-in kind, with or without a resource of its own (Scale, Status, Eviction)."""
    if kind in _META_KINDS and api_version == "v1":
        return catalog.type(f"meta/v1.{kind}")
    if kind == aggregated.KIND:
        return catalog.type(f"apidiscovery/v2.{kind}")
    served = catalog.kind(api_version, kind)
    if served is not None:
        return None if served.custom else served.type
    group, version = split_group_version(api_version)
    if group in (catalog.dialect.meta_group, STOCK_META_GROUP):
        # PartialObjectMetadata has both versions with the same schema, its list has not.
        return catalog.type(f"meta/{version if kind == partial.LIST_KIND else 'v1'}.{kind}")
    for resource in catalog.in_version(group, version):
        if not resource.custom:
            try:
                return catalog.type(f"{resource.type.name.rpartition('.')[0]}.{kind}")
            except KeyError:
                return None
    return None
