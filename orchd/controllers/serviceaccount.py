"""Creates the service account ``default`` in every namespace."""

from __future__ import annotations

from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import NAMESPACES, SERVICE_ACCOUNTS
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds.fields import deleting, namespace, status
from orchd.kinds.jsonvalues import Object

DEFAULT = "default"


class ServiceAccountController(Controller):
    """Creates missing service accounts; existing ones belong to their users."""

    name = "serviceaccount"
    account = "service-account-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=1)
        self._namespaces = self.follow(NAMESPACES, primary=True)
        self._accounts = self.follow(SERVICE_ACCOUNTS, self._account_changed)

    def _account_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None and old["metadata"]["name"] == DEFAULT:
            self.queue.add(("", namespace(old)))

    async def reconcile(self, key: Key) -> float | None:
        within = key[1]
        cached = self._namespaces.get("", within)
        if cached is None or deleting(cached) or status(cached).get("phase") == "Terminating":
            return None
        if self._accounts.get(within, DEFAULT) is not None:
            return None
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT, "namespace": within}}
        try:
            await self.client.create(SERVICE_ACCOUNTS, within, account)
        except ApiError as error:
            if error.reason != "AlreadyExists" and not terminating_namespace(error):
                raise
        return None
