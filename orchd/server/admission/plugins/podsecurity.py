"""PodSecurity: applies the Pod Security Standards per namespace, by labels for the modes enforce, audit and warn.

Only pods are rejected; objects with a pod template get warnings and audit annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from zope.interface import implementer

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError, Cause
from orchd.kinds import fields
from orchd.kinds.digits import integer, is_whole
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.names import label, subdomain
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report
from orchd.server.admission.interfaces import CREATE, UPDATE, IValidatingPlugin, PluginContext, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.admission.plugins.podsecuritychecks import LEVELS, PRIVILEGED, RESTRICTED, Standards, Violation
from orchd.txkit.metrics.instruments import Counter
from orchd.values import value_class

_REQUEST = ("request_operation", "resource", "subresource")
#: Labels of metrics for the resources that are not controllers.
_RESOURCES = {"pods": "pod", "namespaces": "namespace"}
NAMESPACES = ResourceRef("", "v1", "namespaces")
_MODES = ("enforce", "audit", "warn")
#: What may be exempt, and the errors of its names.
_EXEMPT: Mapping[str, Callable[[str], Sequence[str]]] = {
    "usernames": lambda name: () if name else ("username must not be empty",),
    "namespaces": label,
    "runtimeClasses": subdomain,
}
#: Whether namespaces that only enforce a level warn of it too, by release.
_WARNS_OF_ENFORCED: Final = (("", False), ("1.35", True))
#: Maximum number of existing pods that are checked when the enforced level of a namespace changes.
_MAX_PODS = 3000


@value_class()
class Policy:
    """A level and a version; `version` as written (``latest``, ``v1.22``)."""

    level: str
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    def minor(self, latest: int) -> int:
        """The minor version; `latest` is the newest known one."""
        return latest if self.version == "latest" else integer(self.version[3:])


def valid_version(text: str) -> bool:
    """``latest`` or ``v1.N``."""
    return text == "latest" or (text.startswith("v1.") and is_whole(text[3:]) and str(integer(text[3:])) == text[3:])


@dataclass(frozen=True, slots=True)
class Configuration:
    """Default policies by mode, and exemptions."""

    defaults: Mapping[str, Policy]
    users: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()


def read_configuration(section: Mapping[str, Any] | None, dialect: Dialect) -> Configuration:
    """The plugin's configuration. Raises ValueError naming the invalid fields."""
    section = section or {}
    report = Report(ObjectSettings(dialect=dialect))
    defaults_section, at = section.get("defaults") or {}, root("defaults")
    defaults = {}
    for mode in _MODES:
        level, version = defaults_section.get(mode) or PRIVILEGED, defaults_section.get(f"{mode}-version") or "latest"
        if level not in LEVELS:
            report.invalid(at / mode, level, f"must be one of {', '.join(LEVELS)}")
        if not valid_version(version):
            report.invalid(at / f"{mode}-version", version, 'must be "latest" or "v1.x"')
        defaults[mode] = Policy(level, version)
    exempt = {name: _exempt_names(section, name, report) for name in _EXEMPT}
    if report.causes:
        raise ValueError(report.summary())
    return Configuration(defaults, exempt["usernames"], exempt["runtimeClasses"], exempt["namespaces"])


def _exempt_names(section: Mapping[str, Any], kind: str, report: Report) -> frozenset[str]:
    at, listed = root("exemptions") / kind, (section.get("exemptions") or {}).get(kind) or ()
    distinct: set[str] = set()
    for index, name in enumerate(listed):
        wrong = _EXEMPT[kind](name)
        if wrong:
            report.invalid(at[index], name, ", ".join(wrong))
        elif name in distinct:
            report.duplicate(at[index], name)
        distinct.add(name)
    return frozenset(distinct)


