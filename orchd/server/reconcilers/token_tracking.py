"""The ConfigMap that says since when the use of token secrets of service accounts is tracked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Final

from twisted.internet.interfaces import IReactorTime

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.fields import mapping
from orchd.txkit.periodic import Periodic

_CONFIG_MAPS: Final = ResourceRef("", "v1", "configmaps")
_NAME: Final = "{short}-apiserver-legacy-service-account-token-tracking"
#: The first release that tracks it.
SINCE: Final = "1.26"
#: The reference makes a deleted object again at most as often, in seconds.
_INTERVAL: Final = 1800.0


class TokenTracking:
    """Makes the ConfigMap, and replaces an invalid date."""

    def __init__(self, client: IClient, dialect: Dialect, clock: IReactorTime, wall: Callable[[], float]) -> None:
        self._client = client
        self._namespace, self._name = dialect.system_namespace, dialect(_NAME)
        self._wall = wall
        self._loop = Periodic("write the date of token tracking", self._ensure, _INTERVAL, clock, (ApiError,))

    async def start(self) -> None:
        self._loop.start(now=True)

    async def stop(self) -> None:
        self._loop.stop()

    async def _ensure(self) -> None:
        try:
            await self._write()
        except ApiError as error:
            # 409: another server was faster.
            if error.code != 409:
                raise

    async def _write(self) -> None:
        today = {"since": datetime.fromtimestamp(self._wall(), UTC).date().isoformat()}
        try:
            current = await self._client.get(_CONFIG_MAPS, self._namespace, self._name)
        except ApiError as error:
            if error.code != 404:
                raise
            desired = {"metadata": {"namespace": self._namespace, "name": self._name}, "data": today}
            await self._client.create(_CONFIG_MAPS, self._namespace, desired)
            return
        if not _is_date(mapping(current, "data").get("since", "")):
            changed = {**current, "data": {**mapping(current, "data"), **today}}
            await self._client.update(_CONFIG_MAPS, self._namespace, self._name, changed)


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
