"""Validation against recorded responses of the reference: codes, causes and messages.

A case that differs is printed, and fails unless it is known to differ.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import NEWEST
from tests.kinds.objects.validate.recorded_cases import Case, Replay, changed_cases, compare

#: Cases of the specification's release whose response by the newest one differs: in the causes, or in the message
#: alone.
OLD_CAUSES = frozenset(
    (
        "EndpointSlice/deprecatedTopology-long",
        "PersistentVolumeClaim/dataSource-name-missing",
        "CertificateSigningRequest/approve-both",
        "LocalSubjectAccessReview/lsar-ok",
    )
)
OLD_MESSAGES = frozenset(("CustomResourceDefinition/schema-list-set-of-objects", "SubjectAccessReview/sar-with-name"))
#: The same of the cases of the newest release; other parts of the server than validation respond to most of them.
NEW_CAUSES = frozenset(
    (
        *("Pod/resize/image-ignored", "Pod/spread/matchLabelKeys-in-selector"),
        *("Pod/podAffinity/matchLabelKeys-in-selector", "HPA/tolerance-negative", "VAP/param-not-found"),
        *("VAP/eval/vx-deny", "VAP/eval/vx-expr", "VAP/eval/error", "ResourceClaim/adminAccess-no-label"),
    )
)
NEW_MESSAGES = frozenset(("Job/podFailurePolicy-empty-values",))
NONE: frozenset[str] = frozenset()


def differing(cases: Iterable[Case], settings: ObjectSettings) -> tuple[frozenset[str], frozenset[str]]:
    """The cases that differ in code or causes, and those that differ in the message alone."""
    causes: set[str] = set()
    messages: set[str] = set()
    for case in cases:
        same, told, text = compare(case, settings)
        if not told:
            (messages if same else causes).add(case.id)
            sys.stdout.write("\n" + text)
    return frozenset(causes), frozenset(messages)


def test_causes_and_messages_are_the_recorded_ones(reference: Callable[[str], Any]) -> None:
    """Validation finds the reference's causes with its messages."""
    replay = Replay()
    assert differing(replay.cases(reference("validation")["cases"]), replay.settings) == (NONE, NONE)


@pytest.mark.parametrize("new, causes, messages", [(False, OLD_CAUSES, OLD_MESSAGES), (True, NEW_CAUSES, NEW_MESSAGES)])
def test_causes_and_messages_of_the_newest_release_are_the_recorded_ones(
    reference: Callable[[str], Any], new: bool, causes: frozenset[str], messages: frozenset[str]
) -> None:
    """So does the newest release, for its own cases and for those of the specification's."""
    changes = reference("1.35/validation")
    recorded = changes["cases"] if new else changed_cases(reference("validation"), changes)
    replay = Replay(NEWEST)
    assert differing(replay.cases(recorded), replay.settings) == (causes, messages)
