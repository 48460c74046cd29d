"""The flag of feature gates: the values that a process runs with (`orchd.kinds.gates` has the gates)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from orchd.config.nearest import nearest
from orchd.dialect import Dialect
from orchd.kinds.gates import GATES, Stage, defaults
from orchd.kinds.release import SPECIFICATION, Release

_ALL: Final = {"AllAlpha": "alpha", "AllBeta": "beta"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """`values` by the name in the table of each gate that was given, or whose default is not that of the
    specification's release; `warnings` for the log."""

    values: Mapping[str, bool]
    warnings: tuple[str, ...]


def resolve(dialect: Dialect, flag_values: Mapping[str, bool], release: Release = SPECIFICATION) -> Chosen:
    """The gates of a flag, and those that are on by default in the dialect only, with ``AllAlpha`` and ``AllBeta``
    expanded; a gate's own value takes precedence.

    A gate that the release has given up is accepted with the value that became the only one, with a warning, so that
    one list of flags serves several releases. Raises ValueError, in the words of the reference, for an unknown gate and
    for the other value of a locked one.
    """
    stages_by_name: dict[str, tuple[str, Stage]] = {}
    for gate in GATES:
        stage = gate.stage(release)
        if stage is not None:
            stages_by_name[dialect(gate.name)] = gate.name, stage
    gone = {dialect(gate.name): gate.default(release) for gate in GATES if gate.has_ended(release)}
    usual = defaults()
    values = {name: default for name, default in defaults(release).items() if default != usual[name]}
    for group, stages in _ALL.items():
        if group in flag_values:
            values.update((name, flag_values[group]) for name, stage in stages_by_name.values() if stage.name == stages)
    warnings = []
    for name_, value in flag_values.items():
        if name_ in _ALL:
            continue
        if gone.get(name_) is value:
            warnings.append(f"{name_}={_text(value)} has no effect: release {release} has no such gate, and behaves so")
            continue
        if name_ not in stages_by_name:
            guess = nearest(name_, [*stages_by_name, *_ALL])
            raise ValueError(f"unrecognized feature gate: {name_}" + (f' (did you mean "{guess}"?)' if guess else ""))
        name, stage = stages_by_name[name_]
        if stage.locked and value != stage.default:
            raise ValueError(
                f"cannot set feature gate {name_} to {_text(value)}, feature is locked to {_text(stage.default)}"
            )
        if stage.name in ("GA", "deprecated"):
            warnings.append(
                f"Setting {stage.name} feature gate {name_}={_text(value)}. It will be removed in a future release."
            )
        values[name] = value
    _check_needs(dialect, {**defaults(release), **values}, release)
    if dialect.stock:
        for gate in GATES:
            if gate.stock and gate.stage(release) is not None and not gate.default(release):
                values.setdefault(gate.name, True)
    return Chosen(values, tuple(warnings))


def _check_needs(dialect: Dialect, values: Mapping[str, bool], release: Release) -> None:
    """Raises ValueError for a gate that is on while one that it needs is off."""
    for gate in GATES:
        needed = gate.needed(release) if values[gate.name] and gate.stage(release) is not None else ()
        if needed:
            off = sorted(dialect(name) for name in needed if not values[name])
            if off:
                raise ValueError(
                    f"{dialect(gate.name)} is enabled, but depends on features that are disabled: [{' '.join(off)}]"
                )


def _text(value: bool) -> str:
    return "true" if value else "false"
