"""Which devices the requests of one scheduling cycle select, within limits of time.

The reactor's thread does what takes some milliseconds. What takes longer is repeated in the compute thread; results are
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.expressions.compiled import Expression
from orchd.kinds.expressions.devices import (
    MAX_COST,
    DeviceSelectorError,
    UnfinishedSelectorError,
    compile_device_selector,
    device_value,
    selects,
)
from orchd.kinds.expressions.stretches import QUICK_BUDGET
from orchd.kinds.fields import mapping, name, namespace, spec
from orchd.kinds.jsonvalues import ObjectView
from orchd.scheduler.devices.allocation import TIMED_OUT, AllocationError, NodeAllocationError
from orchd.scheduler.devices.pools import Device, DeviceId

#: Seconds that the evaluation of selectors may take in one cycle.
TIME: Final = 10.0
#: Devices that are looked at in some milliseconds.
_QUICK_DEVICES: Final = 1_000
#: What an evaluation takes of that besides its cost.
_EVALUATION: Final = 10
#: Characters of a selector that is compiled in some milliseconds.
_SMALL: Final = 2 << 10


class LongSelectionError(Exception):
    """The work on one node takes too long for the reactor's thread."""


class Selection:
    """Classes, selectors and devices are looked at once in a cycle. `device_class` returns a class, None if there is
    none; `seconds` returns the time.
    """

    def __init__(
        self, device_class: Callable[[str], ObjectView | None], dialect: Dialect, seconds: Callable[[], float]
    ) -> None:
        self._device_class = device_class
        self._dialect = dialect
        self._seconds = seconds
        self._until = seconds() + TIME
        self._compiled: dict[str, Expression] = {}
        self._variables: dict[DeviceId, Mapping[str, Any]] = {}
        #: Results by selector and device: a truth value or an error.
        self._selections: dict[tuple[str, DeviceId], bool | DeviceSelectorError] = {}
        self._cost_left: int | None = QUICK_BUDGET
        self._devices_left = _QUICK_DEVICES
        #: True if the scheduling attempt ended: evaluation in a thread stops.
        self.abandoned = False

    def begin(self, *, quick: bool) -> None:
        """Begin the work on one node. `quick`: LongSelectionError is raised for what takes more than some
        milliseconds."""
        self._cost_left = QUICK_BUDGET if quick else None
        self._devices_left = _QUICK_DEVICES

    def selects(self, device: Device, request: Mapping[str, Any], claim: ObjectView) -> bool:
        """True if a request of a claim and its class select a device. Raises AllocationError, NodeAllocationError and
        LongSelectionError.
        """
        if self._cost_left is not None:
            self._devices_left -= 1
            if self._devices_left < 0:
                raise LongSelectionError
        called = request.get("deviceClassName") or ""
        device_class = self._device_class(called)
        if device_class is None:
            raise AllocationError(
                f"claim {namespace(claim)}/{name(claim)}: could not retrieve device class {called}: not found"
            )
        return self._all(f"class {called}", spec(device_class).get("selectors"), device) and self._all(
            f"claim {namespace(claim)}/{name(claim)}", request.get("selectors"), device
        )

    def _all(self, place: str, selectors: Any, device: Device) -> bool:
        for number, selector in enumerate(selectors or ()):
            text = mapping(selector, "cel").get("expression") or ""
            selected = self._selections.get((text, device.id))
            if selected is None:
                selected = self._selections[text, device.id] = self._evaluate(text, device)
            if isinstance(selected, DeviceSelectorError):
                raise AllocationError(f"{place}: selector #{number}: {selected}")
            if not selected:
                return False
        return True

    def _evaluate(self, text: str, device: Device) -> bool | DeviceSelectorError:
        if self._ended():
            raise NodeAllocationError(TIMED_OUT)
        left = self._cost_left
        if left is not None and left <= 0:
            raise LongSelectionError
        budget = MAX_COST if left is None else left
        try:
            selected, cost = selects(self._compile(text), self._variable(device), budget, interrupted=self._ended)
        except UnfinishedSelectorError as error:
            if left is not None:
                raise LongSelectionError from None
            if self._ended():
                raise NodeAllocationError(TIMED_OUT) from None
            return error
        except DeviceSelectorError as error:
            return error
        if left is not None:
            self._cost_left = left - cost - _EVALUATION
        return selected

    def _ended(self) -> bool:
        return self.abandoned or self._seconds() >= self._until

    def _compile(self, text: str) -> Expression:
        compiled = self._compiled.get(text)
        if compiled is None:
            if self._cost_left is not None and len(text) > _SMALL:
                raise LongSelectionError
            compiled = self._compiled[text] = compile_device_selector(text, self._dialect)
        return compiled

    def _variable(self, device: Device) -> Mapping[str, Any]:
        variable = self._variables.get(device.id)
        if variable is None:
            variable = self._variables[device.id] = device_value(device.id[0], device.data)
        return variable
