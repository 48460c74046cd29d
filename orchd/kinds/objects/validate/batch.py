"""Validation of jobs and cron jobs."""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds import fields
from orchd.kinds.cron import ScheduleError, parse
from orchd.kinds.gotext import differences
from orchd.kinds.gotext.structs import dump
from orchd.kinds.gotext.values import interface
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import joblabels
from orchd.kinds.objects.by_release import by_release
from orchd.kinds.objects.validate import jobpolicies, jobstatus, meta
from orchd.kinds.objects.validate.core import pods
from orchd.kinds.objects.validate.names import label, subdomain_name
from orchd.kinds.objects.validate.paths import METADATA, SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector, matches, usable
from orchd.kinds.objects.validate.workloads import agrees, nonnegative, shown_selector

_COUNTS: Final = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_MAX_INDEXED: Final = 100000
#: Annotation of a job whose pods are tracked with finalizers.
TRACKING: Final = "batch.{long}.io/job-tracking"


def create_job(job: Object, report: Report, *, may_be_tracked: bool | None = None) -> None:
    metadata, spec = fields.metadata(job), fields.spec(job)
    meta.create(job, report, namespaced=True, name_rule=subdomain_name)
    _generated_selector(metadata, spec, report)
    _job(spec, SPEC, report)
    if may_be_tracked is None:
        may_be_tracked = report.settings.feature("JobTrackingWithFinalizers")
    if not may_be_tracked and _is_tracked(job, report):
        report.forbidden((METADATA / "annotations")[report.dialect(TRACKING)], "cannot add this annotation")
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        host = f"{metadata.get('name') or ''}-{completions - 1}"
        if label(host):
            why = f"will not able to create pod with invalid DNS label: {host}"
            report.invalid(METADATA / "name", metadata.get("name") or "", why)


def _generated_selector(metadata: Object, spec: Object, report: Report) -> None:
    """Validate a generated selector, which selects by the uid of the job."""
    chosen = spec.get("selector")
    if spec.get("manualSelector") or chosen is None:
        return
    uid = metadata.get("uid") or ""
    if not uid:
        report.required(METADATA / "uid")
    template_labels = fields.labels(spec.get("template") or {})
    at = SPEC / "template" / "metadata" / "labels"
    expected = joblabels.generated(uid, metadata.get("name") or "", report.settings)
    for key, value in expected.items():
        if key not in template_labels:
            report.required(at[key], f"must be '{value}'")
        elif template_labels[key] != value:
            report.invalid(at[key], dump("map[string]string", template_labels), f"must be '{value}'")
    if usable(chosen) and not matches(chosen, expected):
        report.invalid(SPEC / "selector", shown_selector(chosen), "`selector` not auto-generated")


def _job(spec: Object, at: Path, report: Report) -> None:
    _job_body(spec, at, report)
    chosen = spec.get("selector")
    if chosen is None:
        report.required(at / "selector")
    else:
        label_selector(chosen, at / "selector", report)
    if usable(chosen):
        agrees(chosen, spec.get("template") or {}, at / "template", report)


