"""Samples of a metrics page."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


def samples(page: str, *prefixes: str) -> Iterator[Sample]:
    """The samples whose names begin with one of `prefixes`. Only their lines are parsed: a whole page takes longer than
    most tests."""
    lines = [line for line in page.splitlines(keepends=True) if line.removeprefix("# TYPE ").startswith(prefixes)]
    for family in text_string_to_metric_families("".join(lines)):
        yield from family.samples
