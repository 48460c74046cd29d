"""Marks of simulated nodes: nodes on which nothing runs, whose pods only report that they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: Prefix of labels and annotations about simulation, the same in both dialects.
PREFIX: Final = "orchd-simulation/"
#: Label of the nodes that the simulation registers itself.
LABEL: Final = PREFIX + "node"
#: How the container runtime version of a simulated node and the ids of its containers begin.
RUNTIME: Final = "simulated://"


def is_simulated(node: Mapping[str, Any]) -> bool:
    """True if the simulation reported the status of this node."""
    info = (node.get("status") or {}).get("nodeInfo") or {}
    return str(info.get("containerRuntimeVersion", "")).startswith(RUNTIME)
