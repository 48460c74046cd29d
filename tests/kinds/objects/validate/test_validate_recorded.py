"""Validation against recorded responses of the reference: codes, causes and messages.

Printed with ``-s``: every case that differs, and the rate by kind.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import NEWEST
from tests.kinds.objects.validate.recorded_cases import Case, Replay, changed_cases, compare

#: Minimum of cases that agree in code and causes, and of those that agree in the message too. Never lowered.
FLOOR_CAUSES = 993
FLOOR_MESSAGES = 993
#: The same for the newest release: cases of the specification's release, and new ones.
NEWEST_FLOORS = ((938, 933), (618, 616))


def _count(cases: Iterable[Case], settings: ObjectSettings) -> tuple[int, int]:
    """The number of cases that agree in code and causes, and of those that agree in the message too."""
    total: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    messages: Counter[str] = Counter()
    for case in cases:
        same, told, text = compare(case, settings)
        total[case.kind] += 1
        causes[case.kind] += same
        messages[case.kind] += told
        if not told:
            sys.stdout.write("\n" + text)
    for kind, count in total.most_common():
        sys.stdout.write("\n" + f"{kind}: {causes[kind]}/{messages[kind]} of {count}")
    sys.stdout.write("\n" + f"all: {causes.total()}/{messages.total()} of {total.total()}")
    return causes.total(), messages.total()


def test_causes_and_messages_are_the_recorded_ones(reference: Callable[[str], Any]) -> None:
    """Validation finds the reference's causes with its messages in at least as many cases as before."""
    replay = Replay()
    causes, messages = _count(replay.cases(reference("validation")["cases"]), replay.settings)
    assert causes >= FLOOR_CAUSES
    assert messages >= FLOOR_MESSAGES


def test_causes_and_messages_of_the_newest_release_are_the_recorded_ones(reference: Callable[[str], Any]) -> None:
    """Of the cases of the specification's release and of new ones, as many agree with the newest release as before."""
    changes = reference("1.35/validation")
    for recorded, floors in zip(
        (changed_cases(reference("validation"), changes), changes["cases"]), NEWEST_FLOORS, strict=True
    ):
        replay = Replay(NEWEST)
        causes, messages = _count(replay.cases(recorded), replay.settings)
        assert causes >= floors[0]
        assert messages >= floors[1]
