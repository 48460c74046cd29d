"""The binding cycle: reserve, permit, pre-bind, bind and post-bind plugins of the chosen node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import CancelledError

from orchd.errors import ApiError
from orchd.scheduler.framework.profile import Profile
from orchd.scheduler.interfaces import ExtenderError, IExtender
from orchd.scheduler.pod_conditions import SCHEDULER_ERROR, UNSCHEDULABLE, Reporter
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Code, CycleState, Status
from orchd.scheduler.waiting_pods import WaitingPods
from orchd.txkit.log import Logger


class BindError(Exception):
    """The cycle failed after a node was chosen. `reason` is the one of the condition; `at_binding` is True if only
    the bind step itself failed, so that the pod is retried after its back-off."""

    def __init__(self, message: str, reason: str = SCHEDULER_ERROR, *, at_binding: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.at_binding = at_binding


_ALLOWED = Status(Code.SUCCESS)
#: The first release in which pods are nominated to their nodes before work that takes long.
_NAMES_SINCE = "1.35"


class Binder:
    """Runs the reserve, permit and binding plugins of one profile."""

    log = Logger()

    def __init__(
        self, profile: Profile, extenders: Sequence[IExtender], waiting: WaitingPods, reporter: Reporter
    ) -> None:
        self._profile = profile
        self._extenders = extenders
        self._waiting = waiting
        self._reporter = reporter
        self._slow = profile.slow_pre_binds if profile.handle.release.includes(_NAMES_SINCE) else ()
        self._metrics = profile.handle.metrics

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Run reserve plugins. Raises BindError."""
        for plugin in self._profile.reserves:
            started = self._metrics.now()
            try:
                status = plugin.reserve(state, pod, node_name)
                if state.timed:
                    self._metrics.observe_plugin("Reserve", plugin.name, started, status)
            except Exception as error:  # a bug in one plugin must not lose the pod; it is logged and the pod is retried
                self.log.failure("plugin {name} failed to reserve", name=plugin.name)
                raise BindError(f'running Reserve plugin "{plugin.name}": {error}') from None
            if status is not None:
                raise BindError(f'running Reserve plugin "{plugin.name}": {status.message}')

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Run unreserve plugins in reverse order; failures are logged."""
        for plugin in reversed(self._profile.reserves):
            try:
                plugin.unreserve(state, pod, node_name)
            except Exception:  # the other plugins still have to undo theirs; the failure is logged
                self.log.failure("plugin {name} did not undo its reservation", name=plugin.name)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> dict[str, float]:
        """Run permit plugins. Returns the timeout in seconds of each plugin that makes the pod wait. Raises
        BindError."""
        holders: dict[str, float] = {}
        for plugin in self._profile.permits:
            started = self._metrics.now()
            try:
                status, seconds = plugin.permit(state, pod, node_name)
                if state.timed:
                    self._metrics.observe_plugin("Permit", plugin.name, started, status)
            except Exception as error:  # as in reserve
                self.log.failure("plugin {name} failed to permit", name=plugin.name)
                raise BindError(f'running Permit plugin "{plugin.name}": {error}') from None
            if status is None:
                continue
            if status.code is Code.WAIT:
                holders[plugin.name] = seconds
            elif status.rejected:
                raise BindError(status.message, UNSCHEDULABLE)
            else:
                raise BindError(f'running Permit plugin "{plugin.name}": {status.message}')
        return holders

    async def bind(self, state: CycleState, pod: Pod, node_name: str, holders: dict[str, float]) -> None:
        """Wait for permission, run pre-bind, bind and post-bind plugins. Raises BindError."""
        if holders:
            started = self._metrics.now()
            status = await self._waiting.hold(pod, holders)
            self._metrics.permit_waits.observe(self._metrics.now() - started, (status or _ALLOWED).code.label)
            if status is not None:
                raise BindError(status.message, UNSCHEDULABLE)
        if any(plugin.works_long(state, pod, node_name) for plugin in self._slow):
            await self._reporter.nominate(pod, node_name)
        started = self._metrics.now()
        for plugin in self._profile.pre_binds:
            status = await self._run(plugin.name, "PreBind", plugin.pre_bind(state, pod, node_name), timed=state.timed)
            if status is not None:
                raise BindError(f'running PreBind plugin "{plugin.name}": {status.message}')
        self._metrics.observe_extension_point("PreBind", self._profile.name, started)
        started = self._metrics.now()
        await self._bind(state, pod, node_name)
        self._metrics.observe_extension_point("Bind", self._profile.name, started)
        point_started = self._metrics.now()
        for plugin in self._profile.post_binds:
            started = self._metrics.now()
            try:
                plugin.post_bind(state, pod, node_name)
                if state.timed:
                    self._metrics.observe_plugin("PostBind", plugin.name, started)
            except Exception:  # the pod is bound already: a failing PostBind plugin is only logged
                self.log.failure("plugin {name} failed after a binding", name=plugin.name)
        self._metrics.observe_extension_point("PostBind", self._profile.name, point_started)

    async def _bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        for extender in self._extenders:
            if extender.binds and extender.interested(pod):
                try:
                    await extender.bind(pod, node_name)
                except ExtenderError as error:
                    raise BindError(f"binding rejected: {error}", at_binding=True) from None
                return
        for plugin in self._profile.binds:
            status = await self._run(plugin.name, "Bind", plugin.bind(state, pod, node_name), timed=state.timed)
            if status is None:
                return
            if status.code is not Code.SKIP:
                message = f'binding rejected: running Bind plugin "{plugin.name}": {status.message}'
                raise BindError(message, at_binding=True)
        raise BindError("binding rejected: bind status: Skip, ", at_binding=True)

    async def _run(self, name: str, point: str, call: Any, *, timed: bool) -> Status | None:
        """The status that a plugin returns; exceptions become an error status. `timed`: record the plugin's
        duration."""
        started = self._metrics.now()
        status = await self._await_status(name, point, call)
        if timed:
            self._metrics.observe_plugin(point, name, started, status)
        return status

    async def _await_status(self, name: str, point: str, call: Any) -> Status | None:
        try:
            status: Status | None = await call
        except CancelledError:
            raise
        except ApiError as error:
            return Status(Code.ERROR, (error.message,))
        except Exception as error:  # a bug in one plugin must not lose the pod; it is logged and the pod is retried
            self.log.failure("{point} plugin {name} failed", point=point, name=name)
            return Status(Code.ERROR, (str(error),))
        return status
