"""One policy as two functions of a pod: defaulting and validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchd.dialect import Dialect
from orchd.kinds.fields import annotations_of, mapping, spec, with_metadata
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.plugin import CONTAINER_LISTS
from orchd.server.admission.plugins.podsecuritypolicies import (
    capabilities,
    identities,
    security_profiles,
    sysctls,
    volumes,
)
from orchd.server.admission.plugins.podsecuritypolicies.findings import invalid

_ANY = {"rule": "RunAsAny"}


class Provider:
    """The rules of one policy. The constructor raises ValueError for an invalid one."""

    def __init__(self, policy: Object, dialect: Dialect) -> None:
        self.name: str = policy["metadata"]["name"]
        self._dialect = dialect
        self._spec = body = spec(policy)
        self._user = mapping(body, "runAsUser")
        self._group = body.get("runAsGroup") or _ANY
        self._selinux = mapping(body, "seLinux")
        self._fs_group = mapping(body, "fsGroup")
        self._supplemental = mapping(body, "supplementalGroups")
        self._escalation = body.get("allowPrivilegeEscalation") is not False
        identities.check_user_rule(self._user)
        identities.check_group_rule(self._group, "RunAsGroup")
        security_profiles.check_selinux_rule(self._selinux)
        identities.check_group_rule(self._fs_group, "FSGroup")
        identities.check_group_rule(self._supplemental, "SupplementalGroups")
        self._apparmor = security_profiles.AppArmor.read(annotations_of(policy), dialect)
        self._seccomp = security_profiles.Seccomp.read(annotations_of(policy), dialect)

    # --- defaulting

    def with_defaults(self, pod: Object) -> Object:
        """The pod with the policy's defaults for unset fields. Equal to the pod if nothing changes."""
        body, annotations = dict(spec(pod)), dict(annotations_of(pod))
        context = dict(mapping(body, "securityContext"))
        if context.get("supplementalGroups") is None:
            group = identities.default_id(self._supplemental)
            _put(context, "supplementalGroups", None if group is None else [group])
        if context.get("fsGroup") is None:
            _put(context, "fsGroup", identities.default_id(self._fs_group))
        if context.get("seLinuxOptions") is None:
            _put(context, "seLinuxOptions", security_profiles.default_selinux(self._selinux))
        profile = self._seccomp.of_pod(annotations, context) or self._seccomp.default
        if profile:
            annotations[self._seccomp.pod_key] = profile
            field = security_profiles.seccomp_field(profile)
            context.pop("seccompProfile", None)
            _put(context, "seccompProfile", field)
        if context or body.get("securityContext") is not None:
            body["securityContext"] = context
        if body.get("runtimeClassName") is None:
            _put(body, "runtimeClassName", mapping(self._spec, "runtimeClass").get("defaultRuntimeClassName"))
        for key in CONTAINER_LISTS:
            if body.get(key):
                body[key] = [self._container_defaults(context, c) for c in body[key]]
                for container in body[key]:
                    profile_key = self._apparmor.prefix + container["name"]
                    if self._apparmor.default and not annotations.get(profile_key):
                        annotations[profile_key] = self._apparmor.default
        changed = {**pod, "spec": body}
        return with_metadata(changed, annotations=annotations) if annotations != annotations_of(pod) else changed

    def _container_defaults(self, pod_context: Mapping[str, Any], container: Object) -> Object:
        own = container.get("securityContext")
        context = dict(own or {})
        for member, default in (
            ("runAsUser", identities.default_id(self._user)),
            ("runAsGroup", identities.default_id(self._group)),
            ("seLinuxOptions", security_profiles.default_selinux(self._selinux)),
        ):
            if _effective(pod_context, context, member) is None:
                _put(context, member, default)
        if self._user["rule"] == "MustRunAsNonRoot" and all(
            _effective(pod_context, context, member) is None for member in ("runAsNonRoot", "runAsUser")
        ):
            context["runAsNonRoot"] = True
        _put(context, "capabilities", capabilities.with_defaults(self._spec, context.get("capabilities")))
        if self._spec.get("readOnlyRootFilesystem") and context.get("readOnlyRootFilesystem") is None:
            context["readOnlyRootFilesystem"] = True
        if context.get("allowPrivilegeEscalation") is None:
            default = self._spec.get("defaultAllowPrivilegeEscalation")
            _put(context, "allowPrivilegeEscalation", False if default is None and not self._escalation else default)
        return container if context == (own or {}) else {**container, "securityContext": context}

    # --- validation

    def findings(self, pod: Object) -> list[str]:
        """The violations of a defaulted pod, in the reference's order."""
        body, annotations = spec(pod), annotations_of(pod)
        context = mapping(body, "securityContext")
        path = "spec.securityContext"
        fs_group = context.get("fsGroup")
        out = identities.group_findings(self._fs_group, f"{path}.fsGroup", [] if fs_group is None else [fs_group])
        groups = context.get("supplementalGroups") or []
        out += identities.group_findings(self._supplemental, f"{path}.supplementalGroups", groups)
        out += self._seccomp.findings(self._seccomp.pod_key, self._seccomp.of_pod(annotations, context))
        out += security_profiles.selinux_findings(
            self._selinux, f"{path}.seLinuxOptions", context.get("seLinuxOptions")
        )
        for member, word in (("hostNetwork", "network"), ("hostPID", "PID"), ("hostIPC", "IPC")):
            if body.get(member) and not self._spec.get(member):
                out.append(invalid(f"{path}.{member}", True, f"Host {word} is not allowed to be used"))
        out += sysctls.findings(self._spec, context)
        containers = [(f"spec.{key}[{i}]", c) for key in CONTAINER_LISTS for i, c in enumerate(body.get(key) or ())]
        out += volumes.findings(self._spec, body.get("volumes") or (), containers, self._dialect)
        out += self._runtime_class(body.get("runtimeClassName"))
        for at, container in containers:
            out += self._container(at, container, annotations, context)
        return out

    def _runtime_class(self, name: str | None) -> list[str]:
        chosen = self._spec.get("runtimeClass")
        if chosen is None or name is None:
            return []
        allowed = chosen.get("allowedRuntimeClassNames") or ()
        return [] if "*" in allowed or name in allowed else [invalid("spec.runtimeClassName", name, "")]

    def _container(
        self, at: str, container: Object, annotations: Mapping[str, str], pod_context: Mapping[str, Any]
    ) -> list[str]:
        path, context, policy = f"{at}.securityContext", mapping(container, "securityContext"), self._spec

        def effective(member: str) -> Any:
            return _effective(pod_context, context, member)

        out = identities.user_findings(self._user, path, effective("runAsNonRoot"), effective("runAsUser"))
        group = effective("runAsGroup")
        out += identities.group_findings(self._group, path, [] if group is None else [group])
        out += security_profiles.selinux_findings(self._selinux, f"{path}.seLinuxOptions", effective("seLinuxOptions"))
        out += self._apparmor.findings(annotations, container["name"])
        profile = self._seccomp.of_container(annotations, pod_context, container)
        out += self._seccomp.findings(self._seccomp.prefix + container["name"], profile)
        if context.get("privileged") and not policy.get("privileged"):
            out.append(invalid(f"{path}.privileged", True, "Privileged containers are not allowed"))
        mount = context.get("procMount") or "Default"
        if mount not in (policy.get("allowedProcMountTypes") or ("Default",)):
            out.append(invalid(f"{path}.procMount", mount, "ProcMountType is not allowed"))
        out += capabilities.findings(policy, f"{path}.capabilities", context.get("capabilities"))
        out += self._ports(at, container)
        read_only = context.get("readOnlyRootFilesystem")
        if policy.get("readOnlyRootFilesystem") and not read_only:
            why = "may not be nil and must be set to true" if read_only is None else "must be set to true"
            out.append(invalid(f"{path}.readOnlyRootFilesystem", read_only, f"ReadOnlyRootFilesystem {why}"))
        escalation = context.get("allowPrivilegeEscalation")
        if not self._escalation and escalation is not False:
            why = "Allowing privilege escalation for containers is not allowed"
            out.append(invalid(f"{path}.allowPrivilegeEscalation", escalation, why))
        return out

    def _ports(self, at: str, container: Object) -> list[str]:
        ranges = [(r.get("min") or 0, r.get("max") or 0) for r in self._spec.get("hostPorts") or ()]
        allowed = ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
        return [
            invalid(f"{at}.hostPort", p, f"Host port {p} is not allowed to be used. Allowed ports: [{allowed}]")
            for p in (port.get("hostPort") or 0 for port in container.get("ports") or ())
            if p > 0 and not any(low <= p <= high for low, high in ranges)
        ]


def _effective(pod_context: Mapping[str, Any], context: Mapping[str, Any], member: str) -> Any:
    """A container's setting, or else its pod's."""
    own = context.get(member)
    return pod_context.get(member) if own is None else own


def _put(target: Object, member: str, value: Any) -> None:
    if value is not None:
        target[member] = value
