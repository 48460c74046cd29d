"""The cron job controller: creates a job at each time of the schedule, and deletes old jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from orchd.controllers.base import Controller, Key
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import BY_CONTROLLER, CRON_JOBS, JOBS, condition, index_by_controller
from orchd.controllers.ttl_after_finished import finish_time
from orchd.controllers.write_errors import ignore_terminating_namespace, terminating_namespace
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.cron import Schedule, ScheduleError, load_location, parse
from orchd.kinds.fields import deleting, name, namespace, owner, owner_reference, spec, status, uid
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of, timestamp
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Distribution

#: Seconds added to the next check, so that it runs just after the minute starts.
_SLACK = 0.1
#: Number of missed times without a warning.
_MANY_MISSED = 100
#: Warnings about very many missed times, by the release that begins them.
_MISSED_NOTES: Final = (
    ("", "too many missed start times: {missed}. Set or decrease .spec.startingDeadlineSeconds or check clock skew"),
    ("1.28", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"),
)
_COMPLETED_NOTES: Final = (
    ("", "Saw completed job: {job}, status: {result}"),
    ("1.35", "Saw completed job: {job}, condition: {result}"),
)
_TIME_KEYS: Final = (("", ""), ("1.28", "batch.{long}.io/cronjob-scheduled-timestamp"))
_SKEW_METRIC: Final = (
    ("", "cronjob_controller_cronjob_job_creation_skew_duration_seconds"),
    ("1.34", "cronjob_controller_job_creation_skew_duration_seconds"),
)
#: Seconds before now in which missed times are enumerated.
_WINDOWS = (3600.0, 86400.0, 32 * 86400.0, 367 * 86400.0)


class CronJobController(Controller):
    name = "cronjob"
    account = "cronjob-controller"
    subject = ("batch/v1", "CronJob")

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_cron_job_syncs)
        self._skew = Distribution(
            env.release.choose(_SKEW_METRIC),
            "Seconds from the scheduled time of a job to its creation.",
            exponential(1, 2, 10),
        )
        self.instruments = (self._skew,)
        #: Annotation of jobs with their scheduled time; "" before the release that begins it.
        self._time_key = env.dialect(env.release.choose(_TIME_KEYS))
        self._crons = self.follow(CRON_JOBS, primary=True)
        self._jobs = self.follow(JOBS, self._job_changed)
        index_by_controller(self._jobs)

    def _job_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        job = new or old
        reference = None if job is None else owner(job)
        if job is not None and reference is not None and reference.get("kind") == "CronJob":
            self.queue.add((namespace(job), str(reference["name"])))

    async def reconcile(self, key: Key) -> float | None:
        cron = self._crons.get(*key)
        if cron is None:
            return None
        jobs = list(self._jobs.by_index(BY_CONTROLLER, uid(cron)))
        fresh = self._status(cron, jobs)
        self._record_jobs(cron, jobs)
        again: float | None = None
        with ignore_terminating_namespace():
            if not deleting(cron) and not spec(cron).get("suspend"):
                again = await self._start_due(cron, jobs, fresh)
        await self.write_status(CRON_JOBS, cron, fresh)
        await self._clean_up(cron, jobs)
        return again

    def _status(self, cron: Object, jobs: list[Object]) -> dict[str, Any]:
        """The status for the existing jobs."""
        fresh = {k: v for k, v in status(cron).items() if k != "active"}
        active_uids = {str(each.get("uid")) for each in status(cron).get("active") or ()}
        running = [job for job in sorted(jobs, key=name) if finish_time(job) is None]
        active = [self._reference(job) for job in running if uid(job) in active_uids or _scheduled(cron, job)]
        if active:
            fresh["active"] = active
        ends = [str(status(j)["completionTime"]) for j in jobs if _has_succeeded(j) and status(j).get("completionTime")]
        if ends and max(ends) > str(fresh.get("lastSuccessfulTime", "")):
            fresh["lastSuccessfulTime"] = max(ends)
        return fresh

    def _record_jobs(self, cron: Object, jobs: list[Object]) -> None:
        """Record Events for jobs that finished, that no longer exist, and that this controller did not create."""
        active = {str(each.get("uid")): str(each.get("name")) for each in status(cron).get("active") or ()}
        for job in sorted(jobs, key=name):
            ended = finish_time(job) is not None
            if ended and uid(job) in active:
                result = "Complete" if _has_succeeded(job) else "Failed"
                note = self.env.release.choose(_COMPLETED_NOTES).format(job=name(job), result=result)
                self.record(cron, NORMAL, "SawCompletedJob", note)
            elif not ended and uid(job) not in active and not _scheduled(cron, job):
                note = f"Saw a job that the controller did not create or forgot: {name(job)}"
                self.record(cron, WARNING, "UnexpectedJob", note)
            active.pop(uid(job), None)
        for missing in active.values():
            self.record(cron, NORMAL, "MissingJob", f"Active job went missing: {missing}")

    def _reference(self, job: Object) -> dict[str, Any]:
        return {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "namespace": namespace(job),
            "name": name(job),
            "uid": uid(job),
            "resourceVersion": job["metadata"].get("resourceVersion", ""),
        }

    async def _start_due(self, cron: Object, jobs: list[Object], fresh: dict[str, Any]) -> float | None:
        """Start the job that is due, if any. Returns seconds until the next scheduled time."""
        zone = str(spec(cron).get("timeZone") or "")
        try:
            load_location(zone)
        except ScheduleError as error:
            self.record(cron, WARNING, "UnknownTimeZone", f"invalid timeZone: {quote(zone)}: {error}")
            return None
        text = str(spec(cron).get("schedule", ""))
        try:
            # A zone in the schedule itself takes precedence.
            schedule = parse(f"TZ={zone} {text}" if zone and "TZ" not in text else text)
        except ScheduleError as error:
            # Not retried: the next change of the CronJob is reconciled again.
            note = f"unparseable schedule: {quote(spec(cron).get('schedule', ''))} : {error}"
            self.record(cron, WARNING, "UnparseableSchedule", note)
            return None
        if "TZ" in spec(cron)["schedule"]:
            page = self.dialect("https://{long}.io/docs/concepts/workloads/controllers/cron-jobs/")
            note = (
                f"CRON_TZ or TZ used in schedule {quote(spec(cron)['schedule'])} is not officially supported, "
                f"see {page} for more details"
            )
            self.record(cron, WARNING, "UnsupportedSchedule", note)
        now = self.env.wall()
        if schedule.after(now) is None:
            # A date that no year has.
            note = (
                f"invalid schedule: {spec(cron)['schedule']} : time difference between two schedules less than 1 second"
            )
            self.record(cron, WARNING, "InvalidSchedule", note)
            return None
        due = self._due(cron, schedule, now)
        following = schedule.after(due if due is not None and schedule.every else now)
        again = None if following is None else max(_SLACK, following - now + _SLACK)
        if due is None:
            return again
        self._record_missed(cron, schedule, now)
        called = f"{name(cron)}-{int(due) // 60}"
        if any(name(job) == called for job in jobs):
            return again
        active_uids = {str(each["uid"]) for each in fresh.get("active") or ()}
        active = [job for job in jobs if uid(job) in active_uids]
        policy = spec(cron).get("concurrencyPolicy", "Allow")
        if active and policy == "Forbid":
            note = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self.record(cron, NORMAL, "JobAlreadyActive", note)
            return again
        if policy == "Replace":
            for job in active:
                await self._delete(cron, job)
            fresh.pop("active", None)
        created = await self._create(cron, called, due)
        if created is not None:
            self._skew.observe(max(0.0, self.env.wall() - due))
            fresh["active"] = [*fresh.get("active", ()), self._reference(created)]
        fresh["lastScheduleTime"] = timestamp(due)
        return again

    def _earliest(self, cron: Object, now: float) -> float:
        """The time after which jobs are due: the last scheduled time, but not before the starting deadline."""
        begun = status(cron).get("lastScheduleTime") or cron["metadata"].get("creationTimestamp")
        earliest = seconds_of(begun) or now
        deadline = spec(cron).get("startingDeadlineSeconds")
        return earliest if deadline is None else max(earliest, now - int(deadline))

    def _record_missed(self, cron: Object, schedule: Schedule, now: float) -> None:
        """Warn when very many times have passed; their number is estimated from the pause between the first two."""
        first = schedule.after(self._earliest(cron, now))
        second = None if first is None else schedule.after(first)
        if first is None or second is None or now < second:
            return
        missed = int((now - first) // (second - first)) + 1
        if missed > _MANY_MISSED:
            note = self.env.release.choose(_MISSED_NOTES).format(missed=missed)
            self.record(cron, WARNING, "TooManyMissedTimes", note)

    def _due(self, cron: Object, schedule: Schedule, now: float) -> float | None:
        """The most recent missed time of the schedule within the starting deadline."""
        earliest = self._earliest(cron, now)
        if schedule.every:
            times = int((now - earliest) // schedule.every)
            return earliest + times * schedule.every if times > 0 else None
        # Only the last missed time counts, so recent times are searched first.
        for window in _WINDOWS:
            times_found = list(schedule.between(max(earliest, now - window), now))
            if times_found:
                return times_found[-1]
        return None

    async def _create(self, cron: Object, called: str, due: float) -> Object | None:
        template = spec(cron).get("jobTemplate") or {}
        template_metadata = fields.metadata(template)
        metadata = {k: template_metadata[k] for k in ("labels", "annotations") if template_metadata.get(k)}
        if self._time_key:
            place = load_location(str(spec(cron).get("timeZone") or ""))
            at = datetime.fromtimestamp(int(due), place).isoformat().replace("+00:00", "Z")
            metadata["annotations"] = {**(metadata.get("annotations") or {}), self._time_key: at}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                **metadata,
                "name": called,
                "namespace": namespace(cron),
                "ownerReferences": [owner_reference(cron, "batch/v1", "CronJob")],
            },
            "spec": spec(template),
        }
        try:
            created: Object = await self.client.create(JOBS, namespace(cron), job)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return None
            if not terminating_namespace(error):
                self.record(cron, WARNING, "FailedCreate", f"Error creating job: {error.message}")
            raise
        self.record(cron, NORMAL, "SuccessfulCreate", f"Created job {called}")
        return created

    async def _delete(self, cron: Object, job: Object) -> None:
        try:
            await self.remove(JOBS, namespace(job), name(job), uid=uid(job), propagation="Background")
        except ApiError as error:
            self.record(cron, WARNING, "FailedDelete", f"Deleted job: {error.message}")
            raise
        self.record(cron, NORMAL, "SuccessfulDelete", f"Deleted job {name(job)}")

    async def _clean_up(self, cron: Object, jobs: list[Object]) -> None:
        """Delete finished jobs beyond the history limits, oldest first."""
        for key, default, well in (("successfulJobsHistoryLimit", 3, True), ("failedJobsHistoryLimit", 1, False)):
            limit = spec(cron).get(key, default)
            ended = [j for j in jobs if finish_time(j) is not None and _has_succeeded(j) is well and not deleting(j)]
            ended.sort(key=lambda j: (status(j).get("startTime") or "", name(j)))
            for job in ended[: max(0, len(ended) - int(limit))]:
                await self._delete(cron, job)


def _scheduled(cron: Object, job: Object) -> bool:
    """True if the job's name has the form that this controller gives to a schedule's jobs."""
    front, _, back = name(job).rpartition("-")
    return front == name(cron) and back.isdigit()


def _has_succeeded(job: Object) -> bool:
    complete = condition(status(job), "Complete")
    return complete is not None and complete.get("status") == "True"
