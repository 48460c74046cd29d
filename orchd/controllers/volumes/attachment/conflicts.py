"""Volumes that one node at a time can have: the message for pods that wait for another node to release theirs."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.kinds.fields import name, namespace
from orchd.kinds.jsonvalues import Object

_ELSEWHERE = "Volume is already exclusively attached to one node and can't be attached to another"


def conflict_note(pod: Object, volume: str, others: Iterable[Object]) -> str:
    """For a pod, about pods of other nodes that use the volume; those of other namespaces are only counted."""
    pods = list(others)
    local = [name(each) for each in pods if namespace(each) == namespace(pod)]
    foreign = len(pods) - len(local)
    if not pods:
        reason = _ELSEWHERE
    elif local:
        reason = f"Volume is already used by pod(s) {', '.join(local)}"
        reason += f" and {foreign} pod(s) in different namespaces" if foreign else ""
    else:
        reason = f"Volume is already used by {foreign} pod(s) in different namespaces"
    return f'Multi-Attach error for volume "{volume}" {reason}'
