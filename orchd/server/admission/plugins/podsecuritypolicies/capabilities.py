"""Capabilities: default, required-drop and allowed ones."""

from __future__ import annotations

from orchd.errors import quoted
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.plugins.podsecuritypolicies.findings import invalid, invalid_text, listing


def with_defaults(policy: Object, capabilities: Object | None) -> Object | None:
    """A container's capabilities with the policy's defaults; `found` itself if nothing changes."""
    add, drop = set((capabilities or {}).get("add") or ()), set((capabilities or {}).get("drop") or ())
    all_add = add | (set(policy.get("defaultAddCapabilities") or ()) - drop)
    all_drop = drop | set(policy.get("requiredDropCapabilities") or ())
    if len(all_add) == len(add) and len(all_drop) == len(drop):
        return capabilities
    return {key: sorted(caps) for key, caps in (("add", all_add), ("drop", all_drop)) if caps}


def findings(policy: Object, path: str, capabilities: Object | None) -> list[str]:
    """What is wrong with the capabilities of a container that has the policy's defaults."""
    allowed = {*(policy.get("allowedCapabilities") or ()), *(policy.get("defaultAddCapabilities") or ())}
    if capabilities is None or "*" in (policy.get("allowedCapabilities") or ()):
        return []
    out = [
        invalid(f"{path}.add", c, "capability may not be added")
        for c in capabilities.get("add") or ()
        if c not in allowed
    ]
    dropped = capabilities.get("drop") or []
    value = listing("[]core.Capability", [quoted(c) for c in dropped])
    out += [
        invalid_text(f"{path}.drop", value, f"{c} is required to be dropped but was not found")
        for c in policy.get("requiredDropCapabilities") or ()
        if c not in dropped
    ]
    return out
