"""Single steps of a deployment's reconcile, over plain objects and a client that records writes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchd.controllers.deployment import sizing
from orchd.controllers.deployment.rollout import HASH_LABEL, Keys, Rollout, same_template
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.kinds.times import timestamp
from orchd.testing.doubles.server import NOW, run
from tests.controllers.recording_support import EXISTS, FORBIDDEN, MISSING, recording_client

KEYS = Keys(ORCH)
TIME = timestamp(NOW)
#: A status whose observed generation is current.
OBSERVED = {"observedGeneration": 1}


def rolling(surge: Any, unavailable: Any) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def deployment(replicas: int = 3, annotations: Any = None, status: Any = None, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"image": "new"}}
    strategy = rolling(1, 0)
    return {
        "metadata": {"name": "d", "namespace": "a", "uid": "u", "generation": 1, "annotations": annotations or {}},
        "spec": {"replicas": replicas, "template": template, "strategy": strategy, "selector": {}, **spec},
        "status": status or {},
    }


def replica_set(
    name: str, size: int, available: int | None = None, image: str = "old", annotations: Any = None, **status: Any
) -> dict[str, Any]:
    """A replica set, by default with all its pods available. The image is that of its template; sets are as old as
    their names are low."""
    number = size if available is None else available
    numbers = {"replicas": size, "readyReplicas": number, "availableReplicas": number, "observedGeneration": 1}
    template = {"metadata": {"labels": {"app": "x", HASH_LABEL: name}}, "spec": {"image": image}}
    return {
        "metadata": {"name": name, "namespace": "a", "uid": name, "generation": 1, "annotations": annotations or {}},
        "spec": {"replicas": size, "template": template},
        "status": {**numbers, **status},
    }


class Step:
    """A rollout of a deployment with its sets, the client's calls and the events."""

    def __init__(
        self, top: dict[str, Any], *sets: Any, client: Any = None, release: Release = SPECIFICATION, features: Any = ()
    ) -> None:
        self.client = client or recording_client()
        self.events: list[tuple[str, str]] = []
        env: Any = SimpleNamespace(wall=lambda: NOW, release=release, feature=lambda name: name in features)
        self.rollout = Rollout(self.client, KEYS, top, sets, record=self._record, env=env)

    def _record(self, about: Any, type_: str, reason: str, note: str) -> None:
        self.events.append((reason, note))

    def sizes(self) -> dict[str, int]:
        """Sizes by the name of each set."""
        return {each["metadata"]["name"]: each["spec"]["replicas"] for each in self.rollout.every}

    def scaled(self) -> dict[str, int]:
        """Sizes that were written, by name."""
        return {
            name: body["spec"]["replicas"]
            for (verb, plural, name), body in zip(self.client.calls, self.client.bodies, strict=True)
            if (verb, plural) == ("update", "replicasets")
        }


def test_templates_are_compared_without_the_hash() -> None:
    """The label of the hash and the creation time do not count, other labels and the spec do."""
    top = deployment()
    assert same_template(replica_set("n", 1, image="new"), top)
    assert not same_template(replica_set("n", 1), top)
    for metadata, equal in (
        ({"labels": {"app": "x"}, "creationTimestamp": None}, True),
        ({"labels": {"app": "y"}}, False),
        ({"labels": {"app": "x"}, "annotations": {"a": "b"}}, False),
    ):
        other = {"spec": {"template": {"metadata": metadata, "spec": {"image": "new"}}}}
        assert same_template(other, top) == equal
    bare: dict[str, Any] = {"spec": {"template": {"metadata": {}, "spec": {}}}}
    assert same_template({"spec": {"template": {"metadata": {"labels": {HASH_LABEL: "h"}}, "spec": {}}}}, bare)


def test_oldest_set_with_the_template_is_the_newest_revision() -> None:
    step = Step(
        deployment(), replica_set("r2", 1, image="new"), replica_set("r1", 2, image="new"), replica_set("r0", 1)
    )
    assert step.rollout.newest is not None and step.rollout.newest["metadata"]["name"] == "r1"
    assert [each["metadata"]["name"] for each in step.rollout.old] == ["r2", "r0"]


ROLLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, int]]] = {
    "up by the surge": (rolling(1, 0), (replica_set("o", 3), replica_set("n", 0, image="new")), {"n": 1}),
    "up to the size": (rolling(5, 0), (replica_set("o", 3), replica_set("n", 0, image="new")), {"n": 3}),
    "too large": (rolling(1, 0), (replica_set("n", 5, image="new"),), {"n": 3}),
    "up before old ones go down": (rolling(1, 1), (replica_set("o", 3), replica_set("n", 0, image="new")), {"n": 1}),
    "old pods are not gone yet": (
        rolling(1, 0),
        (replica_set("o", 2, 4), replica_set("p", 1, 1), replica_set("n", 1, 0, image="new")),
        {},
    ),
    "more available than wanted": (rolling(0, 2), (replica_set("o", 2, 3), replica_set("n", 1, image="new")), {"o": 0}),
    "full: old ones down": (rolling(1, 0), (replica_set("o", 3), replica_set("n", 1, image="new")), {"o": 2}),
    "new one not available": (rolling(1, 0), (replica_set("o", 3), replica_set("n", 1, 0, image="new")), {}),
    "one may be unavailable": (rolling(0, 1), (replica_set("o", 3), replica_set("n", 0, image="new")), {"o": 2}),
    "broken old ones first": (
        rolling(0, 1),
        (replica_set("o1", 2, 2), replica_set("o2", 2, 1), replica_set("n", 0, image="new")),
        {"o2": 1, "o1": 1},
    ),
    "broken ones of several sets": (
        rolling(0, 2),
        (replica_set("o1", 2, 0), replica_set("o2", 2, 0), replica_set("n", 0, image="new")),
        {"o1": 0, "o2": 1},
    ),
    "new ones not available count": (rolling(0, 1), (replica_set("o1", 2, 0), replica_set("n", 1, 0, image="new")), {}),
    "done": (rolling(1, 0), (replica_set("o", 0), replica_set("n", 3, image="new")), {}),
}


@pytest.mark.parametrize("name", ROLLS)
def test_step_of_a_rolling_update(name: str) -> None:
    """A deployment of three pods: the new set grows within the surge; then old ones shrink as far as enough pods stay
    available."""
    strategy, sets, expected = ROLLS[name]
    top = deployment(strategy=strategy)
    marked = {KEYS.desired: "3", KEYS.most: str(3 + strategy["rollingUpdate"]["maxSurge"])}
    for each in sets:
        each["metadata"]["annotations"].update(marked)
    step = Step(top, *sets)
    run(step.rollout.roll())
    assert step.scaled() == expected
    before = {each["metadata"]["name"]: each["spec"]["replicas"] for each in sets}
    assert step.sizes() == {**before, **expected}
    assert [reason for reason, _ in step.events] == ["ScalingReplicaSet"] * len(expected)


@pytest.mark.parametrize(
    ("release", "notes"),
    [
        (SPECIFICATION, ["Scaled down replica set n to 3", "Scaled up replica set n to 4"]),
        (NEWEST, ["Scaled down replica set n from 5 to 3", "Scaled up replica set n from 3 to 4"]),
    ],
)
def test_events_of_scaling(release: Release, notes: list[str]) -> None:
    """The note has the direction and the new size, and the former one since 1.29; equal sizes are no event, though the
    annotations are written."""
    step = Step(deployment(), replica_set("n", 5, image="new"), release=release)
    assert step.rollout.newest is not None
    assert run(step.rollout.scale(step.rollout.newest, 3))
    assert step.rollout.newest["metadata"]["annotations"] == {KEYS.desired: "3", KEYS.most: "4"}
    assert not run(step.rollout.scale(step.rollout.newest, 3))
    assert len(step.client.calls) == 1
    assert run(step.rollout.scale(step.rollout.newest, 4))
    assert step.events == [("ScalingReplicaSet", note) for note in notes]
    marked = Step(deployment(), replica_set("n", 3, image="new"))
    assert marked.rollout.newest is not None
    assert not run(marked.rollout.scale(marked.rollout.newest, 3))
    assert len(marked.client.calls) == 1 and not marked.events


