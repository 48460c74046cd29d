"""Field ownership of the scale subresource, whose ``.spec.replicas`` maps to a field of the parent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from orchd.kinds.patch import managed
from orchd.kinds.patch.fieldset import difference, has, of_paths
from orchd.kinds.patch.managed import Owner, Owners

SCALE_VERSION: Final = "autoscaling/v1"
_PATH: Final = ("f:spec", "f:replicas")
_REPLICAS: Final = of_paths(_PATH)

#: Path elements of the replicas in the parent, by its apiVersion: ``("f:spec", "f:replicas")``.
Replicas: TypeAlias = Mapping[str, tuple[str, ...]]


def to_scale(parent: Any, replicas: Replicas) -> list[dict[str, Any]]:
    """managedFields of a Scale: the entries of `parent` that own its replicas."""
    out: Owners = {}
    for key, owner in managed.decode(parent, trusted=True).items():
        path = replicas.get(owner.version)
        if path is not None and has(owner.fields, path):
            out[key] = Owner(identity=key, version=SCALE_VERSION, fields=_REPLICAS, time=owner.time)
    return managed.encode(out)


def to_parent(parent: Any, scale: Any, replicas: Replicas, api_version: str) -> list[dict[str, Any]]:
    """managedFields of the object after its Scale was written with entries `scale`.

    A new owner of the replicas gets an entry in `api_version`, without a time, as in the reference."""
    scaled = managed.decode(scale, trusted=True)
    out: Owners = {}
    for key, owner in managed.decode(parent, trusted=True).items():
        path = replicas.get(owner.version)
        if path is None:
            continue
        if not has(owner.fields, path):
            out[key] = owner
        elif key in scaled:
            out[key] = owner
            del scaled[key]
        else:
            rest = difference(owner.fields, of_paths(path))
            if rest:
                out[key] = owner.with_fields(rest)
    for key, owner in scaled.items():
        if not has(owner.fields, _PATH):
            continue
        # The identity of an updater contains the version of its entry, which becomes that of the parent.
        manager, operation, _, subresource = key
        mine = managed.identity(manager, operation, api_version, subresource)
        # Beside an entry of the same updater, which keeps its other fields.
        out[key] = Owner(identity=mine, version=api_version, fields=of_paths(replicas[api_version]))
    return managed.encode(out)
