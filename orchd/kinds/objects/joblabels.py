"""Labels that the server sets on the pods of a job, and the one by which it selects them. Pure."""

from __future__ import annotations

from typing import Final

from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import Release

#: Label keys (templates of a dialect) of the job's uid and name, since a release; the last uid is the selector's.
_KEYS: Final = (
    ("", "controller-uid", "job-name"),
    ("1.27", "batch.{long}.io/controller-uid", "batch.{long}.io/job-name"),
)


def _labels(release: Release) -> list[tuple[str, str]]:
    return [(uid, name) for since, uid, name in _KEYS if release.includes(since)]


def generated(uid: str, name: str, settings: ObjectSettings) -> dict[str, str]:
    """The labels of the pods of a job."""
    out: dict[str, str] = {}
    for of_uid, of_name in _labels(settings.release):
        out.update({settings.dialect(of_uid): uid, settings.dialect(of_name): name})
    return out


def selecting(settings: ObjectSettings) -> str:
    """The label that the selector of a job requires, with the job's uid as its value."""
    return settings.dialect(_labels(settings.release)[-1][0])