RESCALES: dict[str, tuple[dict[str, Any], tuple[Any, ...], dict[str, int]]] = {
    "single set": (deployment(), (replica_set("o", 1), replica_set("n", 0, image="new")), {"o": 3}),
    "no live set": (deployment(), (replica_set("o", 0), replica_set("n", 0, image="new")), {"n": 3}),
    "no live and no new set": (deployment(), (replica_set("o1", 0), replica_set("o2", 0)), {"o2": 3}),
    "no set": (deployment(), (), {}),
    "new one saturated": (
        deployment(),
        (replica_set("o", 2), replica_set("n", 3, image="new", annotations={KEYS.desired: "3"})),
        {"o": 0},
    ),
    "new one not available": (
        deployment(5),
        (replica_set("o", 2), replica_set("n", 2, 1, image="new", annotations={KEYS.desired: "5", KEYS.most: "4"})),
        {"o": 3, "n": 3},
    ),
    "new one of another scale": (
        deployment(),
        (replica_set("o", 2), replica_set("n", 3, image="new", annotations={KEYS.desired: "2", KEYS.most: "5"})),
        {"o": 2, "n": 2},
    ),
    "new one not all available": (
        deployment(),
        (replica_set("o", 2), replica_set("n", 3, 2, image="new", annotations={KEYS.desired: "3", KEYS.most: "5"})),
        {"o": 2, "n": 2},
    ),
    "recreate does not scale in proportion": (
        deployment(5, strategy={"type": "Recreate"}),
        (replica_set("o", 2), replica_set("n", 2, image="new")),
        {},
    ),
}


@pytest.mark.parametrize("name", RESCALES)
def test_change_of_scale(name: str) -> None:
    """A single set gets the size. Of several, old ones end if the new one has all pods; otherwise all change in
    proportion."""
    top, sets, expected = RESCALES[name]
    step = Step(top, *sets)
    run(step.rollout.rescale())
    assert step.scaled() == expected


def test_scale_annotations_of_a_set_of_the_right_size_are_written() -> None:
    step = Step(deployment(), replica_set("n", 3, image="new"))
    run(step.rollout.rescale())
    assert step.scaled() == {"n": 3} and not step.events


@pytest.mark.parametrize(
    ("sets", "scaling"),
    [
        ((replica_set("n", 3, annotations={KEYS.desired: "3"}),), False),
        ((replica_set("n", 3, annotations={KEYS.desired: "2"}),), True),
        ((replica_set("n", 0, annotations={KEYS.desired: "2"}),), False),
        ((replica_set("n", 3),), False),
        (
            (
                replica_set("m", 3, annotations={KEYS.desired: "3"}),
                replica_set("n", 1, annotations={KEYS.desired: "2"}),
            ),
            True,
        ),
    ],
)
def test_deployment_is_scaling_if_a_live_set_has_another_size_noted(sets: tuple[Any, ...], scaling: bool) -> None:
    assert Step(deployment(), *sets).rollout.scaling() == scaling


def test_stopping_old_sets() -> None:
    """All of them, whatever the first says; not the new one."""
    step = Step(deployment(), replica_set("o1", 2), replica_set("o2", 0), replica_set("n", 3, image="new"))
    assert run(step.rollout.stop_old()) and step.scaled() == {"o1": 0}
    step = Step(deployment(), replica_set("o1", 2), replica_set("o2", 1))
    assert run(step.rollout.stop_old()) and step.scaled() == {"o1": 0, "o2": 0}
    assert not run(step.rollout.stop_old())


# -- revisions and creation


def test_new_set_has_the_next_revision_and_the_scale() -> None:
    """Annotations are the deployment's own ones without those about revisions, the scale and what was applied."""
    notes = {"mine": "1", KEYS.history: "x", ORCH.last_applied: "{}", KEYS.desired: "9", KEYS.most: "9"}
    top = deployment(
        annotations={**notes, KEYS.revision: "7"}, minReadySeconds=5, selector={"matchLabels": {"app": "x"}}
    )
    step = Step(top, replica_set("o", 3, annotations={KEYS.revision: "4"}))
    assert run(step.rollout.ensure_newest(create=False)) and not step.client.calls
    assert run(step.rollout.ensure_newest(create=True))
    created, status = step.client.bodies
    hashed = created["spec"]["selector"]["matchLabels"].pop(HASH_LABEL)
    assert created["metadata"] == {
        "name": f"d-{hashed}",
        "namespace": "a",
        "labels": {"app": "x", HASH_LABEL: hashed},
        "annotations": {"mine": "1", KEYS.revision: "5", KEYS.desired: "3", KEYS.most: "4"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u",
                "controller": True, "blockOwnerDeletion": True,
            }
        ],
    }  # fmt: skip
    assert created["spec"]["replicas"] == 1 and created["spec"]["minReadySeconds"] == 5
    assert created["spec"]["selector"] == {"matchLabels": {"app": "x"}}
    assert created["spec"]["template"]["metadata"]["labels"] == {"app": "x", HASH_LABEL: hashed}
    assert status["metadata"]["annotations"][KEYS.revision] == "5"
    assert step.client.calls[1] == ("update", "deployments/status", "d")
    assert step.events == [("ScalingReplicaSet", f"Scaled up replica set d-{hashed} to 1")]
    full = Step(deployment(), replica_set("o", 4))
    run(full.rollout.ensure_newest(create=True))
    assert full.client.bodies[0]["spec"]["replicas"] == 0 and not full.events
    assert full.client.bodies[0]["spec"]["minReadySeconds"] == 0


