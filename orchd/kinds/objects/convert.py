"""Lossless conversion of objects in canonical shape between the versions of their kind."""

from __future__ import annotations

from orchd.kinds.catalog import Catalog, package_of, split_group_version
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.conversions import custom
from orchd.kinds.objects.shape import canonical
from orchd.kinds.rows import Conversion, resolve


def same_form(kind: str, api_version: str, other: str, catalog: Catalog) -> bool:
    """True if objects of `kind` differ in apiVersion only between two versions."""
    if api_version == other:
        return True
    return _conversion(kind, api_version, catalog) is None and _conversion(kind, other, catalog) is None


def _conversion(kind: str, api_version: str, catalog: Catalog) -> Conversion | None:
    row = catalog.row(api_version, kind)
    return None if row is None else row.conversion


def to_hub(obj: Object, catalog: Catalog) -> Object:
    """`obj` with the members of the hub version, through which the versions of its kind are converted; the apiVersion
    is unchanged. Objects of custom kinds are returned themselves."""
    conversion = _conversion(obj["kind"], obj["apiVersion"], catalog)
    return obj if conversion is None else resolve(conversion.to_hub)(obj, catalog)


def same_metadata(kind: str, api_version: str, other: str, catalog: Catalog) -> bool:
    """True if objects of `kind` have the same metadata in two versions: neither keeps members in annotations."""
    if api_version == other:
        return True
    versions = (_conversion(kind, api_version, catalog), _conversion(kind, other, catalog))
    return not any(each is not None and each.annotates for each in versions)


def annotated(obj: Object, catalog: Catalog) -> Object:
    """`obj` with the annotations in which its version keeps members of the hub version."""
    api_version, kind = obj["apiVersion"], obj["kind"]
    conversion = _conversion(kind, api_version, catalog)
    if conversion is None or not conversion.annotates:
        return obj
    round_trip = resolve(conversion.from_hub)(resolve(conversion.to_hub)(obj, catalog), catalog)
    return canonical(round_trip, catalog.type(f"{package_of(*split_group_version(api_version))}.{kind}"))


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
    source, target = _conversion(kind, api_version, catalog), _conversion(kind, to, catalog)
    if source is None and target is None:
        return {**obj, "apiVersion": to}
    hub = obj if source is None else resolve(source.to_hub)(obj, catalog)
    result = {**(hub if target is None else resolve(target.from_hub)(hub, catalog)), "apiVersion": to}
    if all(each is None or each.keeps_shape for each in (source, target)):
        return result
    return canonical(result, catalog.type(f"{package_of(*split_group_version(to))}.{kind}"))
