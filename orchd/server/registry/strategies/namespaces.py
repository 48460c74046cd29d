"""Namespaces: their own finalizers, phases, and deletion after their contents."""

from __future__ import annotations

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy


class NamespaceStrategy(Strategy):
    """A namespace is removed when neither metadata.finalizers nor spec.finalizers hold an entry."""

    two_phase_deletion = True
    waits_for_content = True
    dependents_finalizer = "foregroundDeletion"

    def prepare_create(self, context: Context, obj: Object) -> Object:
        own = self.settings.dialect("{long}")
        spec = dict(fields.spec(obj))
        finalizers = list(spec.get("finalizers") or ())
        if own not in finalizers:
            finalizers.append(own)
        spec["finalizers"] = finalizers
        metadata = obj["metadata"]  # The default label is set before a name is generated.
        if name := metadata.get("name"):
            labels = {**(metadata.get("labels") or {}), self.settings.dialect("{long}.io/metadata.name"): name}
            metadata = {**metadata, "labels": labels}
        return {**obj, "metadata": metadata, "spec": spec, "status": {"phase": "Active"}}

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        if context.subresource == "finalize":
            spec = {**fields.spec(obj)}
            return {**obj, "spec": spec, "status": fields.status(old)}
        if context.subresource == "status":
            return self.status_update(obj, old)
        spec = {**fields.spec(obj), "finalizers": fields.spec(old).get("finalizers") or []}
        if not spec["finalizers"]:
            del spec["finalizers"]
        return {**obj, "spec": spec, "status": fields.status(old)}

    def blocks_deletion(self, obj: Object) -> bool:
        return not obj["metadata"].get("deletionTimestamp") or bool(fields.spec(obj).get("finalizers"))

    def prepare_deletion(self, context: Context, obj: Object, old: Object) -> Object:
        return fields.with_status(obj, phase="Terminating")

    def completes_deletion(self, context: Context, obj: Object, old: Object) -> bool:
        if obj["metadata"].get("finalizers") or self.blocks_deletion(obj):
            return False
        return bool(old["metadata"].get("deletionTimestamp"))
