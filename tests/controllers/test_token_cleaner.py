"""The cleaner of generated token secrets: what it marks as invalid, what it deletes, and what it leaves alone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orchd.controllers.objects import PODS, SECRETS, SERVICE_ACCOUNTS
from orchd.controllers.serviceaccount_token_cleaner import LegacyTokenCleaner
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.testing.doubles.server import NOW, run
from tests.controllers.cluster_support import Cluster, template

DAY = 24 * 3600.0
INVALID, USED = ORCH("{long}.io/legacy-token-invalid-since"), ORCH("{long}.io/legacy-token-last-used")
FLAGS = ["--emulated-version=1.35", "--legacy-service-account-token-clean-up-period=48h"]
GENERATED = ("generated", "used", "mounted", "garbled")


def day(number: int) -> str:
    return datetime.fromtimestamp(NOW + number * DAY, UTC).date().isoformat()


def secret(name: str, labels: dict[str, str] | None = None, **annotations: str) -> dict[str, Any]:
    marks = {ORCH("{long}.io/service-account.name"): "sa", **annotations}
    metadata = {"name": name, "annotations": marks, "labels": labels or {}}
    return {"metadata": metadata, "type": ORCH("{long}.io/service-account-token")}


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    cluster = Cluster(tmp_path, ["legacy-service-account-token-cleaner"], FLAGS)
    cluster.namespace()
    cluster.create(SERVICE_ACCOUNTS, {"metadata": {"name": "sa"}, "secrets": [{"name": name} for name in GENERATED]})
    cluster.create(SECRETS, secret("generated"))
    cluster.create(SECRETS, secret("manual"))
    cluster.create(SECRETS, secret("used", {USED: day(4)}))
    cluster.create(SECRETS, secret("garbled", {USED: "yesterday"}))
    cluster.create(SECRETS, secret("mounted"))
    cluster.create(SECRETS, {"metadata": {"name": "plain"}})
    volumes = [{"name": "v", "secret": {"secretName": "mounted"}}]
    cluster.create(PODS, {**template({}, volumes=volumes), "metadata": {"name": "p"}})
    yield cluster
    cluster.stop()


def marked(cluster: Cluster) -> list[str]:
    return [
        each["metadata"]["name"] for each in cluster.items(SECRETS) if INVALID in each["metadata"].get("labels", {})
    ]


def test_nothing_happens_before_uses_are_known(cluster: Cluster) -> None:
    """Until tracking has run for the whole period, nothing is marked: a token may have been used before."""
    cluster.settle(2.5 * DAY)
    assert marked(cluster) == []


def test_unused_generated_tokens_are_marked_and_deleted(cluster: Cluster) -> None:
    """A generated token without a use in the period is marked, and deleted after another period. Tokens that were used,
    that pods mount, whose use is not readable or that were made by hand stay."""
    cluster.settle(4.2 * DAY)
    assert marked(cluster) == ["generated"]
    cluster.settle(4 * DAY)
    assert sorted(cluster.names(SECRETS)) == ["garbled", "manual", "mounted", "plain", "used"]
    # The use of day 4 is now as old.
    assert marked(cluster) == ["used"]


def test_a_mark_can_be_withdrawn(cluster: Cluster) -> None:
    """A token whose mark was removed is marked again, and not deleted on the day of its former mark."""
    cluster.settle(4.2 * DAY)
    cluster.patch(SECRETS, "generated", {"metadata": {"labels": {INVALID: None}}})
    cluster.settle(DAY)
    assert marked(cluster) == ["generated"]
    secret = cluster.get(SECRETS, "generated")
    assert secret is not None and secret["metadata"]["labels"][INVALID] == day(5)


def test_tokens_of_another_account_of_the_name(cluster: Cluster) -> None:
    """A token that was made for a deleted account of the same name is not that of the account."""
    other = {ORCH("{long}.io/service-account.uid"): "another"}
    cluster.patch(SECRETS, "generated", {"metadata": {"annotations": other}})
    cluster.settle(4.2 * DAY)
    assert marked(cluster) == []


class Writes:
    """A client that records writes, or refuses them."""

    def __init__(self, refusal: ApiError | None = None) -> None:
        self.writes: list[tuple[str, Any]] = []
        self._refusal = refusal

    async def patch(self, ref: Any, namespace: str, name: str, change: Any, *, content_type: str) -> None:
        self._write("patch", change)

    async def delete(self, ref: Any, namespace: str, name: str, *, options: Any) -> None:
        self._write("delete", options)

    def _write(self, verb: str, content: Any) -> None:
        if self._refusal is not None:
            raise self._refusal
        self.writes.append((verb, content))


def cleaner(client: Writes) -> Any:
    one: Any = object.__new__(LegacyTokenCleaner)
    one.client, one._invalid_since, one._last_used = client, INVALID, USED
    one._type = ORCH("{long}.io/service-account-token")
    return one


def stored(labels: dict[str, str]) -> dict[str, Any]:
    obj = secret("t", labels)
    obj["metadata"] |= {
        "namespace": "a",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": f"{day(-9)}T00:00:00Z",
    }
    return obj


@pytest.mark.parametrize(
    ("labels", "write"),
    [
        ({}, ("patch", {"metadata": {"uid": "u", "labels": {INVALID: day(5)}}})),
        ({INVALID: day(3)}, None),
        ({INVALID: day(2)}, ("delete", {"preconditions": {"resourceVersion": "7"}})),
    ],
)
def test_only_the_examined_secret_is_written(labels: dict[str, str], write: Any) -> None:
    """The mark is for the examined secret, the deletion for its version, and only from the day after the period on."""
    client = Writes()
    run(cleaner(client)._clean(stored(labels), NOW + 5 * DAY, NOW + 3 * DAY))
    assert client.writes == ([] if write is None else [write])


@pytest.mark.parametrize("code", [404, 409, 403])
def test_changed_secrets_are_left_for_the_next_day(code: int) -> None:
    """A secret that is gone or changed by now is no failure; another refusal is."""
    work = cleaner(Writes(ApiError(code, "x", "refused")))._clean(stored({}), NOW, NOW)
    if code == 403:
        with pytest.raises(ApiError):
            run(work)
    else:
        run(work)


def test_uses_on_the_first_day_of_the_period_count() -> None:
    """A token is unused if the day of its last use is before that on which the period began."""
    used = [cleaner(Writes())._unused(stored({USED: day(number)}), NOW + 3 * DAY) for number in (2, 3, 4)]
    assert used == [True, False, False]
