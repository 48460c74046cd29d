"""A Twisted service, and its test with trial: a server on the same reactor, whose time the test moves."""

from random import Random

from twisted.application.service import Service
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from orchd.client.informers import Informers
from orchd.client.interfaces import ResourceRef
from orchd.testing.trial import TrialClusterMixin

MAPS = ResourceRef("", "v1", "configmaps")


class Settings(Service):
    """The service under test: follows one config map."""

    def __init__(self, client, clock, namespace: str, name: str) -> None:
        self.data = {}
        self.changed = Deferred()
        self._clock = clock
        self._where = (namespace, name)
        self._informers = Informers(client, clock, Random())
        self._informers.informer(MAPS).add_listener(self._see)

    def startService(self) -> None:
        super().startService()
        self._informers.start()

    async def stopService(self) -> None:
        super().stopService()
        await self._informers.stop()

    def _see(self, kind, old, new) -> None:
        if new is not None and (new["metadata"]["namespace"], new["metadata"]["name"]) == self._where:
            self.data = new["data"]
            changed, self.changed = self.changed, Deferred()
            # Later: what waits for it may stop the service, which a listener must not.
            self._clock.callLater(0, changed.callback, None)


class SettingsTests(TrialClusterMixin, TestCase):
    async def test_changes_are_followed(self) -> None:
        cluster = await self.start_cluster(reactor, controllers=False)
        # Any IClient will do; this one needs no socket. RemoteClient(cluster.config, ...) goes over the wire.
        service = Settings(cluster.client("settings", "system:masters"), reactor, "default", "settings")
        admin = cluster.client()
        await admin.create(MAPS, "default", {"metadata": {"name": "settings"}, "data": {"colour": "red"}})
        changed = service.changed
        service.startService()
        await changed
        self.assertEqual(service.data, {"colour": "red"})
        # The watch of the service ends in the server's time; it goes on with another one.
        await cluster.advance(3600)
        changed = service.changed
        found = await admin.get(MAPS, "default", "settings")
        await admin.update(MAPS, "default", "settings", {**found, "data": {"colour": "blue"}})
        await changed
        self.assertEqual(service.data, {"colour": "blue"})
        await service.stopService()
