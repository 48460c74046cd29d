"""AppArmor profiles of new pods: the fields of their containers follow from deprecated annotations."""

from __future__ import annotations

from typing import Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.apparmor import ANNOTATION, valid_profile
from orchd.server.registry.interfaces import Context

_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


def as_given(context: Context, pod: Object, dialect: Dialect) -> Object:
    """The pod itself: earlier releases have annotations only."""
    return pod


def with_profiles(context: Context, pod: Object, dialect: Dialect) -> Object:
    """A pod whose containers have the profiles of their annotations, with warnings. A profile that the pod has as well
    is not repeated."""
    annotations, spec = fields.annotations_of(pod), fields.spec(pod)
    prefix = dialect(ANNOTATION)
    if (spec.get("os") or {}).get("name") == "windows" or not any(key.startswith(prefix) for key in annotations):
        return pod
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")

    def with_profile(container: Object) -> Object:
        key, security = prefix + (container.get("name") or ""), container.get("securityContext") or {}
        if key not in annotations or security.get("appArmorProfile") is not None:
            return container
        profile = valid_profile(annotations[key])
        if profile is not None and profile == of_pod:
            return container
        context.warn(f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead')
        return (
            container if profile is None else {**container, "securityContext": {**security, "appArmorProfile": profile}}
        )

    changed = {name: [with_profile(each) for each in spec[name]] for name in _LISTS if spec.get(name)}
    return {**pod, "spec": {**spec, **changed}}
