"""Warnings about pods, templates and schedules that are accepted (Warning headers), as release 1.23 has them.

`later_pod_warnings` has those of later releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.paths import SPEC, Path, root
from orchd.kinds.quantities import is_integer

_INSTEAD: Final = 'deprecated since {}; use "{}" instead'
#: Node label -> (deprecated since, replacement).
_OLD_LABELS: Final = {
    "beta.{long}.io/arch": ("v1.14", "{long}.io/arch"),
    "beta.{long}.io/os": ("v1.14", "{long}.io/os"),
    "failure-domain.beta.{long}.io/region": ("v1.17", "topology.{long}.io/region"),
    "failure-domain.beta.{long}.io/zone": ("v1.17", "topology.{long}.io/zone"),
    "beta.{long}.io/instance-type": ("v1.17", "node.{long}.io/instance-type"),
}
_OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, support removal is planned in v1.26",
    "storageos": "deprecated in v1.22, support removal is planned in v1.26",
    "quobyte": "deprecated in v1.22, support removal is planned in v1.26",
}
#: Annotations without effect -> text of the warning.
OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.{long}.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.{long}.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.{long}.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
#: Texts after these are not sent: all warnings of a response together have at most 4,096 characters, and each has more
#: than 16.
MOST_TEXTS: Final = 256
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
SECCOMP: Final = ("seccomp.security.alpha.{long}.io/pod", "container.seccomp.security.alpha.{long}.io/")


@cache
def replaced_labels(dialect: Dialect) -> Mapping[str, str]:
    """Deprecated node labels, and what their warnings say."""
    return {dialect(k): _INSTEAD.format(since, dialect(new)) for k, (since, new) in _OLD_LABELS.items()}


class Warnings:
    """Collects the warnings of one object. Whatever grows faster than the object collects no more than `room`."""

    def __init__(self, settings: ObjectSettings) -> None:
        self.texts: list[str] = []
        self.release = settings.release
        self.dialect = settings.dialect
        self._labels = replaced_labels(settings.dialect)

    def room(self) -> int:
        """How many further texts may be sent."""
        return max(0, MOST_TEXTS - len(self.texts))

    def warn(self, at: Path, text: str) -> None:
        self.texts.append(f"{at}: {text}")

    def labels(self, selector: Object, at: Path) -> None:
        for key in selector:
            if key in self._labels:
                self.warn(at[key], self._labels[key])

    def node_terms(self, terms: list[Object], at: Path) -> None:
        for i, term in enumerate(terms):
            self._term(term, at[i])

    def _term(self, term: Object, at: Path) -> None:
        for i, requirement in enumerate(term.get("matchExpressions") or ()):
            self.requirement(requirement, (at / "matchExpressions")[i])

    def requirement(self, requirement: Object, at: Path) -> None:
        self.topology_key(requirement.get("key") or "", at / "key")

    def topology_key(self, key: str, at: Path) -> None:
        if key in self._labels:
            self.warn(at, f"{key} is {self._labels[key]}")

    def pod(self, pod: Object, above: Path | None) -> None:
        """Warnings of a pod, or of the template at `above`."""
        spec, metadata = fields.spec(pod), fields.metadata(pod)
        at = SPEC if above is None else above / "spec"
        if spec.get("nodeSelector"):
            self.labels(spec["nodeSelector"], at / "nodeSelector")
        if spec.get("affinity"):
            self._node_affinity(spec["affinity"].get("nodeAffinity") or {}, at / "affinity" / "nodeAffinity")
        for i, spread in enumerate(spec.get("topologySpreadConstraints") or ()):
            self.topology_key(spread.get("topologyKey") or "", (at / "topologySpreadConstraints")[i] / "topologyKey")
        annotations = metadata.get("annotations") or {}
        annotations_at = (root("metadata") if above is None else above / "metadata") / "annotations"
        if annotations:
            for key, text in OLD_ANNOTATIONS.items():
                if self.dialect(key) in annotations:
                    self.warn(annotations_at[self.dialect(key)], text)
        self._volumes(spec, at)
        self.repeated_names(spec, at)
        self.fractions(spec, ("overhead",), at)
        pod_key, prefix = map(self.dialect, SECCOMP)
        if annotations:
            self._seccomp(spec, pod_key, annotations, annotations_at)
        for listed in ("initContainers", "containers", "ephemeralContainers"):
            for i, container in enumerate(spec.get(listed) or ()):
                if annotations:
                    self._seccomp(container, prefix + (container.get("name") or ""), annotations, annotations_at)
                self._container(container, (at / listed)[i])

    def _node_affinity(self, affinity: Object, at: Path) -> None:
        terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
        self.node_terms(terms, at / REQUIRED / "nodeSelectorTerms")
        for i, term in enumerate(affinity.get(PREFERRED) or ()):
            self._term(term.get("preference") or {}, (at / PREFERRED)[i] / "preference")

    def _seccomp(self, holder: Object, key: str, annotations: Object, at: Path) -> None:
        """Warn if `holder` (a pod spec, a container) has a seccomp profile in an annotation and none in the field."""
        if key in annotations and not (holder.get("securityContext") or {}).get("seccompProfile"):
            self.warn(
                at[key], 'deprecated since v1.19, non-functional in v1.25+; use the "seccompProfile" field instead'
            )

    def _volumes(self, spec: Object, at: Path) -> None:
        for i, volume in enumerate(spec.get("volumes") or ()):
            for member, text in _OLD_VOLUMES.items():
                if volume.get(member) is not None:
                    self.warn((at / "volumes")[i] / ("storageOS" if member == "storageos" else member), text)

    def repeated_names(self, spec: Object, at: Path) -> None:
        seen: set[str] = set()
        for i, alias in enumerate(spec.get("hostAliases") or ()):
            address = alias.get("ip") or ""
            if address in seen:
                self.warn((at / "hostAliases")[i] / "ip", f"duplicate ip {quote(address)}")
            seen.add(address)
        seen = set()
        names = [secret.get("name") or "" for secret in spec.get("imagePullSecrets") or ()]
        for i, name in enumerate(names):
            if name in seen:
                self.warn((at / "imagePullSecrets")[i] / "name", f"duplicate name {quote(name)}")
            seen.add(name)
        for i, name in enumerate(names):
            if not name:
                self.warn((at / "imagePullSecrets")[i] / "name", f"invalid empty name {quote(name)}")

    def _container(self, container: Object, at: Path) -> None:
        resources = container.get("resources")
        if resources:
            self.fractions(resources, ("limits", "requests"), at / "resources")
        seen: set[str] = set()
        for i, variable in enumerate(container.get("env") or ()):
            name = variable.get("name") or ""
            if name in seen:
                self.warn((at / "env")[i] / "name", f"duplicate name {quote(name)}")
            seen.add(name)

    def fractions(self, holder: Object, members: tuple[str, ...], at: Path) -> None:
        """Warn of fractional bytes in the amounts that are `members` of `holder`, by resource and then by member."""
        for name in ("memory", "ephemeral-storage"):
            for member in members:
                value = (holder.get(member) or {}).get(name)
                if value is not None and not is_integer(value):
                    text = f"fractional byte value {quote(str(value))} is invalid, must be an integer"
                    self.warn((at / member)[name], text)

    def name(self, obj: Object, used: str) -> None:
        """Names are not warned of."""

    def claims_and_history(self, value: Object, old: Object | None) -> None:
        """Stateful sets have no further warnings."""

    def schedule(self, value: Object, old: Object | None) -> None:
        if "TZ" in (fields.spec(value).get("schedule") or ""):
            where = self.dialect("https://{long}.io/docs/concepts/workloads/controllers/cron-jobs/")
            self.texts.append(
                f"CRON_TZ or TZ used in spec.spec.schedule is not officially supported, see {where} for more details"
            )
