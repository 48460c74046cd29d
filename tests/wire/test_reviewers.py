"""Review webhooks over real TLS connections: renewed credentials, verification, cancelled calls."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from orchd.dialect import ORCH
from orchd.server.outbound.reviews import ConfigurationFile, Limits, RemoteReviews
from orchd.server.outbound.webhooks import WebhookClient, WebhookError
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.ports import free_port
from orchd.txkit.coroutines import start
from tests.wire.identity_doubles import CLIENT_NAME, Outside, Pki

CLOCK: Any = reactor
REVIEW = {"kind": "TokenReview", "apiVersion": "g/v1", "spec": {"token": "outside-ann"}}


class Place:
    def __init__(self, folder: Path) -> None:
        self.pki = Pki(folder, "outside")
        self.outside = Outside(self.pki, free_port())
        self.outside.start()
        self.file = self.outside.configuration("conf", "/authn")
        self.now = 0.0
        self.calls = WebhookClient(CLOCK, ORCH, None)  # type: ignore[arg-type]  # no services of a cluster are asked for
        self.codes: list[str] = []

    def reviews(self, **limits: int) -> RemoteReviews:
        return RemoteReviews(
            self.calls,
            ConfigurationFile(str(self.file), lambda: self.now),
            CLOCK,
            random=Random(1),
            observe=lambda code, seconds: self.codes.append(code),
            limits=Limits(**limits),
        )

    def cluster(self, **members: Any) -> None:
        """Change the webhook's entry in the configuration."""
        document = json.loads(self.file.read_text())
        cluster = document["clusters"][0]["cluster"]
        cluster.update(members)
        document["clusters"][0]["cluster"] = {k: v for k, v in cluster.items() if v is not None}
        self.file.write_text(json.dumps(document))

    async def close(self) -> None:
        self.outside.stop()
        await self.calls.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    pytest_twisted.blockon(Deferred.fromCoroutine(place.close()))


@pytest_twisted.ensureDeferred
async def test_renewed_client_certificate_is_used(place: Place) -> None:
    """A new certificate in the same files is used within a minute."""
    reviews = place.reviews()
    assert (await reviews.ask(REVIEW))["status"]["user"]["username"] == "ann"
    new = place.pki.pair("renewed")
    for pair, name in zip(place.pki.pair(CLIENT_NAME), new, strict=True):
        pair.write_bytes(name.read_bytes())
    await reviews.ask(REVIEW)
    place.now += 60
    await reviews.ask(REVIEW)
    assert [caller for _, _, caller in place.outside.calls] == [CLIENT_NAME, CLIENT_NAME, "renewed"]
    assert place.codes == ["200"] * 3


@pytest.mark.parametrize(("members", "believed"), [
    ({}, True),
    ({"certificate-authority": None}, False),
    ({"server": "https://localhost:{port}/authn"}, False),
    ({"server": "https://localhost:{port}/authn", "tls-server-name": "127.0.0.1"}, True),
    ({"certificate-authority": None, "insecure-skip-tls-verify": True}, True),
])  # fmt: skip
@pytest_twisted.ensureDeferred
async def test_service_certificate_is_verified(place: Place, members: dict[str, Any], believed: bool) -> None:
    """The service's certificate must be of the CA and for its name, unless verification is disabled."""
    place.cluster(**{k: v.format(port=place.outside.port) if isinstance(v, str) else v for k, v in members.items()})
    if believed:
        assert await place.reviews().ask(REVIEW)
    else:
        with pytest.raises(
            WebhookError, match=r'^Post "https://.*/authn\?timeout=30s": tls: failed to verify certificate'
        ):
            await place.reviews().ask(REVIEW)
        assert not place.outside.calls


@pytest_twisted.ensureDeferred
async def test_cancelled_review_frees_its_slot(place: Place) -> None:
    """A cancelled review ends the call and frees its slot."""
    hurry, given_up = place.outside.review, threading.Event()

    def slow(document: Any) -> Any:
        assert given_up.wait(PATIENCE)
        return hurry(document)

    place.outside.review = slow  # type: ignore[method-assign]  # a service that takes its time
    reviews = place.reviews(at_once=1)
    seen: list[Any] = []
    task = start(reviews.ask(REVIEW))
    task.addBoth(seen.append)
    waiting = start(reviews.ask(REVIEW))
    while not place.outside.calls:
        await deferLater(CLOCK, 0.02)
    task.cancel()
    assert seen[0].check(CancelledError)
    given_up.set()
    assert (await waiting)["status"]["authenticated"]
    assert place.codes == ["<error>", "200"]


@pytest_twisted.ensureDeferred
async def test_long_responses_are_refused(place: Place) -> None:
    """A response is limited to a megabyte."""
    place.outside.review = lambda document: {"reason": "x" * 2_000_000}  # type: ignore[method-assign]  # as above
    with pytest.raises(WebhookError, match="response exceeds 1048576 bytes"):
        await place.reviews().ask(REVIEW)


@pytest_twisted.ensureDeferred
async def test_refused_connection_is_reported(place: Place) -> None:
    """A refused connection is reported at once, with the reference's message."""
    place.cluster(server=f"https://127.0.0.1:{free_port()}/authn")
    with pytest.raises(WebhookError, match=r"dial tcp 127.0.0.1:\d+: connect: connection refused$"):
        await place.reviews().ask(REVIEW)
    assert place.codes == ["<error>"]
