"""Publishes the server's CA certificate in every namespace, with which pods verify the server."""

from __future__ import annotations

from typing import cast

from orchd.client.informers import Informers
from orchd.client.interfaces import IClient
from orchd.client.selecting import SelectingClient
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import CONFIG_MAPS, NAMESPACES
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds.fields import annotations_of, deleting, namespace, status
from orchd.kinds.jsonvalues import Object
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Counter, Distribution

_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the {short}-apiserver when using internal endpoints such as the "
    "internal service IP or {long}.default.svc. No other usage is guaranteed across distributions of {Long} clusters."
)


class RootCaPublisher(Controller):
    """Follows only config maps with its own name, so those of users cost nothing."""

    name = "root-ca-cert-publisher"
    account = "root-ca-cert-publisher"

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=1)
        self._map_name = env.dialect("{short}-root-ca.crt")
        self._data = {"ca.crt": env.authority}
        self._syncs = Counter("root_ca_cert_publisher_sync_total", "Syncs of namespaces, by result.", ("code",))
        self._seconds = Distribution(
            "root_ca_cert_publisher_sync_duration_seconds",
            "Duration of a sync of a namespace in seconds, by result.",
            exponential(0.001, 2, 15),
            ("code",),
        )
        self.instruments = (self._syncs, self._seconds)
        self._annotation = env.dialect("{long}.io/description")
        self._namespaces = self.follow(NAMESPACES, primary=True)
        only = SelectingClient(env.reader, field_selector=f"metadata.name={self._map_name}")
        self._own = Informers(cast(IClient, only), env.clock, env.random)
        self._maps = self._own.informer(CONFIG_MAPS)

    async def start(self) -> None:
        self._own.start()
        await self._maps.wait_synced()
        self._maps.add_listener(self._map_changed)
        await super().start()

    async def stop(self) -> None:
        await super().stop()
        await self._own.stop()

    def _map_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        obj = new or old
        if obj is not None:
            self.queue.add(("", namespace(obj)))

    async def reconcile(self, key: Key) -> float | None:
        began, code = self.env.clock.seconds(), "500"
        try:
            wait = await self._publish(key)
            code = "200"
        except ApiError as error:
            code = str(error.code)
            raise
        finally:
            self._syncs.add(code)
            self._seconds.observe(self.env.clock.seconds() - began, code)
        return wait

    async def _publish(self, key: Key) -> float | None:
        within = key[1]
        namespace_object = self._namespaces.get("", within)
        if (
            namespace_object is None
            or deleting(namespace_object)
            or status(namespace_object).get("phase") == "Terminating"
        ):
            return None
        existing = self._maps.get(within, self._map_name)
        notes = {self._annotation: self.dialect(_DESCRIPTION)}
        try:
            if existing is None:
                fresh = {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": self._map_name, "namespace": within, "annotations": notes},
                    "data": self._data,
                }
                await self.client.create(CONFIG_MAPS, within, fresh)
            elif existing.get("data") != self._data or not annotations_of(existing).get(self._annotation):
                metadata = {**existing["metadata"], "annotations": {**annotations_of(existing), **notes}}
                changed = {**existing, "metadata": metadata, "data": self._data}
                await self.client.update(CONFIG_MAPS, within, self._map_name, changed)
        except ApiError as error:
            if error.reason != "AlreadyExists" and error.code != 404 and not terminating_namespace(error):
                raise
        return None