@pytest.mark.parametrize("annotations", [None, {}, {KEYS.revision: "x"}])
def test_first_revision(annotations: Any) -> None:
    """Without old sets, or with old ones that have no revision."""
    step = Step(deployment(), *([] if annotations is None else [replica_set("o", 3, annotations=annotations)]))
    run(step.rollout.ensure_newest(create=True))
    assert step.client.bodies[0]["metadata"]["annotations"][KEYS.revision] == "1"


def test_old_set_that_is_used_again_has_the_next_revision() -> None:
    """The one before goes to its history, of at most 2000 bytes; annotations of the deployment are added, its own
    stay."""
    long = ",".join(str(number) for number in range(1000, 1400))
    for before, history, after in (
        ("2", None, "2"),
        ("2", "1", "1,2"),
        ("1400", long, ",".join([*long.split(",")[1:], "1400"])),
        ("10000", long[:-5], f"{long[:-5]},10000"),
    ):
        notes = {KEYS.revision: before, "own": "1", **({KEYS.history: history} if history else {})}
        top = deployment(annotations={"mine": "1"})
        step = Step(
            top,
            replica_set("o", 1, annotations={KEYS.revision: "15000"}),
            replica_set("n", 1, image="new", annotations=notes),
        )
        run(step.rollout.ensure_newest(create=True))
        annotations = step.client.bodies[0]["metadata"]["annotations"]
        assert annotations == {KEYS.revision: "15001", KEYS.history: after, "own": "1", "mine": "1"}
        assert len(after) <= 2000


@pytest.mark.parametrize(
    ("set_spec", "top_spec", "calls"),
    [({}, {}, []), ({"minReadySeconds": 5}, {}, ["replicasets"]), ({}, {"minReadySeconds": 5}, ["replicasets"])],
)
def test_newest_set_is_written_if_it_changes(set_spec: Any, top_spec: Any, calls: list[str]) -> None:
    newest = replica_set("n", 3, image="new", annotations={KEYS.revision: "3"})
    newest["spec"].update(set_spec)
    step = Step(
        deployment(annotations={KEYS.revision: "3"}, **top_spec),
        replica_set("o", 0, annotations={KEYS.revision: "2"}),
        newest,
    )
    run(step.rollout.ensure_newest(create=True))
    assert [plural for _, plural, _ in step.client.calls] == calls
    if calls:
        assert step.client.bodies[0]["spec"]["minReadySeconds"] == top_spec.get("minReadySeconds", 0)


PROGRESSING = {"type": "Progressing", "status": "True", "reason": "r", "message": "m"}


@pytest.mark.parametrize(
    ("revision", "deadline", "conditions", "reason"),
    [
        ("3", 600, [PROGRESSING], None),
        ("2", 600, [PROGRESSING], "r"),
        ("3", 600, [], "FoundNewReplicaSet"),
        ("2", None, [], ""),
        ("3", None, [], None),
        ("3", sizing.NO_LIMIT, [], None),
    ],
)
def test_deployment_is_marked_with_the_revision(
    revision: str, deadline: int | None, conditions: list[Any], reason: str | None
) -> None:
    """And gets the condition Progressing, if it has a deadline. Nothing is written if it has both; `reason` is that of
    the condition, "" for no condition."""
    newest = replica_set("n", 3, image="new", annotations={KEYS.revision: "3"})
    status = {"conditions": conditions}
    step = Step(
        deployment(annotations={KEYS.revision: revision}, status=status, progressDeadlineSeconds=deadline), newest
    )
    run(step.rollout.ensure_newest(create=True))
    if reason is None:
        assert not step.client.calls
        return
    (written,) = step.client.bodies
    assert written["metadata"]["annotations"][KEYS.revision] == "3"
    assert [each["reason"] for each in written["status"]["conditions"]] == ([reason] if reason else [])


