"""Rules of jobs: failures, successes and back-off."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.indexes import parse_indexes
from orchd.controllers.job_policies import Backoff, IndexFailures, finished_at, has_failed, judge_failure, met_success
from orchd.kinds.times import timestamp

_FAILURES = IndexFailures("counted", "ignored")


def _pod(*codes: int, conditions: tuple[str, ...] = (), **metadata: Any) -> dict[str, Any]:
    ended = [{"name": f"c{i}", "state": {"terminated": {"exitCode": code}}} for i, code in enumerate(codes)]
    return {
        "metadata": {"namespace": "a", "name": "p", "creationTimestamp": timestamp(5.0), **metadata},
        "spec": {},
        "status": {"containerStatuses": ended, "conditions": [{"type": each, "status": "True"} for each in conditions]},
    }


def _codes(action: str, operator: str, *values: int, **more: Any) -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values), **more}}


def _disrupted(action: str) -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


@pytest.mark.parametrize(
    ("rules", "pod", "action", "note"),
    [
        ([], _pod(1), "", ""),
        ([_codes("Ignore", "In", 3)], _pod(3), "Ignore", ""),
        ([_codes("Ignore", "In", 3)], _pod(4), "", ""),
        ([_codes("Ignore", "NotIn", 3)], _pod(4), "Ignore", ""),
        ([_codes("Ignore", "NotIn", 3)], _pod(0), "", ""),
        ([_codes("Ignore", "In", 3, containerName="c1")], _pod(3, 1), "", ""),
        ([_codes("FailIndex", "In", 3, containerName="c1")], _pod(1, 3), "FailIndex", ""),
        ([_disrupted("Count"), _codes("Ignore", "In", 3)], _pod(3, conditions=("DisruptionTarget",)), "Count", ""),
        (
            [_disrupted("Count"), _codes("FailJob", "In", 3)],
            _pod(3),
            "FailJob",
            "Container c0 for pod a/p failed with exit code 3 matching FailJob rule at index 1",
        ),
        (
            [_disrupted("FailJob")],
            _pod(1, conditions=("Ready", "DisruptionTarget")),
            "FailJob",
            "Pod a/p has condition DisruptionTarget matching FailJob rule at index 0",
        ),
    ],
)
def test_first_matching_rule_judges_a_failure(
    rules: list[dict[str, Any]], pod: dict[str, Any], action: str, note: str
) -> None:
    """Rules are tried in order; only those that fail the job explain it, and only ignored failures do not count."""
    verdict = judge_failure({"rules": rules}, pod)
    assert (verdict.action, verdict.note, verdict.counts) == (action, note, action != "Ignore")


@pytest.mark.parametrize(
    ("rules", "done", "note"),
    [
        ([{"succeededCount": 1}], "", ""),
        ([{"succeededCount": 2}], "0", ""),
        ([{"succeededCount": 2}], "0,5", "Matched rules at index 0"),
        ([{"succeededIndexes": "1-3"}], "0-2", ""),
        ([{"succeededIndexes": "1-3"}], "0-4", "Matched rules at index 0"),
        ([{"succeededIndexes": "1-3", "succeededCount": 2}], "2-3", "Matched rules at index 0"),
        ([{"succeededIndexes": "x"}, {"succeededIndexes": "7"}], "7", "Matched rules at index 1"),
    ],
)
def test_first_met_rule_makes_a_job_succeed(rules: list[dict[str, Any]], done: str, note: str) -> None:
    """A rule is met by all of its indexes, or by so many of them."""
    assert met_success({"rules": rules}, 10, parse_indexes(done, 10)) == note


@pytest.mark.parametrize(
    ("failures", "last", "now", "left"),
    [
        (0, 0.0, 100.0, 0.0),
        (1, 100.0, 100.0, 10.0),
        (2, 100.0, 105.0, 15.0),
        (4, 100.0, 200.0, 0.0),
        (7, 100.0, 100.0, 600.0),
        (10**6, 100.0, 100.0, 600.0),
    ],
)
def test_backoff_doubles_up_to_ten_minutes(failures: int, last: float, now: float, left: float) -> None:
    """It is measured from the end of the last failed pod."""
    assert Backoff(failures, last).left(now) == left


def test_success_resets_the_backoff() -> None:
    """Only failures after the last success count."""
    early, late = (_pod(deletionTimestamp=timestamp(at)) for at in (100.0, 300.0))
    success = _pod(deletionTimestamp=timestamp(200.0))
    assert Backoff(3, 50.0).after([], [early]) == Backoff(4, 100.0)
    assert Backoff(3, 50.0).after([success], [early, late]) == Backoff(1, 300.0)
    assert Backoff(3, 50.0).after([success], []) == Backoff()
    assert Backoff(3, 50.0).after([], []) == Backoff(3, 50.0)


def test_end_of_a_pod_is_that_of_its_last_container() -> None:
    """Sidecars end last; without containers that ended the Ready condition, the deletion or the creation say when a pod
    ended."""
    pod = _pod(deletionTimestamp=timestamp(60.0), deletionGracePeriodSeconds=30)
    assert finished_at(pod) == 30.0
    assert finished_at(_pod()) == 5.0
    pod["status"]["conditions"] = [{"type": "Ready", "status": "False", "lastTransitionTime": timestamp(40.0)}]
    assert finished_at(pod) == 40.0
    pod["spec"]["initContainers"] = [{"name": "side", "restartPolicy": "Always"}, {"name": "first"}]
    pod["status"]["initContainerStatuses"] = [
        {"name": name, "state": {"terminated": {"finishedAt": timestamp(at)}}}
        for name, at in (("side", 70.0), ("first", 90.0))
    ]
    pod["status"]["containerStatuses"] = [{"name": "c", "state": {"terminated": {"finishedAt": timestamp(65.0)}}}]
    assert finished_at(pod) == 70.0


def test_replacements_continue_the_counts_of_their_index() -> None:
    """Counted and ignored failures are counted apart; the pod with most failures is continued."""
    policy = {"rules": [_codes("Ignore", "In", 3)]}
    assert _FAILURES.annotations(None, policy) == {"counted": "0"}
    assert _FAILURES.annotations(_pod(1, annotations={"counted": "2"}), policy) == {"counted": "3"}
    ignored = _pod(3, annotations={"counted": "2", "ignored": "x"})
    assert _FAILURES.annotations(ignored, policy) == {"counted": "2", "ignored": "1"}
    older, newer = _pod(1, annotations={"counted": "1"}), _pod(1, annotations={"counted": "2"})
    assert _FAILURES.choose_replaced([newer, older], lambda pod: 4) == {4: newer}


def test_conditions_and_codes_that_do_not_match() -> None:
    """A condition of another status, and a code that NotIn lists, match no rule."""
    disrupted = _pod(1, conditions=("DisruptionTarget",))
    disrupted["status"]["conditions"][0]["status"] = "False"
    assert judge_failure({"rules": [_disrupted("Ignore")]}, disrupted).action == ""
    assert judge_failure({"rules": [_codes("Ignore", "NotIn", 3)]}, _pod(3)).action == ""
    assert judge_failure(None, _pod(3)).action == ""
    begun = _pod(3)
    begun["status"]["initContainerStatuses"] = begun["status"].pop("containerStatuses")
    assert judge_failure({"rules": [_codes("Ignore", "In", 3)]}, begun).action == "Ignore"


@pytest.mark.parametrize(
    ("policies", "phase", "deleted", "expected"),
    [
        ({}, "Failed", False, True),
        ({}, "Running", False, False),
        ({}, "Running", True, True),
        ({}, "Succeeded", True, False),
        ({"podReplacementPolicy": "TerminatingOrFailed"}, "Running", True, True),
        ({"podReplacementPolicy": "Failed"}, "Running", True, False),
        ({"podFailurePolicy": {}}, "Running", True, False),
        ({"podReplacementPolicy": "Failed"}, "Failed", True, True),
    ],
)
def test_pods_that_count_as_failed(policies: dict[str, Any], phase: str, deleted: bool, expected: bool) -> None:
    """A deleted pod does at once, unless the job replaces failed pods only."""
    deletion: dict[str, Any] = {"deletionTimestamp": timestamp(9.0)} if deleted else {}
    pod = _pod(**deletion)
    pod["status"]["phase"] = phase
    assert has_failed({"spec": policies}, pod) == expected


@pytest.mark.parametrize(
    ("first", "second", "at", "chosen"),
    [
        ({"counted": "1"}, {"counted": "1"}, 5.0, "second"),
        ({"counted": "1"}, {"counted": "1"}, 6.0, "second"),
        ({"counted": "2"}, {"counted": "1", "ignored": "2"}, 6.0, "second"),
        ({"counted": "2"}, {"counted": "1"}, 6.0, "first"),
        ({"counted": "1"}, {"counted": "2"}, 4.0, "first"),
    ],
)
def test_replaced_pod_of_an_index(first: dict[str, str], second: dict[str, str], at: float, chosen: str) -> None:
    """The second pod is, if it has as many failures before it, and did not end before the first, at 5 seconds."""
    nowhere, one = _pod(1), _pod(1, name="first", annotations=first)
    two = _pod(1, name="second", annotations=second, creationTimestamp=timestamp(at))
    replaced = _FAILURES.choose_replaced([nowhere, one, two], lambda pod: None if pod is nowhere else 4)
    assert {index: pod["metadata"]["name"] for index, pod in replaced.items()} == {4: chosen}


def test_replacement_waits_by_the_failures_of_its_index() -> None:
    """Counted and ignored ones, and that of the pod itself, since its end."""
    assert _FAILURES.left(None, 5.0) == 0.0
    assert _FAILURES.left(_pod(1), 5.0) == 10.0
    assert _FAILURES.left(_pod(1, annotations={"counted": "1", "ignored": "1"}), 6.0) == 39.0