@implementer(IValidatingPlugin)
class PodSecurity(Plugin):
    name = "PodSecurity"
    help = "Enforces the Pod Security Standard selected by the labels of the namespace."
    resources = tuple(
        "namespaces pods pods/ephemeralcontainers replicationcontrollers podtemplates deployments.apps "
        "replicasets.apps statefulsets.apps daemonsets.apps jobs.batch cronjobs.batch".split()
    )
    informers = (("", "v1", "namespaces"), ("", "v1", "pods"))

    def __init__(self, context: PluginContext) -> None:
        self._config = read_configuration(context.settings.configuration, context.settings.dialect)
        super().__init__(context)

    def setup(self) -> None:
        release = self.context.settings.release
        self._standards = Standards(release)
        self._warns_of_enforced = release.choose(_WARNS_OF_ENFORCED)
        self._evaluations = Counter(
            "pod_security_evaluations_total",
            "Policy evaluations, by decision and request; ignored and exempt requests are not counted.",
            ("decision", "policy_level", "policy_version", "mode", *_REQUEST),
        )
        self._exemptions = Counter(
            "pod_security_exemptions_total",
            "Exempt requests; ignored and out-of-scope requests are not counted.",
            _REQUEST,
        )
        self._errors = Counter(
            "pod_security_errors_total",
            "Errors that prevented an evaluation; after nonfatal ones the restricted level may have been "
            "evaluated instead.",
            ("fatal", *_REQUEST),
        )
        self.instruments = (self._evaluations, self._exemptions, self._errors)
        self._prefix = self.dialect("pod-security.{long}.io/")
        self._profiles = (
            self.dialect("container.apparmor.security.beta.{long}.io/"),
            self.dialect("seccomp.security.alpha.{long}.io/pod"),
            self.dialect("container.seccomp.security.alpha.{long}.io/"),
        )

    def policies(self, labels: Mapping[str, str]) -> tuple[dict[str, Policy], list[Cause]]:
        """The policies selected by labels, and the errors in labels. An invalid level is treated as restricted."""
        policies: dict[str, Policy] = {}
        wrong: list[Cause] = []
        for mode in _MODES:
            default = self._config.defaults[mode]
            key = self._prefix + mode
            level, version = labels.get(key), labels.get(f"{key}-version")
            if level is not None and level not in LEVELS:
                wrong.append(_invalid(key, level, f"must be one of {', '.join(LEVELS)}"))
                level = RESTRICTED if mode == "enforce" else PRIVILEGED
            if version is not None and not valid_version(version):
                wrong.append(_invalid(f"{key}-version", version, 'must be "latest" or "v1.x"'))
                version = "latest"
            if level is None:
                level, version = default.level, version or default.version
            policies[mode] = Policy(level, version or "latest")
        if self._warns_of_enforced and labels.get(self._prefix + "enforce") in LEVELS:
            self._warn_of_enforced(policies, labels)
        return policies, wrong

    def _warn_of_enforced(self, policies: dict[str, Policy], labels: Mapping[str, str]) -> None:
        """Warn by the enforced level if labels enforce a stricter one than there are warnings of, and none has the
        level of warnings."""
        enforced, warned = policies["enforce"], policies["warn"]
        key = self._prefix + "warn"
        if key not in labels and LEVELS.index(enforced.level) > LEVELS.index(warned.level):
            policies["warn"] = Policy(
                enforced.level, warned.version if f"{key}-version" in labels else enforced.version
            )

    async def validate(self, review: Review) -> None:
        resource = review.resource
        if resource.plural == "namespaces":
            await self._namespace(review)
        elif resource.plural == "pods":
            if review.operation == CREATE or self._significant(review.written, review.old_object or {}):
                await self._pod(review, review.written, enforce=True)
        else:
            pod: Any = review.written
            for key in resource.row.pod_template or ():
                pod = (pod or {}).get(key)
            if pod:
                await self._pod(review, pod, enforce=False)

    # --- pods

    async def _pod(self, review: Review, pod: Object, *, enforce: bool) -> None:
        if self._is_exempt(review, pod):
            return
        await self.wait_ready(review)
        try:
            labels = fields.labels(await self._labels(review))
        except ApiError:
            self._errors.add("true", *_request(review))
            raise
        policies, wrong = self.policies(labels)
        if wrong:
            self._errors.add("false", *_request(review))
        if all(policy.level == PRIVILEGED for policy in policies.values()):
            if enforce:
                review.annotate(self._prefix + "enforce-policy", str(policies["enforce"]))
                self._count_evaluation(review, policies["enforce"], "enforce", [])
            return
        cache: dict[tuple[str, int], list[Violation]] = {}

        def violations(policy: Policy) -> list[Violation]:
            key = (policy.level, policy.minor(self._standards.latest))
            if key not in cache:
                cache[key] = self._standards.evaluate(pod, *key, self.dialect)
            return cache[key]

        if enforce:
            policy = policies["enforce"]
            review.annotate(self._prefix + "enforce-policy", str(policy))
        refused = violations(policies["enforce"]) if enforce else []
        if enforce:
            self._count_evaluation(review, policies["enforce"], "enforce", refused)
        if broken := violations(policies["audit"]):
            review.annotate(
                self._prefix + "audit-violations",
                f'would violate PodSecurity "{policies["audit"]}": {_describe(broken)}',
            )
            self._count_evaluation(review, policies["audit"], "audit", broken)
        if refused:
            raise refuse(review, f'violates PodSecurity "{policies["enforce"]}": {_describe(refused)}')
        if broken := violations(policies["warn"]):
            review.warn(f'would violate PodSecurity "{policies["warn"]}": {_describe(broken)}')
            self._count_evaluation(review, policies["warn"], "warn", broken)

    def _count_evaluation(self, review: Review, policy: Policy, mode: str, broken: list[Violation]) -> None:
        """Count an evaluation. As in the reference, those of the modes audit and warn count when they find
        violations."""
        version = policy.version
        if policy.level == PRIVILEGED:
            version = "latest"
        elif policy.minor(self._standards.latest) > self._standards.latest:
            version = "future"
        self._evaluations.add("deny" if broken else "allow", policy.level, version, mode, *_request(review))

    def _is_exempt(self, review: Review, pod: Object) -> bool:
        for members, value, word in (
            (self._config.namespaces, review.namespace, "namespace"),
            (self._config.users, review.user.name, "user"),
            (self._config.runtime_classes, fields.spec(pod).get("runtimeClassName"), "runtimeClass"),
        ):
            if value in members:
                review.annotate(self._prefix + "exempt", word)
                self._exemptions.add(*_request(review))
                return True
        return False

    async def _labels(self, review: Review) -> Object:
        namespace = self.informer("namespaces").get("", review.namespace)
        if namespace is None:
            try:
                obj: Object = await self.context.api.client.get(NAMESPACES, "", review.namespace)
            except ApiError as error:
                if error.code != 404:
                    raise
                raise refuse(review, f'failed to lookup namespace "{review.namespace}"') from error
            return obj
        return namespace

    def _significant(self, pod: Object, old: Object) -> bool:
        """True if this update is checked: when it changes containers, images or a security profile. Other updates of
        pods older than the policy are allowed."""

        def relevant(obj: Object) -> Any:
            body = fields.spec(obj)
            return (
                body.get("securityContext") or {},
                [
                    (key, [(c.get("name"), c.get("image"), c.get("securityContext")) for c in body.get(key) or ()])
                    for key in ("initContainers", "containers", "ephemeralContainers")
                ],
                {k: v for k, v in fields.annotations_of(obj).items() if k.startswith(self._profiles)},
            )

        return bool(relevant(pod) != relevant(old))

    # --- namespaces

    async def _namespace(self, review: Review) -> None:
        policies, wrong = self.policies(fields.labels(review.object))
        old, was_wrong = self.policies(fields.labels(review.old_object))
        if wrong and (review.operation == CREATE or not was_wrong):
            raise errors.invalid("", "Namespace", review.name, wrong)
        if review.operation != UPDATE or wrong or review.name in self._config.namespaces:
            return
        new, before = policies["enforce"], old["enforce"]
        if new == before or new.level == PRIVILEGED:
            return
        if new.version == before.version and LEVELS.index(new.level) < LEVELS.index(before.level):
            return
        await self.wait_ready(review)
        warnings = self._check_existing_pods(review.name, new)
        if warnings:
            review.warn(f'existing pods in namespace "{review.name}" violate the new PodSecurity enforce level "{new}"')
            for text in warnings:
                review.warn(text)

    def _check_existing_pods(self, namespace: str, policy: Policy) -> list[str]:
        """One line per distinct violation among the pods of a namespace, naming the first pod."""
        pods_by_reasons: dict[str, list[str]] = {}
        owners: set[str] = set()
        pods = sorted(self.informer("pods").list(namespace), key=lambda p: p["metadata"]["name"])
        for pod in pods[:_MAX_PODS]:
            controllers = [o["uid"] for o in fields.owners(pod) if o.get("controller")]
            if controllers:
                # Pods of one controller have equal specs.
                if controllers[0] in owners:
                    continue
                owners.add(controllers[0])
            if fields.spec(pod).get("runtimeClassName") in self._config.runtime_classes:
                continue
            minor = policy.minor(self._standards.latest)
            violations = self._standards.evaluate(pod, policy.level, minor, self.dialect)
            if violations:
                reasons = ", ".join(v.reason for v in violations)
                pods_by_reasons.setdefault(reasons, []).append(pod["metadata"]["name"])
        lines = []
        for reasons, names in pods_by_reasons.items():
            others = len(names) - 1
            more = f" (and {others} other {'pod' if others == 1 else 'pods'})" if others else ""
            lines.append(f"{names[0]}{more}: {reasons}")
        lines.sort()
        if len(pods) > _MAX_PODS:
            lines.insert(
                0,
                f"new PodSecurity enforce level only checked against the first {_MAX_PODS} of {len(pods)} "
                "existing pods",
            )
        return lines


def _request(review: Review) -> tuple[str, str, str]:
    """Values of the labels of the request."""
    return review.operation.lower(), _RESOURCES.get(review.resource.plural, "controller"), review.subresource


def _describe(violations: list[Violation]) -> str:
    return ", ".join(str(v) for v in violations)


def _invalid(label: str, value: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f'Invalid value: "{value}": {why}', f"metadata.labels[{label}]")