def test_new_set_replaces_the_condition() -> None:
    step = Step(deployment(status={"conditions": [PROGRESSING]}, progressDeadlineSeconds=600))
    run(step.rollout.ensure_newest(create=True))
    (condition,) = step.client.bodies[-1]["status"]["conditions"]
    assert condition["reason"] == "NewReplicaSetCreated" and condition["message"].startswith(
        'Created new replica set "d-'
    )


@pytest.mark.parametrize("owned", [True, False])
def test_set_with_the_name_of_the_new_one(owned: bool) -> None:
    """Our own, which the informer does not show yet, is used without an event; another one counts as a collision."""
    name = Step(deployment())
    run(name.rollout.ensure_newest(create=True))
    taken = {**name.client.bodies[0], "status": {}}
    if not owned:
        taken = {**taken, "metadata": {**taken["metadata"], "ownerReferences": []}}
    client = recording_client(taken, create=EXISTS)
    step = Step(deployment(), client=client)
    if owned:
        assert run(step.rollout.ensure_newest(create=True))
        assert step.rollout.newest is taken and not step.events
        return
    with pytest.raises(ApiError):
        run(step.rollout.ensure_newest(create=True))
    assert client.bodies[-1]["status"] == {"collisionCount": 1}
    again = Step(deployment(status={"collisionCount": 1}))
    run(again.rollout.ensure_newest(create=True))
    assert again.client.calls[0][2] != name.client.calls[0][2]


@pytest.mark.parametrize("deadline", [None, 600])
def test_set_that_cannot_be_created_is_reported(deadline: int | None) -> None:
    """With an event, and in the condition of a deployment with a deadline."""
    client = recording_client(create=FORBIDDEN)
    step = Step(deployment(progressDeadlineSeconds=deadline), client=client)
    with pytest.raises(ApiError):
        run(step.rollout.ensure_newest(create=True))
    ((reason, note),) = step.events
    assert reason == "ReplicaSetCreateError" and note.startswith('Failed to create new replica set "d-')
    assert note.endswith('": refused')
    written = [body["status"]["conditions"] for body in client.bodies[1:]]
    condition = {
        "type": "Progressing", "status": "False", "reason": reason, "message": note,
        "lastUpdateTime": TIME, "lastTransitionTime": TIME,
    }  # fmt: skip
    assert written == ([[condition]] if deadline else [])


def test_nothing_is_created_in_a_namespace_that_ends() -> None:
    cause = {"causes": [{"reason": "NamespaceTerminating"}]}
    client = recording_client(create=ApiError(403, "Forbidden", "ends", details=cause))
    step = Step(deployment(progressDeadlineSeconds=600), client=client)
    assert not run(step.rollout.ensure_newest(create=True))
    assert not step.events and len(client.calls) == 1


# -- old sets


def _old(name: str, revision: str, **changes: Any) -> dict[str, Any]:
    return replica_set(name, changes.pop("size", 0), annotations={KEYS.revision: revision}, **changes)


CLEANUPS: dict[str, tuple[int | None, tuple[Any, ...], list[str]]] = {
    "lowest revisions": (1, (_old("a", "3"), _old("b", "1"), _old("c", "2")), ["b", "c"]),
    "without a revision": (1, (_old("a", "1"), replica_set("b", 0)), ["b"]),
    "as numbers": (1, (_old("a", "10"), _old("b", "9")), ["b"]),
    "all": (0, (_old("a", "1"),), ["a"]),
    "within the limit": (2, (_old("a", "1"), _old("b", "2")), []),
    "no limit": (None, (_old("a", "1"),), []),
    "the largest limit": (sizing.NO_LIMIT, (_old("a", "1"),), []),
    "pods left": (0, (_old("a", "1", replicas=1), _old("b", "2")), ["b"]),
    "size above 0": (0, (_old("a", "1", size=1, replicas=0), _old("b", "2")), ["b"]),
    "not reconciled": (0, (_old("a", "1", observedGeneration=0), _old("b", "2")), ["b"]),
}


@pytest.mark.parametrize("name", CLEANUPS)
def test_old_sets_beyond_the_limit_are_deleted(name: str) -> None:
    """Those of the lowest revisions, unless they have pods or news; one that is gone is no error."""
    limit, sets, deleted = CLEANUPS[name]
    for failures in ({}, {"delete": MISSING}):
        step = Step(deployment(revisionHistoryLimit=limit), *sets, client=recording_client(**failures))
        run(step.rollout.clean_up())
        assert [called for _, _, called in step.client.calls] == deleted


