"""Warnings of later releases about pods and pod templates that they accept (Warning headers)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.apparmor import ANNOTATION, annotated_profile
from orchd.kinds.objects.by_release import in_release
from orchd.kinds.objects.validate.address_warnings import of_address
from orchd.kinds.objects.validate.core.podfields import each_container
from orchd.kinds.objects.validate.later_warnings import of_claim
from orchd.kinds.objects.validate.names import label, label_value
from orchd.kinds.objects.validate.overlaps import PortDefinitions, WrittenPaths
from orchd.kinds.objects.validate.paths import SPEC, Path, root
from orchd.kinds.objects.validate.pod_warnings import OLD_ANNOTATIONS, PREFERRED, REQUIRED, SECCOMP, Warnings

_GONE: Final = "deprecated in v1.22, non-functional in v1.25+"
_OLD: Final = "deprecated in v1.28, non-functional in v1.31+"
#: Sources of volumes -> their names in paths, texts. The claim of an ephemeral volume comes before the last two.
_SOURCES: Final = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", _GONE),
    "storageos": ("storageOS", _GONE),
    "quobyte": ("quobyte", _GONE),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", _OLD),
    "rbd": ("rbd", _OLD),
}
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_NO_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'


class LaterWarnings(Warnings):
    """Collects the warnings of one object, in the order of the reference."""

    def pod(self, pod: Object, above: Path | None) -> None:
        spec, metadata = fields.spec(pod), fields.metadata(pod)
        at = SPEC if above is None else above / "spec"
        annotations_at = (root("metadata") if above is None else above / "metadata") / "annotations"
        annotations = metadata.get("annotations") or {}
        self._placement(spec, at)
        for key, text in OLD_ANNOTATIONS.items():
            if self.dialect(key) in annotations:
                self.warn(annotations_at[self.dialect(key)], text)
        for i, volume in enumerate(spec.get("volumes") or ()):
            self._volume(volume, (at / "volumes")[i])
        self.texts += islice(_overlaps(spec.get("volumes") or []), self.room())
        self.repeated_names(spec, at)
        self.fractions(spec, ("overhead",), at)
        self._profiles(spec, annotations, annotations_at)
        for container, here in each_container(spec, at):
            self._container_profiles(container, spec, annotations, annotations_at, template=above is not None)
            self._amounts_and_variables(container, here)
        self._ports(spec, at)
        if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
            words = "must be >= 0; negative values are invalid and will be treated as 1"
            self.warn(at / "terminationGracePeriodSeconds", words)
        self._affinity_without_selector(spec, at)
        for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
            self.texts += of_address(server, (at / "dnsConfig" / "nameservers")[i], self.dialect)
        for i, alias in enumerate(spec.get("hostAliases") or ()):
            self.texts += of_address(alias.get("ip") or "", (at / "hostAliases")[i] / "ip", self.dialect)

    def name(self, obj: Object, used: str) -> None:
        """Warn of a name that is no label, which names of hosts are."""
        wrong = label(fields.metadata(obj).get("name") or "")
        if wrong:
            reasons = in_release(wrong, " ", self.release)
            words = "which can result in surprising behavior; a DNS label is recommended"
            self.texts.append(f"metadata.name: this is used in {used}, {words}: [{reasons}]")

    def claims_and_history(self, value: Object, old: Object | None) -> None:
        spec = fields.spec(value)
        for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            at = (SPEC / "volumeClaimTemplates")[i]
            self.texts += of_claim(fields.spec(claim), at if old is None else at / "Spec")
        if (spec.get("revisionHistoryLimit") or 0) < 0:
            words = "a negative value retains all historical revisions; a value >= 0 is recommended"
            self.warn(SPEC / "revisionHistoryLimit", words)

    def schedule(self, value: Object, old: Object | None) -> None:
        if old is not None and "TZ" in (fields.spec(value).get("schedule") or ""):
            where = self.dialect("https://{long}.io/docs/concepts/workloads/controllers/cron-jobs/")
            words = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead"
            self.texts.append(f"{words}, see {where} for more details")

    def _placement(self, spec: Object, at: Path) -> None:
        self.labels(spec.get("nodeSelector") or {}, at / "nodeSelector")
        affinity = fields.mapping(spec, "affinity", "nodeAffinity")
        here = at / "affinity" / "nodeAffinity"
        terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
        self.node_terms(terms, here / REQUIRED / "nodeSelectorTerms")
        for i, weighted in enumerate(affinity.get(PREFERRED) or ()):
            term, term_at = weighted.get("preference") or {}, (here / PREFERRED)[i] / "preference"
            for j, requirement in enumerate(term.get("matchExpressions") or ()):
                where = (term_at / "matchExpressions")[j]
                self.requirement(requirement, where)
                for k, value in enumerate(requirement.get("values") or ()):
                    for why in label_value(value):
                        self.warn((where / "values")[k], f"{value} is invalid, {in_release([why], '', self.release)}")
        for i, spread in enumerate(spec.get("topologySpreadConstraints") or ()):
            where = (at / "topologySpreadConstraints")[i]
            self.topology_key(spread.get("topologyKey") or "", where / "topologyKey")
            if spread.get("labelSelector") is None:
                self.warn(where / "labelSelector", _NO_SELECTOR)

    def _volume(self, volume: Object, at: Path) -> None:
        for member, (path, text) in _SOURCES.items():
            if member == "cephfs" and (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
                claim = volume["ephemeral"]["volumeClaimTemplate"]
                self.texts += of_claim(fields.spec(claim), at / "ephemeral" / "volumeClaimTemplate" / "spec")
            if volume.get(member) is not None:
                self.warn(at / path, text)

    def _profiles(self, spec: Object, annotations: Object, at: Path) -> None:
        key = self.dialect(SECCOMP[0])
        if key in annotations and not (spec.get("securityContext") or {}).get("seccompProfile"):
            self.warn(at[key], _NO_SECCOMP)

    def _container_profiles(
        self, container: Object, spec: Object, annotations: Object, at: Path, *, template: bool
    ) -> None:
        if not annotations:
            return
        context, name = container.get("securityContext") or {}, container.get("name") or ""
        key = self.dialect(SECCOMP[1]) + name
        if key in annotations and not context.get("seccompProfile"):
            self.warn(at[key], _NO_SECCOMP)
        key = self.dialect(ANNOTATION) + name
        if template and key in annotations and not context.get("appArmorProfile"):
            profile = (spec.get("securityContext") or {}).get("appArmorProfile")
            if profile is None or profile != annotated_profile(annotations[key]):
                self.warn(at[key], 'deprecated since v1.30; use the "appArmorProfile" field instead')

    def _amounts_and_variables(self, container: Object, at: Path) -> None:
        resources = container.get("resources")
        if resources:
            self.fractions(resources, ("limits", "requests"), at / "resources")
        seen: set[str] = set()
        for i, variable in enumerate(container.get("env") or ()):
            name, value = variable.get("name") or "", variable.get("value") or ""
            own = f"$({name})"
            if name in seen and (variable.get("valueFrom") is not None or value == own or own not in value):
                words = f"hides previous definition of {quote(name)}, which may be dropped when using apply"
                self.warn((at / "env")[i], words)
            seen.add(name)

    def _ports(self, spec: Object, at: Path) -> None:
        """Warn of ports that are defined twice, and of names that are used twice."""
        defined: defaultdict[tuple[int, str], PortDefinitions] = defaultdict(PortDefinitions)
        names: dict[str, Path] = {}
        texts: list[str] = []
        for container, here in each_container(spec, at):
            for i, port in enumerate(container.get("ports") or ()):
                where = (here / "ports")[i]
                if port.get("hostIP") and not port.get("hostPort"):
                    self.warn(where, f"hostIP set without hostPort: {_port_dump(port)}")
                others = defined[port.get("containerPort") or 0, port.get("protocol") or ""]
                for clash, other_at in islice(others.clashes(port), self.room()):
                    self.warn(where, f"{clash} port definition with {other_at}")
                others.add(port, where)
                name = port.get("name") or ""
                if name and name in names:
                    first = names[name]
                    words = f"services and probes that select ports by name will use {first}"
                    texts.append(f"{where}: duplicate port name {quote(name)} with {first}, {words}")
                elif name:
                    names[name] = where
        self.texts += texts

    def _affinity_without_selector(self, spec: Object, at: Path) -> None:
        affinity = spec.get("affinity") or {}
        for member in ("podAffinity", "podAntiAffinity"):
            pods, here = affinity.get(member) or {}, at / "affinity" / member
            for i, term in enumerate(pods.get(REQUIRED) or ()):
                if term.get("labelSelector") is None:
                    self.warn((here / REQUIRED)[i] / "labelSelector", _NO_SELECTOR)
            for i, weighted in enumerate(pods.get(PREFERRED) or ()):
                if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                    self.warn((here / PREFERRED)[i] / "podAffinityTerm" / "labelSelector", _NO_SELECTOR)


def _port_dump(port: Object) -> str:
    values = {
        "Name": port.get("name") or "",
        "HostPort": port.get("hostPort") or 0,
        "ContainerPort": port.get("containerPort") or 0,
        "Protocol": port.get("protocol") or "",
        "HostIP": port.get("hostIP") or "",
    }
    return "{" + " ".join(f"{name}:{value}" for name, value in values.items()) + "}"


def _overlaps(volumes: list[Object]) -> Iterator[str]:
    """Warnings of files of one volume that are written to the same path, or one below the other."""
    for volume in volumes:
        name = quote(volume.get("name") or "")
        for member, words, key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            source = volume.get(member)
            if source is not None:
                what = f"{words} {quote(source.get(key) or '')}"
                yield from _overlapping(
                    [(path, "") for path in _paths(source)], f"volume {name} ({what})", WrittenPaths()
                )
        if volume.get("downwardAPI") is not None:
            paths = [(path, "") for path in _paths(volume["downwardAPI"])]
            yield from _overlapping(paths, f"volume {name} (DownwardAPI)", WrittenPaths())
        written = WrittenPaths()
        for part in (volume.get("projected") or {}).get("sources") or ():
            if not any(value is not None for value in part.values()):
                yield f"volume {name} (Projected) has no sources provided"
            else:
                yield from _overlapping(_projected(part), f"volume {name} (Projected)", written)


def _paths(source: Object) -> list[str]:
    return [item.get("path") or "" for item in source.get("items") or ()]


def _projected(part: Object) -> list[tuple[str, str]]:
    """The paths of a projected source, with the source as warnings name it."""
    for member, words in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if (part.get(member) or {}).get("items"):
            what = f"{words} {quote(part[member].get('name') or '')}"
            return [(path, what) for path in _paths(part[member])]
    if (part.get("downwardAPI") or {}).get("items"):
        return [(path, "DownwardAPI") for path in _paths(part["downwardAPI"])]
    if part.get("serviceAccountToken") is not None:
        return [(part["serviceAccountToken"].get("path") or "", "ServiceAccountToken")]
    bundle: Any = part.get("clusterTrustBundle")
    if bundle is not None:
        name = bundle.get("signerName") if bundle.get("name") is None else bundle["name"]
        return [(bundle.get("path") or "", f"ClusterTrustBundle {quote(name or '')}")]
    certificate: Any = part.get("podCertificate") or {}
    return [
        (certificate[member], f"PodCertificate {words}")
        for member, words in (
            ("certificateChainPath", "chain"),
            ("keyPath", "key"),
            ("credentialBundlePath", "credential bundle"),
        )
        if certificate.get(member)
    ]


def _overlapping(paths: list[tuple[str, str]], where: str, written: WrittenPaths) -> Iterator[str]:
    """Warnings of paths that overlap with those before them, each once. Adds the paths to `written`."""
    for path, source in paths:
        path = path.rstrip("/")
        for other, other_source in written.write(path, source):
            yield f"{where}: overlapping paths: {_described(path, source)} with {_described(other, other_source)}"


def _described(path: str, source: str) -> str:
    return f"{quote(path)} ({source})" if source else quote(path)
