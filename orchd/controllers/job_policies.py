"""Rules of jobs from release 1.31 on: which failures count, which successes suffice, and when a failed pod is replaced.
Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.controllers.indexes import IndexSet, parse_indexes
from orchd.controllers.objects import condition, small_number
from orchd.kinds import fields
from orchd.kinds.fields import annotations_of, deleting, mapping, name, namespace, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of

#: Seconds before a failed pod is replaced, doubled with each further failure, and their maximum.
_BACKOFF: Final = 10.0
_LONGEST_BACKOFF: Final = 600.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The effect of a failed pod on its job. `action` is that of the rule of spec.podFailurePolicy that decided, "" for
    none; `note` explains the failure of the job, "" if it goes on."""

    action: str = ""
    note: str = ""

    @property
    def counts(self) -> bool:
        """False if the failure does not count toward the limits."""
        return self.action != "Ignore"


def judge_failure(policy: Mapping[str, Any] | None, pod: Object) -> Verdict:
    """The verdict of the first rule that matches."""
    for index, rule in enumerate((policy or {}).get("rules") or ()):
        cause = _matched_cause(rule, pod)
        if cause:
            action = str(rule.get("action"))
            note = f"{cause} matching {action} rule at index {index}" if action == "FailJob" else ""
            return Verdict(action, note)
    return Verdict()


def _matched_cause(rule: Mapping[str, Any], pod: Object) -> str:
    """Why a rule of a failure policy matches a pod; "" if it does not."""
    within = f"{namespace(pod)}/{name(pod)}"
    codes = rule.get("onExitCodes")
    if codes is not None:
        for member in ("containerStatuses", "initContainerStatuses"):
            for container in status(pod).get(member) or ():
                code = mapping(container, "state", "terminated").get("exitCode")
                if code and _matches_code(codes, str(container.get("name")), int(code)):
                    return f"Container {container['name']} for pod {within} failed with exit code {code}"
        return ""
    patterns = rule.get("onPodConditions") or ()
    for pod_condition in fields.conditions(pod):
        if any(
            pod_condition.get("type") == each.get("type") and pod_condition.get("status") == each.get("status")
            for each in patterns
        ):
            return f"Pod {within} has condition {pod_condition['type']}"
    return ""


def _matches_code(codes: Mapping[str, Any], container: str, code: int) -> bool:
    if codes.get("containerName") not in (None, container):
        return False
    listed = code in (codes.get("values") or ())
    return listed if codes.get("operator") == "In" else codes.get("operator") == "NotIn" and not listed


def met_success(policy: Mapping[str, Any] | None, completions: int, done: IndexSet) -> str:
    """The message about the first rule of spec.successPolicy that the completed indexes meet; "" if none is met."""
    if not done:
        return ""
    for index, rule in enumerate((policy or {}).get("rules") or ()):
        indexes, least = rule.get("succeededIndexes"), rule.get("succeededCount")
        if indexes is None:
            met = least is not None and len(done) >= int(least)
        else:
            required = parse_indexes(str(indexes), completions)
            common = done.count_common(required)
            met = bool(required) and (common == len(required) or (least is not None and common >= int(least)))
        if met:
            return f"Matched rules at index {index}"
    return ""


def finished_at(pod: Object) -> float:
    """When a pod ended, in seconds since the epoch: the end of its last container, else the time when it was no longer
    ready, else that of its deletion, else that of its creation."""
    sidecars = {c.get("name") for c in spec(pod).get("initContainers") or () if c.get("restartPolicy") == "Always"}
    ends = _last_end(None, status(pod).get("containerStatuses") or ())
    beside = [each for each in status(pod).get("initContainerStatuses") or () if each.get("name") in sidecars]
    ends = _last_end(ends, beside)
    if ends is not None:
        return ends
    ready = condition(status(pod), "Ready")
    since = seconds_of((ready or {}).get("lastTransitionTime")) if ready and ready.get("status") == "False" else None
    if since is not None:
        return since
    deleted = seconds_of(pod["metadata"].get("deletionTimestamp"))
    if deleted is not None:
        return deleted - float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    return seconds_of(pod["metadata"].get("creationTimestamp")) or 0.0


