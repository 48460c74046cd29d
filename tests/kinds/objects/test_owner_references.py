"""Duplicate owner references."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.objects.owner_references import single_owners

A, B = {"uid": "1", "name": "a"}, {"uid": "2", "name": "b"}


@pytest.mark.parametrize("owners", [None, [], [A], [A, B], [A, {**A, "controller": True}], "odd"])
def test_different_owners_stay(owners: Any) -> None:
    said: list[str] = []
    obj = {"metadata": {"ownerReferences": owners}}
    assert single_owners(obj, said.append) is obj
    assert single_owners({}, said.append) == {}
    assert said == []


@pytest.mark.parametrize("admitted, when", [(False, ";"), (True, " after mutating admission happens;")])
def test_equal_owners(admitted: bool, when: str) -> None:
    """The first of equal references stays, whatever the order of their members; the client is told of the others."""
    said: list[str] = []
    again = dict(reversed(A.items()))
    obj = {"kind": "Pod", "metadata": {"name": "p", "ownerReferences": [A, B, again, B]}}
    single = {"kind": "Pod", "metadata": {"name": "p", "ownerReferences": [A, B]}}
    assert single_owners(obj, said.append, admitted=admitted) == single
    [text] = said
    assert f"contains duplicate entries{when}" in text
    assert text.endswith("duplicate UID(s) observed: 1, 2")
