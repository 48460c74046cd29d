"""Allocations of device claims that are chosen and not yet written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.scheduler.devices.state import DeviceState
from orchd.testing.doubles.informers import MemoryInformers
from tests.scheduler.test_devices import CLAIMS, DRIVER, claim, request

Change = Callable[[MemoryInformers], None]


def _allocation(device: str, **members: Any) -> dict[str, Any]:
    return {"devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "n1", "device": device, **members}]}}


def _remove(name: str) -> Change:
    return lambda informers: informers.informer(CLAIMS).remove("ns", name)


def _put(obj: dict[str, Any]) -> Change:
    return lambda informers: informers.put(CLAIMS, obj)


@pytest.mark.parametrize(
    ("change", "pending", "taken"),
    [
        (_put(claim("c", request())), True, {"d0"}),
        (_put(claim("c", request(), allocated="d1")), False, {"d1"}),
        (_put(claim("other", request(), allocated="d1")), True, {"d0", "d1"}),
        (_remove("c"), False, set()),
    ],
    ids=["another change", "allocated", "another claim", "deleted"],
)
def test_allocation_is_pending_until_its_claim_has_one(change: Change, pending: bool, taken: set[str]) -> None:
    """A pending allocation takes devices until the claim shows an allocation or is gone."""
    informers, waiting = MemoryInformers(), claim("c", request())
    state = DeviceState(informers, ORCH)
    informers.put(CLAIMS, waiting)
    assert not state.is_pending(waiting) and state.taken() == frozenset()
    state.expect(waiting, _allocation("d0"))
    change(informers)
    assert state.is_pending(waiting) == pending
    assert state.taken() == {(DRIVER, "n1", device) for device in taken}
    assert state.forget(waiting) == pending
    assert not state.is_pending(waiting) and not state.forget(waiting)


def test_access_for_administration_takes_no_device() -> None:
    informers = MemoryInformers()
    state = DeviceState(informers, ORCH)
    state.expect(claim("c", request()), _allocation("d0", adminAccess=True))
    state.expect(claim("d", request()), _allocation("d1", adminAccess=False))
    assert state.taken() == {(DRIVER, "n1", "d1")}