def test_sets_that_are_being_deleted_do_not_count() -> None:
    ending = _old("a", "1")
    ending["metadata"]["deletionTimestamp"] = TIME
    step = Step(deployment(revisionHistoryLimit=1), ending, _old("b", "2"))
    run(step.rollout.clean_up())
    assert not step.client.calls
    step = Step(deployment(revisionHistoryLimit=0), _old("a", "1"), client=recording_client(delete=FORBIDDEN))
    with pytest.raises(ApiError):
        run(step.rollout.clean_up())


# -- status


def test_status_counts_pods_of_all_sets() -> None:
    """Zeros are left out; more pods than asked for are not unavailable."""
    step = Step(deployment(), replica_set("o", 1, 1), replica_set("n", 3, 1, image="new"))
    status = step.rollout.status()
    (condition,) = status.pop("conditions")
    assert status == {
        "observedGeneration": 1, "replicas": 4, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 2,
        "unavailableReplicas": 2,
    }  # fmt: skip
    assert (condition["type"], condition["status"], condition["reason"]) == (
        *("Available", "False"),
        "MinimumReplicasUnavailable",
    )
    more = Step(deployment(status={"collisionCount": 2}), replica_set("o", 1, 2)).rollout.status()
    assert "unavailableReplicas" not in more and "updatedReplicas" not in more and more["collisionCount"] == 2


@pytest.mark.parametrize(
    ("available", "unavailable", "value"), [(3, 0, "True"), (2, 0, "False"), (2, 1, "True"), (1, 1, "False")]
)
def test_deployment_is_available_with_enough_pods(available: int, unavailable: int, value: str) -> None:
    step = Step(deployment(strategy=rolling(1, unavailable)), replica_set("n", 3, available, image="new"))
    assert step.rollout.status()["conditions"][0]["status"] == value


def test_terminating_pods_are_counted_behind_a_gate() -> None:
    """If all sets that were reconciled report them."""
    gate = ("DeploymentReplicaSetTerminatingReplicas",)
    one, two = replica_set("o", 1, terminatingReplicas=2), replica_set("n", 3, image="new", terminatingReplicas=1)
    assert Step(deployment(), one, two, features=gate).rollout.status()["terminatingReplicas"] == 3
    assert "terminatingReplicas" not in Step(deployment(), one, two).rollout.status()
    silent = replica_set("p", 1)
    assert "terminatingReplicas" not in Step(deployment(), one, silent, features=gate).rollout.status()
    silent["status"]["observedGeneration"] = 0
    assert Step(deployment(), one, silent, features=gate).rollout.status()["terminatingReplicas"] == 2


def test_unchanged_status_is_not_written() -> None:
    step = Step(deployment(), replica_set("n", 3, image="new"))
    run(step.rollout.write_status())
    run(step.rollout.write_status())
    assert step.client.calls == [("update", "deployments/status", "d")]


def progress(reason: str, ago: float = 0, value: str = "True") -> dict[str, Any]:
    at = timestamp(NOW - ago)
    return {
        "type": "Progressing", "status": value, "reason": reason, "message": "m",
        "lastUpdateTime": at, "lastTransitionTime": timestamp(NOW - 5000),
    }  # fmt: skip


#: Status of the deployment before; size and available pods of its new set; then the condition: status and reason; and
#: the seconds until the deadline.
STORED = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 1, "availableReplicas": 1}
PROGRESS: dict[str, tuple[Any, int, tuple[str, str] | None, float | None]] = {
    "complete": ([progress("ReplicaSetUpdated")], 3, ("True", "NewReplicaSetAvailable"), None),
    "more are available": ([progress("ReplicaSetUpdated", 60)], 2, ("True", "ReplicaSetUpdated"), 601.0),
    "more, first condition": ([], 2, ("True", "ReplicaSetUpdated"), 601.0),
    "no news": ([progress("ReplicaSetUpdated", 60)], 1, ("True", "ReplicaSetUpdated"), 541.0),
    "no news until the deadline": ([progress("ReplicaSetUpdated", 600)], 1, ("True", "ReplicaSetUpdated"), 1.0),
    "no news after the deadline": (
        [progress("ReplicaSetUpdated", 601)],
        1,
        ("False", "ProgressDeadlineExceeded"),
        None,
    ),
    "failed before": (
        [progress("ProgressDeadlineExceeded", 1, "False")],
        1,
        ("False", "ProgressDeadlineExceeded"),
        None,
    ),
    "no news, no condition": ([], 1, None, None),
    "news after the rollout": ([progress("NewReplicaSetAvailable", 60)], 2, ("True", "NewReplicaSetAvailable"), None),
}


