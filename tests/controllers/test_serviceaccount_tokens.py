"""Token secrets of service accounts, without a server."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from orchd.controllers.objects import SECRETS, SERVICE_ACCOUNTS
from orchd.controllers.serviceaccount_tokens import TokensController
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import run
from tests.controllers.recording_support import CONFLICT, FORBIDDEN, RecordingClient, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
TYPE = ORCH("{long}.io/service-account-token")
NAME, UID = ORCH("{long}.io/service-account.name"), ORCH("{long}.io/service-account.uid")
GONE: Entry = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def account(*secrets: str, uid: str = "u", **metadata: Any) -> Entry:
    own = {"name": "sa", "namespace": "a", "uid": uid, "resourceVersion": "1", **metadata}
    return {"metadata": own, **({"secrets": [{"name": each} for each in secrets]} if secrets else {})}


def secret(
    name: str = "t", of: str = "sa", uid: str | None = "u", kind: str = TYPE, data: Entry | None = None, **more: Any
) -> Entry:
    notes = {**({NAME: of} if of else {}), **({} if uid is None else {UID: uid})}
    metadata = {"name": name, "namespace": "a", "uid": name, "annotations": notes, **more}
    return {"metadata": metadata, "type": kind, **({"data": data} if data is not None else {})}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


DATA = {"ca.crt": encoded("CA"), "namespace": encoded("a"), "token": encoded("token of sa")}


def begin(*objects: Entry, live: Any = (), client: Any = None, listen: bool = True, **changes: Any) -> ControllerBench:
    """Objects are in the informers and on the server; those of `live` are on the server instead."""
    environment: Entry = {
        "authority": "CA",
        "issue_token": lambda account, name: f"token of {account['metadata']['name']}",
    }
    bench = ControllerBench(TokensController, client, **environment, **changes)
    if listen:
        result_of(bench.controller.listen())
    for each in objects:
        bench.informers.put(SECRETS if "type" in each else SERVICE_ACCOUNTS, each)
    bench.client.objects.update({each["metadata"]["name"]: each for each in (*objects, *live) if each})
    return bench


def writes(bench: ControllerBench) -> list[tuple[str, str, str]]:
    return [call for call in bench.client.calls if call[0] != "get"]


@pytest.mark.parametrize(
    ("objects", "live", "given"),
    [
        ([account()], [], True),
        ([account("t"), secret()], [], False),
        ([account("t"), secret(uid=None)], [], False),
        ([account("t"), secret(uid="")], [], False),
        ([account("t"), secret(uid="former")], [], True),
        ([account("t"), secret(of="other")], [], True),
        ([account("t"), secret(kind="Opaque")], [], True),
        ([account("other"), secret()], [], True),
        ([account("t")], [secret()], False),
        ([account("t")], [secret(kind="Opaque")], True),
        ([account("t")], [secret(of="other")], True),
        ([account(**GONE)], [], False),
        ([account()], [account(resourceVersion="2")], False),
    ],
)
def test_accounts_get_a_token(objects: list[Entry], live: list[Entry], given: bool) -> None:
    """Unless they refer to one, in the informer or on the server; one that the informer shows late is left alone."""
    bench = begin(*objects, live=live)
    assert result_of(bench.controller.reconcile(("a", "sa"))) is None
    verbs = [(verb, what) for verb, what, _ in writes(bench)]
    assert verbs == ([("create", "secrets"), ("update", "serviceaccounts")] if given else [])


def test_token_of_an_account() -> None:
    """The account refers to it after its other secrets."""
    bench = begin(account("x"))
    result_of(bench.controller.reconcile(("a", "sa")))
    bodies = [body for body in bench.client.bodies if body is not None]
    created, updated = bodies
    name = created["metadata"].pop("name")
    assert name.startswith("sa-token-")
    assert created == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": "a", "annotations": {NAME: "sa", UID: "u"}},
        "type": TYPE,
        "data": DATA,
    }
    assert updated["secrets"] == [{"name": "x"}, {"name": name}]


def test_later_releases_give_no_tokens() -> None:
    bench = begin(account(), release=NEWEST)
    result_of(bench.controller.reconcile(("a", "sa")))
    assert not writes(bench)


def test_tokens_go_with_their_account() -> None:
    """Unless the server still has it."""
    bench = begin(secret(), secret("other", of="sb"), secret("plain", kind="Opaque"))
    result_of(bench.controller.reconcile(("a", "sa")))
    assert writes(bench) == [("delete", "secrets", "t")]
    bench = begin(secret(), live=[account()])
    result_of(bench.controller.reconcile(("a", "sa")))
    assert not writes(bench)


class _Changing(RecordingClient):
    """Updates of the account fail so many times, with this error; meanwhile it becomes another one."""

    def __init__(self, times: int, error: ApiError, later: Entry | None = None) -> None:
        super().__init__()
        self.times, self.error, self.later = times, error, later

    async def update(self, *args: Any, **more: Any) -> Any:
        body = await super().update(*args, **more)
        if self.times:
            self.times -= 1
            if self.later is not None:
                self.objects["sa"] = self.later
            raise self.error
        return body


@pytest.mark.parametrize(
    ("times", "error", "later", "updates", "kept"),
    [
        (1, CONFLICT, None, 2, True),
        (9, CONFLICT, None, 10, True),
        (10, CONFLICT, None, 10, False),
        (1, CONFLICT, account(uid="next"), 1, False),
        (1, CONFLICT, account("x", "y"), 1, False),
        (1, CONFLICT, account("y"), 2, True),
        (1, FORBIDDEN, None, 1, False),
    ],
)
def test_account_that_changes_meanwhile(
    times: int, error: ApiError, later: Entry | None, updates: int, kept: bool
) -> None:
    """A token that no account refers to is deleted."""
    bench = begin(account("x"), client=_Changing(times, error, later))
    if error is FORBIDDEN:
        with pytest.raises(ApiError):
            result_of(bench.controller.reconcile(("a", "sa")))
    else:
        result_of(bench.controller.reconcile(("a", "sa")))
    verbs = [verb for verb, _, _ in writes(bench)]
    assert verbs == ["create", *["update"] * updates, *([] if kept else ["delete"])]


def test_refused_tokens() -> None:
    """A terminating namespace is no failure."""
    cause = {"causes": [{"reason": "NamespaceTerminating"}]}
    bench = begin(account(), client=recording_client(create=ApiError(403, "Forbidden", "ends", details=cause)))
    assert result_of(bench.controller.reconcile(("a", "sa"))) is None
    bench = begin(account(), client=recording_client(create=FORBIDDEN))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "sa")))


@pytest.mark.parametrize(
    ("change", "objects", "live", "expected"),
    [
        (secret(), [account()], [], DATA),
        (secret(uid=None), [account()], [], DATA),
        (secret(data={"ca.crt": "old", "x": "y"}), [account()], [], {**DATA, "x": "y"}),
        (secret(data={**DATA, "namespace": "own", "token": "own"}), [account()], [], None),
        (secret(data={**DATA, "token": ""}), [account()], [], DATA),
        (secret(data={**DATA, "namespace": ""}), [account()], [], DATA),
        (secret(data=DATA), [account()], [], None),
        (secret(), [], [account()], DATA),
        (secret(uid="next"), [account()], [account(uid="next")], DATA),
        (secret(uid="former"), [account()], [], "deleted"),
        (secret(), [], [], "deleted"),
        (secret(of=""), [], [], None),
        (secret(**GONE), [], [], None),
        (secret(kind="Opaque"), [], [], None),
    ],
)
def test_token_secrets_are_filled(change: Entry, objects: list[Entry], live: list[Entry], expected: Any) -> None:
    """Those of an account, in the informer or on the server; others are deleted."""
    bench = begin(*objects, change, live=live, listen=False, release=NEWEST)
    run(bench.controller.start())
    calls = list(zip(bench.client.calls, bench.client.bodies, strict=True))
    updates = [body for (verb, what, _), body in calls if (verb, what) == ("update", "secrets")]
    deleted = [body for (verb, what, _), body in calls if (verb, what) == ("delete", "secrets")]
    assert deleted == ([{"preconditions": {"uid": "t"}}] if expected == "deleted" else [])
    assert [body["data"] for body in updates] == ([expected] if isinstance(expected, dict) else [])
    if updates:
        uid = (live or objects)[0]["metadata"]["uid"]
        assert updates[0]["metadata"]["annotations"] == {NAME: "sa", UID: uid}
    run(bench.controller.stop())


@pytest.mark.parametrize(
    ("objects", "live", "expected"),
    [
        ([account("t", "x")], [], [["x"]]),
        ([account("x")], [], []),
        ([account("t")], [secret()], []),
        ([account("t")], [account("t", **GONE)], []),
        ([account("t")], [account("x")], []),
    ],
)
def test_deleted_tokens_leave_their_accounts(objects: list[Entry], live: list[Entry], expected: Any) -> None:
    """Unless the server has the secret, or the account without it."""
    bench = begin(*objects, secret(data=DATA, uid=None), listen=False, release=NEWEST)
    run(bench.controller.start())
    del bench.client.objects["t"]
    bench.client.objects.update({each["metadata"]["name"]: each for each in live})
    bench.informers.informer(SECRETS).remove("a", "t")
    calls = list(zip(bench.client.calls, bench.client.bodies, strict=True))
    updates = [body for (verb, what, _), body in calls if (verb, what) == ("update", "serviceaccounts")]
    assert [[each["name"] for each in body["secrets"]] for body in updates] == expected
    run(bench.controller.stop())


def test_changes_of_secrets_queue_their_account() -> None:
    """When a token is deleted."""
    bench = begin(account("t"), secret(data=DATA), secret("plain", kind="Opaque"))
    bench.queued()
    bench.informers.informer(SECRETS).remove("a", "plain")
    assert not bench.queued()
    bench.informers.informer(SECRETS).remove("a", "t")
    assert bench.queued() == [("a", "sa")]
