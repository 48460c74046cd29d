"""Metrics of several processes as one text."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families

from orchd.assembly.processes.metrics import labelled, merged

ONE = b"""# HELP a_total Some.
# TYPE a_total counter
a_total 1.0
# HELP b Other, with "quotes" {and} braces.
# TYPE b gauge
b{x="y z",q="{"} 2.0
"""
TWO = b"""# HELP b Other, with "quotes" {and} braces.
# TYPE b gauge
b{x="w"} 3.0
# HELP c Third.
# TYPE c histogram
c_bucket{le="1.0"} 1.0
c_count 1.0
"""


def _text(pieces: Iterable[bytes]) -> str:
    return b"".join(pieces).decode()


def test_every_sample_gets_the_process() -> None:
    """Samples with and without labels get one more; comments stay."""
    assert _text(labelled(ONE, "1")) == ONE.decode().replace("a_total 1", 'a_total{process="1"} 1').replace(
        'b{x="y', 'b{process="1",x="y'
    )


def test_families_are_listed_once() -> None:
    """A family of several texts has one head and the samples of all, in the order of the texts."""
    text = _text(merged([b"".join(labelled(ONE, "1")), b"".join(labelled(TWO, "owner"))]))
    families = {family.name: family.samples for family in text_string_to_metric_families(text)}
    assert list(families) == ["a", "b", "c"]
    assert [(each.labels["process"], each.value) for each in families["b"]] == [("1", 2.0), ("owner", 3.0)]
    assert [each.labels["process"] for each in families["c"]] == ["owner", "owner"]


def test_long_texts_are_the_same_in_pieces() -> None:
    """A text of many pieces loses no line and gets none."""
    long = b"# HELP a A.\n# TYPE a gauge\n" + b"".join(b'a{n="%d"} 1.0\n' % n for n in range(10_000))
    once = _text(labelled(long, "1"))
    assert once.count("\n") == long.count(b"\n")
    assert _text(merged([once.encode()])) == once