@pytest.mark.parametrize("name", PROGRESS)
def test_condition_of_progress(name: str) -> None:
    """News restart the deadline; without news the condition fails after it."""
    conditions, available, expected, left = PROGRESS[name]
    status = {**STORED, "conditions": conditions}
    step = Step(deployment(status=status, progressDeadlineSeconds=600), replica_set("n", 3, available, image="new"))
    step.rollout.deployment["metadata"]["generation"] = 1
    assert run(step.rollout.write_progress()) == left
    written = step.client.bodies[-1]["status"]["conditions"]
    results = [(each["status"], each["reason"]) for each in written if each["type"] == "Progressing"]
    assert results == ([expected] if expected else [])
    if name == "more are available":
        (condition,) = [each for each in written if each["type"] == "Progressing"]
        assert (condition["lastUpdateTime"], condition["lastTransitionTime"]) == (TIME, timestamp(NOW - 5000))
        assert condition["message"] == 'ReplicaSet "n" is progressing.'


def test_progress_without_a_deadline_has_no_condition() -> None:
    status = {**STORED, "conditions": [progress("ReplicaSetUpdated", 6000)]}
    step = Step(deployment(status=status), replica_set("n", 3, 1, image="new"))
    assert run(step.rollout.write_progress()) is None
    assert [each["type"] for each in step.client.bodies[-1]["status"]["conditions"]] == ["Available"]


def test_complete_rollout_keeps_its_condition() -> None:
    """Pods that are not available later do not start a deadline."""
    status = {**STORED, "conditions": [progress("NewReplicaSetAvailable", 6000)]}
    step = Step(deployment(status=status, progressDeadlineSeconds=600), replica_set("n", 3, 0, image="new"))
    assert run(step.rollout.write_progress()) is None
    (condition,) = [each for each in step.client.bodies[-1]["status"]["conditions"] if each["type"] == "Progressing"]
    assert condition == progress("NewReplicaSetAvailable", 6000)


def test_failure_of_a_set_is_that_of_the_deployment() -> None:
    """The newest set's first; it goes when no set has it."""
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "m",
        "lastTransitionTime": TIME,
    }
    over = {**failure, "status": "False"}
    sets = (
        replica_set("o", 1, conditions=[{**failure, "message": "old"}]),
        replica_set("n", 3, image="new", conditions=[failure]),
    )
    for chosen, message in ((sets, "m"), (sets[:1], "old"), ((replica_set("n", 3, conditions=[over]),), None)):
        status = {"conditions": [{**failure, "reason": "before"}]}
        step = Step(deployment(status=status), *chosen)
        run(step.rollout.write_progress())
        written = step.client.bodies[-1]["status"]["conditions"]
        expected = [] if message is None else [{**failure, "message": message, "lastUpdateTime": TIME}]
        assert [each for each in written if each["type"] == "ReplicaFailure"] == expected


@pytest.mark.parametrize(
    ("paused", "conditions", "deadline", "reason"),
    [
        (True, [], 600, "DeploymentPaused"),
        (True, [progress("ReplicaSetUpdated")], 600, "DeploymentPaused"),
        (True, [progress("DeploymentPaused")], 600, None),
        (False, [progress("DeploymentPaused")], 600, "DeploymentResumed"),
        (False, [progress("ReplicaSetUpdated")], 600, None),
        (False, [], 600, None),
        (True, [progress("ProgressDeadlineExceeded")], 600, None),
        (True, [], None, None),
    ],
)
def test_pause_stops_the_deadline(paused: bool, conditions: Any, deadline: int | None, reason: str | None) -> None:
    step = Step(deployment(status={"conditions": conditions}, paused=paused, progressDeadlineSeconds=deadline))
    run(step.rollout.note_pause())
    written = [body["status"]["conditions"][-1] for body in step.client.bodies]
    results = [(each["type"], each["status"], each["reason"]) for each in written]
    assert results == ([("Progressing", "Unknown", reason)] if reason else [])


# -- arithmetic


