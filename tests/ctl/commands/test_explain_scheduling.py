"""``explain-scheduling``."""

from __future__ import annotations

from orchd.ctl.commands.explain_scheduling import explanation_lines


def test_explanation_lists_feasible_and_refused_nodes() -> None:
    """Feasible nodes are listed by descending score; refused ones with the plugin, its reasons and a remedy."""
    response = {
        "node": "b", "feasible": {"a": {"total": 1, "plugins": {}}, "b": {"total": 9, "plugins": {"P": 9}}},
        "filtered": {"c": {"plugin": "Q", "reasons": ["full"], "remedy": "free 1 CPU"}},
    }  # fmt: skip
    assert explanation_lines(response) == [
        "Node:      b", "Feasible nodes, best first:", "  b  total=9  P=9", "  a  total=1", "Refused nodes:",
        "  c  Q: full  remedy: free 1 CPU",
    ]  # fmt: skip
