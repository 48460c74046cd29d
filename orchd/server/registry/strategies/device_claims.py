"""ResourceClaims and ResourceClaimTemplates: access to devices that are in use needs a label of the namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.policies import PolicyStrategy

_LABEL: Final = "resource.{long}.io/admin-access"


def _no_labels(namespace: str) -> Mapping[str, str]:
    return {}


class DeviceClaimStrategy(PolicyStrategy):
    """Rejects requests with admin access in namespaces without the label. `namespace_labels` are the labels of a
    namespace by name."""

    namespace_labels: Callable[[str], Mapping[str, str]] = staticmethod(_no_labels)

    def validate_create(self, context: Context, obj: Object) -> Sequence[Cause]:
        causes = super().validate_create(context, obj)
        spec = fields.spec(obj)
        # The specification of a template has that of the claim, whose path errors state.
        devices = (spec.get("spec") or spec).get("devices") or {}
        requested = [(request.get("exactly") or {}).get("adminAccess") for request in devices.get("requests") or ()]
        return [*self._refused(obj, requested, "spec.devices.requests"), *causes]

    def validate_update(self, context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        causes = super().validate_update(context, obj, old)
        if not context.subresource or any(_granted(old)):
            return causes
        return [*self._refused(obj, _granted(obj), "status.allocation.devices.results"), *causes]

    def _refused(self, obj: Object, requested: Sequence[Any], path: str) -> Sequence[Cause]:
        """The error for the first request that wants access, if the namespace does not grant it."""
        label = self.settings.dialect(_LABEL)
        if (
            not any(requested)
            or self.namespace_labels(fields.metadata(obj).get("namespace") or "").get(label) == "true"
        ):
            return ()
        why = f"Forbidden: admin access to devices requires the `{label}: true` label on the containing namespace"
        return (Cause("FieldValueForbidden", why, f"{path}[{[*map(bool, requested)].index(True)}].adminAccess"),)


def _granted(claim: Object) -> list[Any]:
    devices = fields.mapping(fields.status(claim), "allocation", "devices")
    return [result.get("adminAccess") for result in devices.get("results") or ()]
