"""What a flag is, and the tables of all components put together.

A row of a table is ``(name, type, default, marks, help)``. Name and default are dialect templates; the default is
written as on a command line, "" being the type's zero. Marks, separated by spaces: ``built`` (the feature behind the
flag exists: without it any value but the default is refused at start), ``own`` (it exists for a component in a process of
its own, and has no meaning in the one process), ``deprecated``, ``choices=a|b`` (what a non-empty value may be).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from orchd.dialect import DIALECTS, ORCH, Dialect

#: name, type, default, marks, help
Row = tuple[str, str, str, str, str]

#: Flags of this server alone.
OWN: Final[tuple[Row, ...]] = (
    ("data-dir", "string", "./orchd-data", "built",
     "Folder of the store, keys and certificates; made at the first start."),
    ("dialect", "string", ORCH.name, "built choices=" + "|".join(DIALECTS),
     "Names that clients see: those of the specification, or those that stock clients know. Kept in the store."),
    ("flagfile", "stringArray", "", "built",
     "File with one flag per line and # comments; may be repeated and counts where it stands."),
    ("controller-manager-flagfile", "string", "", "built",
     "Flag file for the controllers of this process alone: their own flags, and those of leader election."),
    ("scheduler-flagfile", "string", "", "built",
     "Flag file for the scheduler of this process alone: its own flags, and those of leader election."),
    ("history-duration", "duration", "5m0s", "built",
     "For how long a version can be gone back to: by watches, by lists of the past and by continue tokens."),
    ("scheduler", "bool", "true", "built",
     "Run the scheduler in this process."),
    ("history-events", "int", "100000", "built",
     "Changes that the embedded store remembers at most, however young they are."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag. `name` is a template and the key of its value everywhere in the product."""

    name: str
    type: str
    default: str
    help: str
    built: bool = False
    own: bool = False
    deprecated: bool = False
    choices: tuple[str, ...] = ()
    components: tuple[str, ...] = ()

    def spelled(self, dialect: Dialect = ORCH) -> str:
        """The name as on a command line, without dashes."""
        return dialect(self.name)

    def spellings(self) -> frozenset[str]:
        """The name in every dialect."""
        return frozenset(d(self.name) for d in DIALECTS.values())


class FlagTable:
    """Flags by name, in table order. Where components share a name, the first one's row counts."""

    def __init__(self, flags: Iterable[Flag]) -> None:
        self._flags = {flag.name: flag for flag in flags}

    def __iter__(self) -> Iterator[Flag]:
        return iter(self._flags.values())

    def __getitem__(self, name: str) -> Flag:
        return self._flags[name]

    def __len__(self) -> int:
        return len(self._flags)

    def by_spelling(self) -> dict[str, Flag]:
        """Every flag under each of its spellings."""
        return {spelled: flag for flag in self for spelled in flag.spellings()}


def table() -> FlagTable:
    """All flags of the server: its own, then those of the API server, the controllers and the scheduler."""
    from orchd.config import apiserver, controller_manager, scheduler, shared

    common = {row[0]: row for row in shared.SHARED}
    parts: list[tuple[str, Iterable[Row]]] = [("server", OWN)]
    for component, module in (
        ("API server", apiserver), ("controllers", controller_manager), ("scheduler", scheduler)
    ):
        # A component may leave out a shared row in favour of its own under the same name.
        own = {row[0] for row in module.FLAGS}
        parts.append((component, [*module.FLAGS, *(common[n] for n in module.FROM_SHARED if n not in own)]))
    takers: dict[str, list[str]] = {}
    first: dict[str, Row] = {}
    for component, rows in parts:
        for row in rows:
            takers.setdefault(row[0], []).append(component)
            first.setdefault(row[0], row)
    return FlagTable(_flag(row, takers[name]) for name, row in first.items())


#: Flags that mean something else to each component: in the one process they are given in the components' flag files.
AMBIGUOUS: Final = frozenset(("leader-elect-resource-name",))

#: Components that may run in a process of their own, and their modules' names.
COMPONENTS: Final = ("controller-manager", "scheduler")


def component_table(component: str) -> FlagTable:
    """The flags of one of `COMPONENTS` in a process of its own, where those marked ``own`` are built, too."""
    from orchd.config import controller_manager, scheduler, shared

    module = {"controller-manager": controller_manager, "scheduler": scheduler}[component]
    common = {row[0]: row for row in shared.SHARED}
    own = {row[0] for row in module.FLAGS}
    rows = [row for row in OWN if row[0] in ("dialect", "flagfile")]
    rows += [*module.FLAGS, *(common[name] for name in module.FROM_SHARED if name not in own)]
    flags = (_flag(row, (component.replace("-", " "),)) for row in rows)
    return FlagTable(replace(flag, built=flag.built or flag.own) for flag in flags)


def private_flags(component: str) -> frozenset[str]:
    """What the flag file of a component may say in the one process: what is not the server's own to say."""
    from orchd.config import controller_manager, scheduler

    module = {"controller-manager": controller_manager, "scheduler": scheduler}[component]
    own = {row[0] for row in module.FLAGS if "own" not in row[3].split()}
    election = {name for name in module.FROM_SHARED if name.startswith("leader-elect")}
    served = {"secure-port", "cert-dir", "profiling", "contention-profiling"}
    return frozenset((own | election) - served)


def _flag(row: Row, components: Iterable[str]) -> Flag:
    name, type_, default, marks, help_ = row
    words: dict[str, Any] = dict(word.partition("=")[::2] for word in marks.split())
    return Flag(
        name=name,
        type=type_,
        default=default,
        help=help_,
        built="built" in words,
        own="own" in words,
        deprecated="deprecated" in words,
        choices=tuple(words["choices"].split("|")) if "choices" in words else (),
        components=tuple(components),
    )