def test_progress_of_missing_counts() -> None:
    """A member that is not there counts as 0."""
    assert not sizing.progressing(deployment(), {})


def test_new_rollout_progresses_again() -> None:
    """A deployment that was complete has the condition of a new rollout as soon as a new pod is there."""
    status = {**STORED, "updatedReplicas": 0, "conditions": [progress("NewReplicaSetAvailable", 60)]}
    top = deployment(status=status, progressDeadlineSeconds=600)
    step = Step(top, replica_set("o", 3), replica_set("n", 1, 0, image="new"))
    assert run(step.rollout.write_progress()) == 601.0
    (condition,) = [each for each in step.client.bodies[-1]["status"]["conditions"] if each["type"] == "Progressing"]
    assert condition["reason"] == "ReplicaSetUpdated"


def test_size_of_the_new_set() -> None:
    """It is not scaled without room, also if it is too large; nor is the surge used by another strategy."""
    assert sizing.new_size(deployment(), [replica_set("n", 4)], replica_set("n", 4)) == 4
    top = deployment(strategy={"type": "Recreate"})
    assert sizing.new_size(top, [replica_set("n", 4)], 4) == 3
    assert (sizing.max_surge(top), sizing.max_unavailable(top)) == (0, 0)
    assert sizing.desired_replicas({"spec": {}}) == 1


def test_sets_are_ordered_by_their_creation() -> None:
    """Then by name."""
    sets = [replica_set("a", 1), replica_set("c", 1), replica_set("b", 1)]
    sets[0]["metadata"]["creationTimestamp"] = TIME
    assert [each["metadata"]["name"] for each in sizing.by_age(sets)] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("replicas", "surge", "most", "sizes", "expected"),
    [
        (5, 3, 6, [2, 2, 2], {"r2": 3, "r1": 3, "r0": 2}),
        (3, 3, 8, [3, 3, 2], {"r0": 2, "r1": 2, "r2": 2}),
        (1, 0, 3, [1, 1, 1], {"r0": 0, "r1": 0, "r2": 1}),
        (1, 0, 1, [1, 1, 1], {"r0": 0, "r1": 1, "r2": 1}),
        (5, 0, None, [2, 2], {"r1": 3, "r0": 2}),
        (3, 1, 9, [2, 2], {"r0": 2, "r1": 2}),
        (0, 3, 8, [3, 3, 2], {"r0": 0, "r1": 0, "r2": 0}),
    ],
)
def test_shares_of_a_scale(
    replicas: int, surge: int, most: int | None, sizes: list[int], expected: dict[str, int]
) -> None:
    """Growing begins with the newest set, shrinking with the oldest; the largest one takes what is left over."""
    notes = {} if most is None else {KEYS.most: str(most)}
    sets = [replica_set(f"r{number}", size, annotations=notes) for number, size in enumerate(sizes)]
    pairs = sizing.proportions(deployment(replicas, strategy=rolling(surge, 1)), sets, max_annotation=KEYS.most)
    assert {each["metadata"]["name"]: size for each, size in pairs} == expected


@pytest.mark.parametrize(
    ("change", "news"),
    [
        ({}, False),
        ({"updatedReplicas": 3}, True),
        ({"updatedReplicas": 1}, False),
        ({"replicas": 4}, True),
        ({"replicas": 6}, False),
        ({"readyReplicas": 3}, True),
        ({"readyReplicas": 1}, False),
        ({"availableReplicas": 3}, True),
        ({"availableReplicas": 1}, False),
    ],
)
def test_progress_is_more_new_ready_or_available_pods_or_fewer_old_ones(change: dict[str, int], news: bool) -> None:
    before = {"replicas": 5, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    assert sizing.progressing(deployment(status=before), {**before, **change}) == news


@pytest.mark.parametrize(
    "change", [{"replicas": 4}, {"updatedReplicas": 2}, {"availableReplicas": 2}, {"observedGeneration": 0}]
)
def test_rollout_is_complete_with_new_available_pods_alone(change: dict[str, int]) -> None:
    fresh = {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "observedGeneration": 1}
    assert sizing.complete(deployment(), fresh) and sizing.complete(deployment(), {**fresh, "observedGeneration": 2})
    assert not sizing.complete(deployment(), {**fresh, **change})
    ones = dict.fromkeys(fresh, 1)
    assert sizing.complete(deployment(1), ones)
    (member,) = change
    assert not sizing.complete(deployment(1), {key: value for key, value in ones.items() if key != member})