def _job_body(spec: Object, at: Path, report: Report) -> None:
    nonnegative(spec, _COUNTS, at, report)
    mode = spec.get("completionMode")
    if mode is not None:
        if mode not in ("NonIndexed", "Indexed"):
            report.unsupported(at / "completionMode", mode, ("NonIndexed", "Indexed"))
        elif mode == "Indexed":
            if spec.get("completions") is None:
                report.required(at / "completions", "when completion mode is Indexed")
            if (spec.get("parallelism") or 0) > _MAX_INDEXED:
                why = f"must be less than or equal to {_MAX_INDEXED} when completion mode is Indexed"
                report.invalid(at / "parallelism", spec["parallelism"], why)
    jobpolicies.policies(spec, at, report)
    template = spec.get("template") or {}
    pods.template(template, at / "template", report)
    policy, at = fields.spec(template).get("restartPolicy") or "", at / "template" / "spec" / "restartPolicy"
    if policy in ("", "Always"):
        report.required(at, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        report.unsupported(at, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        report.invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _is_tracked(job: Object, report: Report) -> bool:
    return report.dialect(TRACKING) in (fields.metadata(job).get("annotations") or ())


def update_job_once(job: Object, old: Object, report: Report) -> None:
    # Tracking with finalizers is decided when a job is created.
    create_job(job, report, may_be_tracked=_is_tracked(old, report))
    meta.update(job, old, report)
    spec, before = fields.spec(job), fields.spec(old)
    _job(spec, SPEC, report)
    report.immutable(SPEC / "completions", spec.get("completions"), before.get("completions"))
    if not differences.same(spec.get("selector"), before.get("selector")):
        report.invalid(SPEC / "selector", shown_selector(spec.get("selector")), "field is immutable")
    _template_kept(spec, before, old, report)
    report.immutable(SPEC / "completionMode", spec.get("completionMode"), before.get("completionMode"))


def update_job_now(job: Object, old: Object, report: Report) -> None:
    create_job(job, report)
    meta.update(job, old, report)
    spec, before = fields.spec(job), fields.spec(old)
    _job(spec, SPEC, report)
    _completions_kept(spec, before, report)
    if not differences.same(spec.get("selector"), before.get("selector")):
        report.invalid(SPEC / "selector", shown_selector(spec.get("selector")), "field is immutable")
    _template_kept(spec, before, old, report)
    report.immutable(SPEC / "completionMode", spec.get("completionMode"), before.get("completionMode"))
    jobpolicies.policies_kept(spec, before, SPEC, report)


update_job = by_release(update_job_once, ("1.27", update_job_now))


def _completions_kept(spec: Object, before: Object, report: Report) -> None:
    """Validate completions, which an indexed job may change together with parallelism."""
    now, was = spec.get("completions"), before.get("completions")
    if spec.get("completionMode") != "Indexed":
        report.immutable(SPEC / "completions", now, was)
    elif now not in (was, None) and now != spec.get("parallelism"):
        report.invalid(SPEC / "completions", now, "can only be modified in tandem with spec.parallelism")


def _template_kept(spec: Object, before: Object, old: Object, report: Report) -> None:
    """Validate that the template is unchanged. Scheduling directives of a suspended job that never started may
    change."""
    new, was = spec.get("template") or {}, before.get("template") or {}
    never_started = before.get("suspend") and not fields.status(old).get("startTime")
    if never_started and report.settings.feature("JobMutableNodeSchedulingDirectives"):
        new, was = _without_placement(new), _without_placement(was)
    if not differences.same(new, was):
        rendered = dump("core.PodTemplateSpec", spec.get("template") or {}, f"core.PodTemplateSpec{{{interface(new)}}}")
        report.invalid(SPEC / "template", rendered, "field is immutable")


def _without_placement(template: Object) -> Object:
    body, metadata = dict(fields.spec(template)), dict(fields.metadata(template))
    for member in ("nodeSelector", "tolerations", "schedulingGates"):
        body.pop(member, None)
    if body.get("affinity"):
        body["affinity"] = {k: v for k, v in body["affinity"].items() if k != "nodeAffinity"}
    for member in ("labels", "annotations"):
        metadata.pop(member, None)
    return {**template, "metadata": metadata, "spec": body}


def update_job_status(job: Object, old: Object, report: Report) -> None:
    meta.update(job, old, report)
    status = fields.status(job)
    nonnegative(status, ("active", "succeeded", "failed", "ready", "terminating"), STATUS, report)
    seen: set[str] = set()
    for member in ("succeeded", "failed"):
        for i, uid in enumerate((status.get("uncountedTerminatedPods") or {}).get(member) or ()):
            at = (STATUS / "uncountedTerminatedPods" / member)[i]
            if not uid:
                report.invalid(at, uid, "must not be empty")
            elif uid in seen:
                report.duplicate(at, uid)
            seen.add(uid)
    _transition(job, old, report)


def _any_transition(job: Object, old: Object, report: Report) -> None:
    """The release of the specification does not compare the statuses."""


_transition = by_release(_any_transition, ("1.32", jobstatus.transition))


def create_cron_job(value: Object, report: Report) -> None:
    metadata, spec = fields.metadata(value), fields.spec(value)
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    _cron_job(spec, None, report)
    name = metadata.get("name") or ""
    if len(name) > 52:
        # The controller appends eleven characters to form the names of jobs.
        report.invalid(METADATA / "name", name, "must be no more than 52 characters")


def _cron_job(spec: Object, before: Object | None, report: Report) -> None:
    schedule = spec.get("schedule") or ""
    if not schedule:
        report.required(SPEC / "schedule")
    else:
        try:
            parse(schedule)
        except ScheduleError as error:
            report.invalid(SPEC / "schedule", schedule, str(error))
        _zone_in_schedule(spec, before, report)
    nonnegative(spec, ("startingDeadlineSeconds",), SPEC, report)
    if spec.get("timeZone") is not None and (before is None or spec["timeZone"] != before.get("timeZone")):
        _time_zone(spec["timeZone"], SPEC / "timeZone", report)
    policy = spec.get("concurrencyPolicy") or ""
    if not policy:
        report.required(SPEC / "concurrencyPolicy")
    elif policy not in ("Allow", "Forbid", "Replace"):
        report.unsupported(SPEC / "concurrencyPolicy", policy, ("Allow", "Forbid", "Replace"))
    job, at = fields.spec(spec.get("jobTemplate") or {}), SPEC / "jobTemplate" / "spec"
    _job_body(job, at, report)
    if job.get("selector") is not None:
        report.invalid(at / "selector", shown_selector(job["selector"]), "`selector` will be auto-generated")
    if job.get("manualSelector"):
        report.unsupported(at / "manualSelector", True, ("nil", "false"))
    nonnegative(spec, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"), SPEC, report)


def update_cron_job(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _cron_job(fields.spec(value), fields.spec(old), report)


def _zone_allowed(spec: Object, before: Object | None, report: Report) -> None:
    """A schedule may begin with a time zone."""


def _zone_refused(spec: Object, before: Object | None, report: Report) -> None:
    """A schedule may begin with a time zone only if it did before; timeZone is the field for it."""
    schedule = spec["schedule"]
    if "TZ" not in schedule:
        return
    if before is None or "TZ" not in (before.get("schedule") or ""):
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        report.invalid(SPEC / "schedule", schedule, why)
    elif spec.get("timeZone") is not None:
        why = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        report.invalid(SPEC / "schedule", schedule, why)


_zone_in_schedule = by_release(_zone_allowed, ("1.29", _zone_refused))
_ZONE_PART: Final = re.compile(r"(?!-)[A-Za-z.\-_0-9+]{1,14}").fullmatch


def _time_zone(name: str, at: Path, report: Report) -> None:
    if not name:
        report.invalid(at, name, "timeZone must be nil or non-empty string")
    elif any(part in (".", "..") or not _ZONE_PART(part) for part in name.split("/")):
        report.invalid(at, name, f"unknown time zone {name}")
    else:
        if name.lower() == "local":
            why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
            report.invalid(at, name, why)
            return
        try:
            parse(f"TZ={name} * * * * *")
        except ScheduleError:
            report.invalid(at, name, f"unknown time zone {name}")
