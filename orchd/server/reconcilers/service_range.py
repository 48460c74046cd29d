"""The ServiceCIDR of the ranges that the flag of a server gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from twisted.internet.interfaces import IReactorTime

from orchd.client.interfaces import IClient, IEventRecorder, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.conditions import find_in
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp
from orchd.txkit.periodic import Periodic

_INTERVAL: Final = 10.0
CONTROLLER: Final = "{long}-service-cidr-controller"


class DefaultRange:
    """Makes the ServiceCIDR of the flag and its condition Ready; adds a second family to it, and changes nothing
    else."""

    def __init__(
        self,
        client: IClient,
        recorder: IEventRecorder,
        dialect: Dialect,
        ranges: Sequence[str],
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        """`ranges`: those of the first family, then those of the second."""
        self._client = client
        self._recorder = recorder
        self._dialect = dialect
        self._name = dialect("{long}")
        self._cidrs = list(ranges)
        self._ref = ResourceRef(dialect("networking.{abbr}.io"), "v1", "servicecidrs")
        self._wall = wall
        self._told: set[str] = set()
        self._loop = Periodic("maintain the default ServiceCIDR", self.ensure, _INTERVAL, clock, (ApiError,))

    async def start(self) -> None:
        self._loop.start(now=False)

    async def stop(self) -> None:
        self._loop.stop()

    async def ensure(self) -> None:
        """Bring the object up to date. Raises ApiError."""
        try:
            current: Object = await self._client.get(self._ref, "", self._name)
        except ApiError as error:
            if error.code != 404:
                raise
            try:
                desired = {"metadata": {"name": self._name}, "spec": {"cidrs": self._cidrs}}
                current = await self._client.create(self._ref, "", desired)
            except ApiError as failed:
                # 409: another server was faster.
                if failed.code != 409:
                    raise
                return await self.ensure()
        listed = fields.spec(current).get("cidrs") or []
        if len(self._cidrs) == 2 and listed == self._cidrs[:1]:
            return await self._add_second(current, listed)
        if not fields.deleting(current):
            await self._make_ready(current, listed)
        return None

    async def _add_second(self, current: Object, listed: list[str]) -> None:
        try:
            await self._client.update(self._ref, "", self._name, fields.with_spec(current, cidrs=self._cidrs))
        except ApiError as error:
            note = (
                f"The default ServiceCIDR can not be upgraded from {listed[0]} to dual stack "
                f"{_go_list(self._cidrs)} : {error.message}"
            )
            self._warn(current, "{Long}DefaultServiceCIDRError", note)

    async def _make_ready(self, current: Object, listed: list[str]) -> None:
        condition = find_in(fields.conditions(current), "Ready")
        if listed != self._cidrs:
            text = (
                f"The default ServiceCIDR {_go_list(listed)} does not match the controller flag configurations "
                f"{_go_list(self._cidrs)}"
            )
            return self._warn(current, "{Long}DefaultServiceCIDRInconsistent", text, once=True)
        if condition is not None and condition.get("status") == "True":
            return None
        if condition is not None and condition.get("status") == "False":
            # Another component says so, and knows why.
            text = f"Configuration matches, but {condition.get('message', '')}"
            return self._warn(current, condition.get("reason") or "", text, once=True)
        ready = {
            "type": "Ready",
            "status": "True",
            "message": self._dialect("{Long} default Service CIDR is ready"),
            "lastTransitionTime": timestamp(self._wall()),
        }
        patch = {
            "apiVersion": f"{self._ref.group}/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": self._name},
            "status": {"conditions": [ready]},
        }
        await self._client.patch(
            self._ref, "", self._name, patch, content_type="application/apply-patch+yaml", subresource="status",
            field_manager=self._dialect(CONTROLLER), force=True,
        )  # fmt: skip
        return None

    def _warn(self, current: Object, reason: str, note: str, *, once: bool = False) -> None:
        """Record an event; with `once` only the first one of its reason."""
        if once and reason in self._told:
            return
        self._told.add(reason)
        about = {"apiVersion": f"{self._ref.group}/v1", "kind": "ServiceCIDR", **current}
        self._recorder.event(about, "Warning", self._dialect(reason), note)


def _go_list(texts: Sequence[str]) -> str:
    return f"[{' '.join(texts)}]"
