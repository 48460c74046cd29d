"""Deletes finished jobs after ttlSecondsAfterFinished."""

from __future__ import annotations

from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import JOBS, condition
from orchd.kinds.fields import deleting, spec, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Distribution


def finish_time(job: Object) -> float | None:
    """When the job ended, well or not; None while it has not."""
    for type_ in ("Complete", "Failed"):
        end = condition(status(job), type_)
        if end is not None and end.get("status") == "True":
            return seconds_of(end.get("lastTransitionTime"))
    return None


class TtlAfterFinished(Controller):
    name = "ttl-after-finished"
    account = "ttl-after-finished-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_ttl_after_finished_syncs)
        self._late = Distribution(
            "ttl_after_finished_controller_job_deletion_duration_seconds",
            "Seconds from the end of a job's time to live to its deletion.",
            exponential(0.1, 2, 14),
        )
        self.instruments = (self._late,)
        self._jobs = self.follow(JOBS, self._job_changed, primary=True)

    def _job_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is not None and self._left(new) is not None:
            self.enqueue(event, old, new)

    def _left(self, job: Object) -> float | None:
        """Seconds until the job is to go; None when it is not to."""
        seconds = spec(job).get("ttlSecondsAfterFinished")
        ended = finish_time(job)
        if seconds is None or ended is None or deleting(job):
            return None
        return float(ended + int(seconds) - self.env.wall())

    async def reconcile(self, key: Key) -> float | None:
        job = self._jobs.get(*key)
        left = None if job is None else self._left(job)
        if left is None or left > 0:
            return left
        # The time to live may have been changed since; only the server knows.
        live = await self.live(JOBS, *key)
        left = None if live is None else self._left(live)
        if live is None or left is None or left > 0:
            return left
        await self.remove(JOBS, *key, uid=uid(live), propagation="Foreground")
        self._late.observe(-left)
        return None
