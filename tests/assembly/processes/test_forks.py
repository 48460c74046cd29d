"""What is known of the forks of the template."""

from __future__ import annotations

from twisted.internet.task import Clock

from orchd.assembly.processes.load import Load
from orchd.assembly.processes.serving_process import ServingProcess
from orchd.assembly.processes.template import Template


def test_killed_process_is_not_waited_for() -> None:
    """The connections of a fork that was killed no longer count: others accept what they left to it."""
    load = Load.of(2)
    load.set(1, 5)
    load.set(2, 0)
    template = Template(None, None, 0, load)  # type: ignore[arg-type]  # starts nothing
    process = ServingProcess(Clock(), "2", template, {})
    assert not load.is_least(1)
    process._ended("was ended by signal 9")
    assert load.is_least(1)


def test_load_is_shared_by_its_descriptor() -> None:
    """What one process writes, another that maps the same memory reads; a process that does not accept counts for
    nothing."""
    load = Load.of(2)
    other = Load(load.descriptor)
    load.set(0, 2)
    assert other.is_least(0)
    other.set(2, 1)
    assert not load.is_least(0)
    load.set(2, None)
    assert other.is_least(0)
