"""Claims of devices that pods name."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.objects import device_claims
from orchd.kinds.objects.device_claims import ClaimError, ClaimNotMadeError

Object = dict[str, Any]
STATUSES = {
    "resourceClaimStatuses": [{"name": "other", "resourceClaimName": "x"}, {"name": "a", "resourceClaimName": "a-1"}]
}
POD: Object = {"metadata": {"name": "p", "namespace": "n", "uid": "1"}, "status": STATUSES}
OWNER = {"controller": True, "uid": "1"}


@pytest.mark.parametrize(
    ("entry", "status", "name"),
    [
        ({"name": "a", "resourceClaimName": "c"}, STATUSES, "c"),
        ({"name": "a", "resourceClaimTemplateName": "t"}, STATUSES, "a-1"),
        # No claim is needed.
        ({"name": "a", "resourceClaimTemplateName": "t"}, {"resourceClaimStatuses": [{"name": "a"}]}, None),
    ],
)
def test_name_of_a_claim(entry: Object, status: Object, name: str | None) -> None:
    """A pod names its claim, or a template from which a claim is made whose name is in its status."""
    assert device_claims.claim_name({**POD, "status": status}, entry) == name
    assert device_claims.is_generated(entry) == ("resourceClaimTemplateName" in entry)


@pytest.mark.parametrize(
    ("entry", "error", "text"),
    [
        ({"name": "b"}, ClaimError, 'pod "n/p", spec.resourceClaim "b": none of the supported fields are set'),
        (
            {"name": "b", "resourceClaimTemplateName": "t"},
            ClaimNotMadeError,
            'pod "n/p": ResourceClaim not created yet',
        ),
    ],
)
def test_claims_that_are_not_there(entry: Object, error: type[ClaimError], text: str) -> None:
    with pytest.raises(ClaimError) as caught:
        device_claims.claim_name(POD, entry)
    assert (type(caught.value), str(caught.value)) == (error, text)


@pytest.mark.parametrize(
    ("metadata", "owned"),
    [
        ({"namespace": "n", "ownerReferences": [OWNER]}, True),
        ({"namespace": "n", "ownerReferences": [{**OWNER, "uid": "2"}]}, False),
        ({"namespace": "m", "ownerReferences": [OWNER]}, False),
        ({"namespace": "n"}, False),
    ],
)
def test_a_generated_claim_is_owned_by_its_pod(metadata: Object, owned: bool) -> None:
    claim = {"metadata": {"name": "a-1", **metadata}}
    if owned:
        device_claims.check_owner(POD, claim)
        return
    with pytest.raises(ClaimError) as caught:
        device_claims.check_owner(POD, claim)
    where = f"{metadata['namespace']}/a-1"
    assert str(caught.value) == f"ResourceClaim {where} was not created for pod n/p (pod is not owner)"


def test_reservations_of_pods() -> None:
    """A claim is reserved for the pods whose uid is in its status."""
    entry = device_claims.reservation("p", "1")
    assert entry == {"resource": "pods", "name": "p", "uid": "1"}
    claim = {"status": {"reservedFor": [{"uid": "2"}, entry]}}
    assert [device_claims.is_reserved_for(uid, claim) for uid in "123"] == [True, True, False]
    assert not device_claims.is_reserved_for("1", {})
