"""Selectors of workloads."""

from __future__ import annotations

from orchd.ctl.objects.pods import selector_of


def test_selectors_are_converted_to_text() -> None:
    """Selectors of services and workloads are converted to the API's text form."""
    assert selector_of({"spec": {"selector": {"b": "2", "a": "1"}}}) == "a=1,b=2"
    expressions = [{"key": "k", "operator": "In", "values": ["x", "y"]}, {"key": "z", "operator": "DoesNotExist"}]
    assert (
        selector_of({"spec": {"selector": {"matchLabels": {"a": "1"}, "matchExpressions": expressions}}})
        == "a=1,k in (x,y),!z"
    )
    assert selector_of({"spec": {}}) == ""