def _last_end(before: float | None, containers: Iterable[Mapping[str, Any]]) -> float | None:
    """The later of `before` and the end of the last container; None if one has not ended."""
    last = before
    for each in containers:
        end = seconds_of(mapping(each, "state", "terminated").get("finishedAt"))
        if end is None:
            return None
        last = end if last is None else max(last, end)
    return last


@dataclass(frozen=True, slots=True)
class Backoff:
    """The failures of a job since its last success, and the time of the last one in seconds since the epoch."""

    failures: int = 0
    last: float = 0.0

    def after(self, succeeded: Iterable[Object], failed: Iterable[Object]) -> Backoff:
        """The back-off after these pods have ended."""
        fresh = sorted(map(finished_at, failed))
        successes = [finished_at(pod) for pod in succeeded]
        if not successes:
            return Backoff(self.failures + len(fresh), fresh[-1]) if fresh else self
        later = [at for at in fresh if at > max(successes)]
        return Backoff(len(later), later[-1]) if later else Backoff()

    def left(self, now: float) -> float:
        """Seconds until the next pod may be created."""
        if not self.failures:
            return 0.0
        pause = min(_BACKOFF * 2.0 ** min(self.failures - 1, 30), _LONGEST_BACKOFF)
        return max(0.0, self.last + pause - now)


@dataclass(frozen=True, slots=True)
class IndexFailures:
    """Annotations of pods that count the former failures of their index: those that count toward the limit, and the
    ignored ones."""

    counted: str
    ignored: str

    def of(self, pod: Object) -> int:
        """The counted failures before a pod."""
        return _number(annotations_of(pod).get(self.counted))

    def total(self, pod: Object) -> int:
        """All failures before a pod."""
        return self.of(pod) + _number(annotations_of(pod).get(self.ignored))

    def annotations(self, replaced: Object | None, policy: Mapping[str, Any] | None) -> dict[str, str]:
        """The annotations of a pod that replaces a failed one, None for the first of its index."""
        counted = ignored = 0
        if replaced is not None:
            counts = judge_failure(policy, replaced).counts
            counted = self.of(replaced) + counts
            ignored = _number(annotations_of(replaced).get(self.ignored)) + (not counts)
        return {self.counted: str(counted), **({self.ignored: str(ignored)} if ignored else {})}

    def choose_replaced(self, failed: Iterable[Object], index: Callable[[Object], int | None]) -> dict[int, Object]:
        """The last failed pod of each index, whose counts its replacement continues."""
        chosen: dict[int, Object] = {}
        for pod in failed:
            own = index(pod)
            if own is None:
                continue
            before = chosen.get(own)
            if before is None or (self.total(before) <= self.total(pod) and finished_at(pod) >= finished_at(before)):
                chosen[own] = pod
        return chosen

    def left(self, replaced: Object | None, now: float) -> float:
        """Seconds until the replacement of a pod may be created."""
        return 0.0 if replaced is None else Backoff(self.total(replaced) + 1, finished_at(replaced)).left(now)


def _number(text: str | None) -> int:
    """A count in an annotation; 0 for a text that is not a number."""
    return small_number(text or "") or 0


def replaces_failed_only(job: Object) -> bool:
    """True if a pod that is being deleted is replaced only when it has ended."""
    return spec(job).get("podReplacementPolicy") == "Failed" or spec(job).get("podFailurePolicy") is not None


def has_failed(job: Object, pod: Object) -> bool:
    """True if a pod counts as failed: it has, or it is being deleted and the job replaces such pods at once."""
    phase = status(pod).get("phase")
    return phase == "Failed" or (phase != "Succeeded" and deleting(pod) and not replaces_failed_only(job))
