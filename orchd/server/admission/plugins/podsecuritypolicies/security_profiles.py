"""SELinux, AppArmor and seccomp: labels and profiles of containers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchd.dialect import Dialect
from orchd.errors import quoted
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.plugins.podsecuritypolicies.findings import forbidden, invalid, required

_DEFAULT_PROFILES = ("docker/default", "runtime/default")


# --- SELinux


def check_selinux_rule(options: Object) -> None:
    """Raises ValueError for an invalid rule."""
    rule = options.get("rule")
    if rule not in ("MustRunAs", "RunAsAny"):
        raise ValueError(f"Unrecognized SELinuxContext strategy type {rule}")
    if rule == "MustRunAs" and options.get("seLinuxOptions") is None:
        raise ValueError("MustRunAs requires SELinuxOptions")


def default_selinux(options: Object) -> Object | None:
    return options["seLinuxOptions"] if options["rule"] == "MustRunAs" else None


def selinux_findings(options: Object, path: str, selinux: Object | None) -> list[str]:
    if options["rule"] != "MustRunAs":
        return []
    if selinux is None:
        return [required(path)]
    options_required = options["seLinuxOptions"]
    out = []
    for member in ("level", "role", "type", "user"):
        value, must = selinux.get(member) or "", options_required.get(member) or ""
        if value != must and not (member == "level" and _level(value) == _level(must)):
            out.append(invalid(f"{path}.{member}", value, f"must be {must}"))
    return out


def _level(text: str) -> tuple[str, list[str]] | str:
    """A normalized level: ``s0-s0:c1,c0`` becomes ``s0:c0,c1``. Without categories it is unchanged."""
    sensitivity, colon, categories = text.partition(":")
    if not colon:
        return text
    low, dash, high = sensitivity.partition("-")
    return (low if dash and low == high else sensitivity), sorted(categories.split(","))


# --- AppArmor


@dataclass(frozen=True, slots=True, kw_only=True)
class AppArmor:
    """AppArmor profiles of a policy; `allowed` None allows all. `prefix` is that of container annotations."""

    prefix: str
    default: str
    allowed: str | None

    @classmethod
    def read(cls, annotations: Mapping[str, str], dialect: Dialect) -> AppArmor:
        key = dialect("apparmor.security.beta.{long}.io/")
        return cls(
            prefix=dialect("container.apparmor.security.beta.{long}.io/"),
            default=annotations.get(f"{key}defaultProfileName", ""),
            allowed=annotations.get(f"{key}allowedProfileNames"),
        )

    def findings(self, annotations: Mapping[str, str], container: str) -> list[str]:
        if self.allowed is None:
            return []
        key = self.prefix + container
        path, profile = f"pod.metadata.annotations[{key}]", annotations.get(key, "")
        if not profile:
            return [forbidden(path, "AppArmor profile must be set")]
        if profile in self.allowed.split(","):
            return []
        return [forbidden(path, f"{profile} is not an allowed profile. Allowed values: {quoted(self.allowed)}")]


# --- seccomp


def seccomp_field(profile: str) -> Object | None:
    """The field equivalent to an annotation value; None if fields cannot express it."""
    if profile in _DEFAULT_PROFILES:
        return {"type": "RuntimeDefault"}
    if profile == "unconfined":
        return {"type": "Unconfined"}
    if profile.startswith("localhost/") and profile != "localhost/":
        return {"type": "Localhost", "localhostProfile": profile.removeprefix("localhost/")}
    return None


def _seccomp_annotation(field: Object) -> str:
    if field.get("type") == "Localhost":
        return f"localhost/{field.get('localhostProfile') or ''}"
    return {"RuntimeDefault": "runtime/default", "Unconfined": "unconfined"}.get(field.get("type") or "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seccomp:
    """Seccomp profiles of a policy. `listed` is the list as written."""

    pod_key: str
    prefix: str
    default: str
    listed: str
    allowed: frozenset[str]

    @classmethod
    def read(cls, annotations: Mapping[str, str], dialect: Dialect) -> Seccomp:
        key = dialect("seccomp.security.alpha.{long}.io/")
        listed = annotations.get(f"{key}allowedProfileNames")
        allowed = set() if listed is None else set(listed.split(","))
        if allowed & set(_DEFAULT_PROFILES):
            allowed |= set(_DEFAULT_PROFILES)
        return cls(
            pod_key=f"{key}pod",
            prefix=dialect("container.seccomp.security.alpha.{long}.io/"),
            default=annotations.get(f"{key}defaultProfileName", ""),
            listed=listed or "",
            allowed=frozenset(allowed),
        )

    def of_pod(self, annotations: Mapping[str, str], context: Mapping[str, Any]) -> str:
        """The pod's profile, from its annotation or else its field."""
        field = context.get("seccompProfile")
        return annotations.get(self.pod_key) or (_seccomp_annotation(field) if field else "")

    def of_container(self, annotations: Mapping[str, str], context: Mapping[str, Any], container: Object) -> str:
        field = (container.get("securityContext") or {}).get("seccompProfile")
        if field:
            return _seccomp_annotation(field)
        key = self.prefix + container["name"]
        if key in annotations:
            return annotations[key]
        field = context.get("seccompProfile")
        return _seccomp_annotation(field) if field else annotations.get(self.pod_key, "")

    def findings(self, key: str, profile: str) -> list[str]:
        path = f"pod.metadata.annotations[{key}]"
        if not self.allowed:
            return [forbidden(path, "seccomp may not be set")] if profile else []
        if "*" in self.allowed or profile in self.allowed:
            return []
        return [forbidden(path, f"{profile} is not an allowed seccomp profile. Valid values are {self.listed}")]
