"""The Pod Security Standards as checks over a pod's metadata and spec. Pure functions; names and texts are recorded
facts.

A check has an id, a level, and a function per range of minor versions. From release 1.24 on, a restricted check may
replace the baseline check of the same field. Checks run by level, then by id. What a release knows is in `Standards`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.release import Release

Pod = dict[str, Any]
PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)


@dataclass(frozen=True, slots=True)
class Violation:
    """`reason` is short, `detail` names the violating containers or fields ("" when the reason suffices)."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


Check = Callable[[Pod, Dialect], Violation | None]


def _containers(pod: Pod) -> Iterator[Pod]:
    spec = fields.spec(pod)
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(key) or ()


def _context(obj: Pod) -> dict[str, Any]:
    return obj.get("securityContext") or {}


def _pod_context(pod: Pod) -> dict[str, Any]:
    return _context(fields.spec(pod))


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f'"{n}"' for n in names)


def _plural(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def _containers_text(names: list[str]) -> str:
    return f"{_plural('container', 'containers', len(names))} {_quote(names)}"


def _setters(pod_is_bad: bool, names: list[str]) -> str:
    return " and ".join((["pod"] if pod_is_bad else []) + ([_containers_text(names)] if names else []))


# --- baseline -----------------------------------------------------------------------------------

_DEFAULT_CAPABILITIES = frozenset(
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID "
    "SYS_CHROOT".split()
)
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t")
_SYSCTLS = frozenset(
    "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range "
    "net.ipv4.ip_unprivileged_port_start".split()
)


def _bad_app_armor_annotations(pod: Pod, dialect: Dialect) -> list[str]:
    prefix = dialect("container.apparmor.security.beta.{long}.io/")
    return [
        f'{key}="{value}"'
        for key, value in sorted(fields.annotations_of(pod).items())
        if key.startswith(prefix) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    ]


def _app_armor(pod: Pod, dialect: Dialect) -> Violation | None:
    bad = _bad_app_armor_annotations(pod, dialect)
    if not bad:
        return None
    reason = _plural("forbidden AppArmor profile", "forbidden AppArmor profiles", len(bad))
    return Violation(reason, ", ".join(bad))


def _app_armor_fields(pod: Pod, dialect: Dialect) -> Violation | None:
    def kind_of(context: dict[str, Any]) -> str | None:
        profile = context.get("appArmorProfile")
        kind = None if profile is None else profile.get("type", "")
        return None if kind in ("RuntimeDefault", "Localhost") else kind

    kind = kind_of(_pod_context(pod))
    kinds = [(c["name"], of_one) for c in _containers(pod) if (of_one := kind_of(_context(c))) is not None]
    setters = _setters(kind is not None, [name for name, _ in kinds])
    values = sorted({of_one for _, of_one in kinds} | ({kind} if kind is not None else set()))
    annotated = _bad_app_armor_annotations(pod, dialect)
    if annotated:
        setters = " and ".join([*([setters] if setters else []), _plural("annotation", "annotations", len(annotated))])
        values += annotated
    if not setters:
        return None
    reason = _plural("forbidden AppArmor profile", "forbidden AppArmor profiles", len(values))
    return Violation(reason, f"{setters} must not set AppArmor profile type to {_quote(values)}")


def _added_capabilities(pod: Pod, allowed: frozenset[str]) -> tuple[list[str], list[str]]:
    """Containers that add capabilities beyond `allowed`, and these capabilities."""
    names: list[str] = []
    caps: set[str] = set()
    for container in _containers(pod):
        added = set((_context(container).get("capabilities") or {}).get("add") or ()) - allowed
        if added:
            names.append(container["name"])
            caps |= added
    return names, sorted(caps)


def _capabilities_baseline(pod: Pod, dialect: Dialect) -> Violation | None:
    names, caps = _added_capabilities(pod, _DEFAULT_CAPABILITIES)
    if not names:
        return None
    detail = f"{_containers_text(names)} must not include {_quote(caps)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def _host_namespaces(pod: Pod, dialect: Dialect) -> Violation | None:
    spec = fields.spec(pod)
    bad = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    return Violation("host namespaces", ", ".join(bad)) if bad else None


def _volumes(pod: Pod) -> list[Pod]:
    return fields.spec(pod).get("volumes") or []


def _host_path(pod: Pod, dialect: Dialect) -> Violation | None:
    bad = [v["name"] for v in _volumes(pod) if "hostPath" in v]
    return Violation("hostPath volumes", f"{_plural('volume', 'volumes', len(bad))} {_quote(bad)}") if bad else None


def _host_ports(pod: Pod, dialect: Dialect) -> Violation | None:
    names: list[str] = []
    ports: set[int] = set()
    for container in _containers(pod):
        used = {p["hostPort"] for p in container.get("ports") or () if p.get("hostPort")}
        if used:
            names.append(container["name"])
            ports |= used
    if not names:
        return None
    ports_text = ", ".join(sorted(str(p) for p in ports))
    uses = _plural("uses", "use", len(names))
    return Violation(
        "hostPort", f"{_containers_text(names)} {uses} {_plural('hostPort', 'hostPorts', len(ports))} {ports_text}"
    )


def _check_privileged(pod: Pod, dialect: Dialect) -> Violation | None:
    bad = [c["name"] for c in _containers(pod) if _context(c).get("privileged")]
    return (
        Violation("privileged", f"{_containers_text(bad)} must not set securityContext.privileged=true")
        if bad
        else None
    )


def _proc_mount(pod: Pod, dialect: Dialect) -> Violation | None:
    bad = [(c["name"], m) for c in _containers(pod) if (m := _context(c).get("procMount")) not in (None, "Default")]
    if not bad:
        return None
    kinds = _quote(sorted({kind for _, kind in bad}))
    return Violation(
        "procMount", f"{_containers_text([n for n, _ in bad])} must not set securityContext.procMount to {kinds}"
    )


def _forbidden_selinux(pod: Pod, allowed: Sequence[str], *, flags_alone: bool) -> Violation | None:
    """`flags_alone`: user and role are also named without a type."""
    types: dict[str, None] = {}
    flags = {"user": False, "role": False}

    def is_bad(options: dict[str, Any] | None) -> bool:
        bad = False
        if not options:
            return False
        if options.get("type", "") not in allowed:
            types[options["type"]] = None
            bad = True
        for key in flags:
            if options.get(key):
                flags[key] = bad = True
        return bad

    pod_is_bad = is_bad(_pod_context(pod).get("seLinuxOptions"))
    names = [c["name"] for c in _containers(pod) if is_bad(_context(c).get("seLinuxOptions"))]
    if not pod_is_bad and not names:
        return None
    data: list[str] = []
    if types:
        data.append(f"{_plural('type', 'types', len(types))} {_quote(sorted(types))}")
    if types or flags_alone:
        data.extend(f"{key} may not be set" for key, was in flags.items() if was)
    setters = _setters(pod_is_bad, names)
    return Violation("seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")


def _selinux(pod: Pod, dialect: Dialect) -> Violation | None:
    return _forbidden_selinux(pod, _SELINUX_TYPES, flags_alone=False)


def _selinux_named(pod: Pod, dialect: Dialect) -> Violation | None:
    return _forbidden_selinux(pod, _SELINUX_TYPES, flags_alone=True)


def _selinux_with_engines(pod: Pod, dialect: Dialect) -> Violation | None:
    return _forbidden_selinux(pod, (*_SELINUX_TYPES, "container_engine_t"), flags_alone=True)


def _host_of_probes(pod: Pod, dialect: Dialect) -> Violation | None:
    names: set[str] = set()
    hosts: set[str] = set()
    for container in _containers(pod):
        hooks = container.get("lifecycle") or {}
        handlers = [container.get(probe) for probe in ("livenessProbe", "readinessProbe", "startupProbe")]
        for handler in (*handlers, hooks.get("postStart"), hooks.get("preStop")):
            for action in ("httpGet", "tcpSocket"):
                if host := ((handler or {}).get(action) or {}).get("host"):
                    names.add(container["name"])
                    hosts.add(host)
    if not names:
        return None
    uses, what = (
        _plural("uses", "use", len(names)),
        _plural("probe or lifecycle host", "probe or lifecycle hosts", len(hosts)),
    )
    return Violation(
        "probe or lifecycle host", f"{_containers_text(sorted(names))} {uses} {what} {_quote(sorted(hosts))}"
    )


def _seccomp_type(context: dict[str, Any]) -> str | None:
    profile = context.get("seccompProfile")
    return None if profile is None else profile.get("type", "")


def _seccomp_annotations(pod: Pod, dialect: Dialect) -> Violation | None:
    pod_key = dialect("seccomp.security.alpha.{long}.io/pod")
    prefix = dialect("container.seccomp.security.alpha.{long}.io/")
    annotations = fields.annotations_of(pod)
    bad = [
        f'{key}="{value}"'
        for key, value in sorted(annotations.items())
        if (key == pod_key or key.startswith(prefix))
        and value not in ("runtime/default", "docker/default")
        and not value.startswith("localhost/")
    ]
    if not bad:
        return None
    return Violation("seccompProfile", f"forbidden {_plural('annotation', 'annotations', len(bad))} {', '.join(bad)}")


def _bad_seccomp(pod: Pod, allowed: Callable[[str], bool]) -> Violation | None:
    def bad_types(context: dict[str, Any]) -> list[str]:
        kind = _seccomp_type(context)
        return [] if kind is None or allowed(kind) else [kind]

    own = bad_types(_pod_context(pod))
    of_containers = [(c["name"], kind) for c in _containers(pod) for kind in bad_types(_context(c))]
    if not own and not of_containers:
        return None
    setters = _setters(bool(own), [name for name, _ in of_containers])
    values = sorted({*own, *(kind for _, kind in of_containers)})
    what = f"must not set securityContext.seccompProfile.type to {_quote(values)}"
    return Violation("seccompProfile", f"{setters} {what}")


def _seccomp_baseline(pod: Pod, dialect: Dialect) -> Violation | None:
    return _bad_seccomp(pod, lambda kind: kind in ("", "RuntimeDefault", "Localhost"))


def _sysctls_of(allowed: frozenset[str]) -> Check:
    """A check that allows these sysctls."""

    def sysctls(pod: Pod, dialect: Dialect) -> Violation | None:
        bad = [s["name"] for s in _pod_context(pod).get("sysctls") or () if s.get("name") not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return sysctls


def _except_windows(check: Check) -> Check:
    """The check for pods whose operating system is not Windows, which has no such fields."""

    def checked(pod: Pod, dialect: Dialect) -> Violation | None:
        return None if (fields.spec(pod).get("os") or {}).get("name") == "windows" else check(pod, dialect)

    return checked


def _without_own_users(check: Check) -> Check:
    """The check for pods in the user namespace of the host; it is relaxed for others."""

    def checked(pod: Pod, dialect: Dialect) -> Violation | None:
        return None if fields.spec(pod).get("hostUsers") is False else check(pod, dialect)

    return checked


def _host_process(pod: Pod, dialect: Dialect) -> Violation | None:
    def is_bad(context: dict[str, Any]) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    pod_is_bad = is_bad(_pod_context(pod))
    names = [c["name"] for c in _containers(pod) if is_bad(_context(c))]
    if not pod_is_bad and not names:
        return None
    what = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{_setters(pod_is_bad, names)} {what}")


# --- restricted ---------------------------------------------------------------------------------

_NO_CAPABILITY_BUT_BIND = frozenset(("NET_BIND_SERVICE",))
_RESTRICTED_VOLUMES = frozenset(
    "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret".split()
)


def _privilege_escalation(pod: Pod, dialect: Dialect) -> Violation | None:
    bad = [c["name"] for c in _containers(pod) if _context(c).get("allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    detail = f"{_containers_text(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def _capabilities_restricted(pod: Pod, dialect: Dialect) -> Violation | None:
    missing = [
        c["name"] for c in _containers(pod) if "ALL" not in ((_context(c).get("capabilities") or {}).get("drop") or ())
    ]
    names, caps = _added_capabilities(pod, _NO_CAPABILITY_BUT_BIND)
    details = [f'{_containers_text(missing)} must set securityContext.capabilities.drop=["ALL"]'] if missing else []
    if names:
        details.append(f"{_containers_text(names)} must not include {_quote(caps)} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _restricted_volumes(pod: Pod, dialect: Dialect) -> Violation | None:
    names: list[str] = []
    types: set[str] = set()
    for volume in _volumes(pod):
        sources = [key for key in volume if key != "name"]
        if not any(source in _RESTRICTED_VOLUMES for source in sources):
            names.append(volume["name"])
            types.add(sources[0] if sources else "unknown")
    if not names:
        return None
    return Violation(
        "restricted volume types",
        f"{_plural('volume', 'volumes', len(names))} {_quote(names)} {_plural('uses', 'use', len(names))} "
        f"{_plural('restricted volume type', 'restricted volume types', len(types))} {_quote(sorted(types))}",
    )


def _run_as_non_root(pod: Pod, dialect: Dialect) -> Violation | None:
    choice = _pod_context(pod).get("runAsNonRoot")
    explicit = [c["name"] for c in _containers(pod) if _context(c).get("runAsNonRoot") is False]
    if choice is False or explicit:
        setters = _setters(choice is False, explicit)
        return Violation("runAsNonRoot != true", f"{setters} must not set securityContext.runAsNonRoot=false")
    if choice:
        return None
    implicit = [c["name"] for c in _containers(pod) if _context(c).get("runAsNonRoot") is None]
    if not implicit:
        return None
    return Violation(
        "runAsNonRoot != true", f"pod or {_containers_text(implicit)} must set securityContext.runAsNonRoot=true"
    )


def _run_as_user(pod: Pod, dialect: Dialect) -> Violation | None:
    pod_is_bad = _pod_context(pod).get("runAsUser") == 0
    names = [c["name"] for c in _containers(pod) if _context(c).get("runAsUser") == 0]
    if not pod_is_bad and not names:
        return None
    return Violation("runAsUser=0", f"{_setters(pod_is_bad, names)} must not set runAsUser=0")


def _seccomp_restricted(pod: Pod, dialect: Dialect) -> Violation | None:
    bad = _bad_seccomp(pod, lambda kind: kind in ("RuntimeDefault", "Localhost"))
    if bad is not None:
        return bad
    if _seccomp_type(_pod_context(pod)) is not None:
        return None
    implicit = [c["name"] for c in _containers(pod) if _seccomp_type(_context(c)) is None]
    if not implicit:
        return None
    what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_containers_text(implicit)} {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """`since` and `until` are the releases that know the check so; `replaces` is the baseline check that it
    replaces."""

    id: str
    level: str
    #: (first minor version, check); None drops the check from that version on.
    versions: tuple[tuple[int, Check], ...]
    since: str = ""
    until: str = ""
    replaces: str = ""


_MORE_SYSCTLS = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_KEEPALIVE_SYSCTLS = _MORE_SYSCTLS | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_BUFFER_SYSCTLS = _KEEPALIVE_SYSCTLS | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


# fmt: off
_ROWS = (
    _Row(id="appArmorProfile", level=BASELINE, versions=((0, _app_armor),), until="1.30"),
    _Row(id="appArmorProfile", level=BASELINE, versions=((0, _app_armor_fields),), since="1.30"),
    _Row(id="capabilities_baseline", level=BASELINE, versions=((0, _capabilities_baseline),)),
    _Row(id="hostNamespaces", level=BASELINE, versions=((0, _host_namespaces),)),
    _Row(id="hostPathVolumes", level=BASELINE, versions=((0, _host_path),)),
    _Row(id="hostPorts", level=BASELINE, versions=((0, _host_ports),)),
    _Row(id="hostProbesAndHostLifecycle", level=BASELINE, versions=((34, _host_of_probes),)),
    _Row(id="privileged", level=BASELINE, versions=((0, _check_privileged),)),
    _Row(id="procMount", level=BASELINE, versions=((0, _proc_mount), (35, _without_own_users(_proc_mount)))),
    _Row(id="seLinuxOptions", level=BASELINE, versions=((0, _selinux),), until="1.24"),
    _Row(id="seLinuxOptions", level=BASELINE, versions=((0, _selinux_named), (31, _selinux_with_engines)), since="1.24"),
    _Row(id="seccompProfile_baseline", level=BASELINE, versions=((0, _seccomp_annotations), (19, _seccomp_baseline))),
    _Row(id="sysctls", level=BASELINE, versions=(
        (0, _sysctls_of(_SYSCTLS)), (27, _sysctls_of(_MORE_SYSCTLS)), (29, _sysctls_of(_KEEPALIVE_SYSCTLS)),
        (32, _sysctls_of(_BUFFER_SYSCTLS)))),
    _Row(id="windowsHostProcess", level=BASELINE, versions=((0, _host_process),)),
    _Row(id="allowPrivilegeEscalation", level=RESTRICTED,
         versions=((8, _privilege_escalation), (25, _except_windows(_privilege_escalation)))),
    _Row(id="capabilities_restricted", level=RESTRICTED, replaces="capabilities_baseline",
         versions=((22, _capabilities_restricted), (25, _except_windows(_capabilities_restricted)))),
    _Row(id="procMount_restricted", level=RESTRICTED, replaces="procMount", versions=((35, _proc_mount),)),
    _Row(id="restrictedVolumes", level=RESTRICTED, replaces="hostPathVolumes", versions=((0, _restricted_volumes),)),
    _Row(id="runAsNonRoot", level=RESTRICTED, versions=((0, _run_as_non_root), (35, _without_own_users(_run_as_non_root)))),
    _Row(id="runAsUser", level=RESTRICTED, versions=((23, _run_as_user), (35, _without_own_users(_run_as_user)))),
    _Row(id="seccompProfile_restricted", level=RESTRICTED, replaces="seccompProfile_baseline",
         versions=((19, _seccomp_restricted), (25, _except_windows(_seccomp_restricted)))),
)
# fmt: on


class Standards:
    """The checks that a release knows. `latest` is the newest minor version of its standards; later versions use it."""

    def __init__(self, release: Release) -> None:
        self.latest = release.minor
        self._rows = [row for row in _ROWS if release.includes(row.since, row.until)]
        #: Before, both checks report the same cause.
        self._replaces = release.includes("1.24")

    def checks(self, level: str, minor: int) -> list[Check]:
        """The checks of a level in a minor version, in order."""
        if level == PRIVILEGED:
            return []
        checks: dict[str, Check] = {}
        for row in self._rows:
            if row.level == RESTRICTED and level != RESTRICTED:
                continue
            begun = [check for since, check in row.versions if since <= min(minor, self.latest)]
            if begun:
                checks[row.id] = begun[-1]
                if self._replaces:
                    checks.pop(row.replaces, None)
        return list(checks.values())

    def evaluate(self, pod: Pod, level: str, minor: int, dialect: Dialect) -> list[Violation]:
        """The violations of `pod` (an object with metadata and spec, such as a pod or a template)."""
        results = (check(pod, dialect) for check in self.checks(level, minor))
        return [r for r in results if r is not None]
