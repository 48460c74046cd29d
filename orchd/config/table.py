"""Flags, and the combined table of the flags of all components.

A row of a table is ``(name, type, default, marks, help)``. Name and default are dialect templates; the default is
written as on a command line, "" being the type's zero. Marks, separated by spaces: ``built`` (the feature behind the
flag exists: without it any value but the default is refused at start), ``own`` (it exists for a component in a process of
its own, and has no meaning in the one process), ``void=reason`` (it can have no effect here, see `VOID`, and only its default is accepted), ``noop=reason`` (likewise, but
other values are accepted with a warning), ``deprecated`` (accepted with a warning), ``choices=a|b`` (what a non-empty value may be).
Numbers must not be negative, except where the marks have ``signed``; ``positive`` excludes 0 too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from orchd.dialect import DIALECTS, ORCH, Dialect

#: name, type, default, marks, help
Row = tuple[str, str, str, str, str]

#: Flags that only this server has.
OWN: Final[tuple[Row, ...]] = (
    ("data-dir", "string", "./orchd-data", "built",
     "Directory of the store, keys and certificates. Created at the first start."),
    ("dialect", "string", ORCH.name, "built choices=" + "|".join(DIALECTS),
     "Names in the API: those of the specification, or those of stock clients. Recorded in the store, which rejects the other dialect."),
    ("flagfile", "stringArray", "", "built",
     "File with one flag per line and # comments; may be repeated. Its flags apply in place of this one."),
    ("controller-manager-flagfile", "string", "", "built",
     "Flag file that overrides flags for the controllers of this process only: their own flags, and those of leader election."),
    ("scheduler-flagfile", "string", "", "built",
     "Flag file that overrides flags for the scheduler of this process only: its own flags, and those of leader election."),
    ("history-duration", "duration", "5m0s", "built",
     "Retention of past revisions, for watches, lists at a past resourceVersion and continue tokens."),
    ("scheduler", "bool", "true", "built",
     "Run the scheduler in this process."),
    ("ui", "string", "auto", "built choices=auto|true|false",
     "Serve the web page at /ui. auto: to clients on this machine; true: also to clients on other machines that may get the"
     " path; false: not at all."),
    ("history-events", "int", "100000", "built",
     "Maximum number of changes in the history of the embedded store."),
    ("authentication-config", "string", "", "built",
     "AuthenticationConfiguration file: issuers of JSON web tokens, and conditions of anonymous requests. Reloaded when it changes."
     " Excludes the --oidc-* flags."),
    ("authorization-config", "string", "", "built",
     "AuthorizationConfiguration file: the ordered list of authorizers, with any number of webhooks. Reloaded when it changes."
     " Excludes --authorization-mode and the --authorization-webhook-* flags."),
    ("simulated-nodes", "int", "", "built",
     "Number of simulated nodes, which are Ready and run no containers, while their pods become Running and Ready. 0 for none."),
    ("simulate-annotated-nodes", "bool", "", "built",
     "Simulate nodes with the annotation kwok.x-{abbr}.io/node=fake too; implied by --simulated-nodes."),
    ("simulated-node-capacity", "mapStringString", "cpu=8,memory=32Gi,ephemeral-storage=100Gi,pods=110", "built",
     "Capacity of a simulated node; a given map replaces the whole default."),
    ("simulated-node-zones", "strings", "", "built",
     "Zones among which simulated nodes are distributed."),
    ("simulated-node-startup-delay", "duration", "", "built",
     "Time from the registration of a simulated node until it is Ready."),
    ("simulated-pod-startup-delay", "duration", "", "built",
     "Time from the binding of a pod to a simulated node until its containers run."),
    ("simulated-pod-run-duration", "duration", "5s", "built",
     "Run time of containers on simulated nodes whose restart policy lets them end."),
)


#: Why flags of the reference can have no effect here: the reasons that the mark ``void=`` names.
VOID: Final = {
    "cloud": "there is no cloud provider",
    "migration": "it is for controllers of cloud providers, and there are none",
    "plugins": "volumes are handled by external drivers only",
    "logfiles": "the log has one destination, standard output or the daemon's log file",
    "locks": "the server runs in one thread without locks",
    "secrets": "log lines contain no secrets, tokens or keys",
    "unbuffered": "each log line is written at once",
    "unused": "the reference ignores it too",
    "bytes": "objects are stored as JSON, which reads and watches send unchanged",
    "revision": "all resources share the revisions of one store",
    "approval": "the reference ignores it too; bind the approval role of node requests to the group instead",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag. `name` is a template and the key of its value everywhere in the product. `void` and
    `noop` say why it can have no effect, "" for a flag that has one or will."""

    name: str
    type: str
    default: str
    help: str
    built: bool = False
    own: bool = False
    deprecated: bool = False
    void: str = ""
    noop: str = ""
    choices: tuple[str, ...] = ()
    #: Minimum of a number, None without one.
    least: int | None = None
    components: tuple[str, ...] = ()

    def spelled(self, dialect: Dialect = ORCH) -> str:
        """The name as on a command line, without dashes."""
        return dialect(self.name)

    def spellings(self) -> frozenset[str]:
        """The name in every dialect."""
        return frozenset(d(self.name) for d in DIALECTS.values())


class FlagTable:
    """Flags by name, in table order. If components share a name, the row of the first one applies."""

    def __init__(self, flags: Iterable[Flag]) -> None:
        self._flags = {flag.name: flag for flag in flags}
        self._by_spelling: Mapping[str, Flag] = {}

    def __iter__(self) -> Iterator[Flag]:
        return iter(self._flags.values())

    def __getitem__(self, name: str) -> Flag:
        return self._flags[name]

    def __len__(self) -> int:
        return len(self._flags)

    def by_spelling(self) -> Mapping[str, Flag]:
        """Every flag under each of its spellings."""
        if not self._by_spelling:
            self._by_spelling = {spelled: flag for flag in self for spelled in flag.spellings()}
        return self._by_spelling


@cache
def table() -> FlagTable:
    """All flags of the server: its own, then those of the API server, the controllers and the scheduler."""
    from orchd.config import apiserver, controller_manager, scheduler, shared

    common = {row[0]: row for row in shared.SHARED}
    parts: list[tuple[str, Iterable[Row]]] = [("server", OWN)]
    for component, module in (
        ("API server", apiserver), ("controllers", controller_manager), ("scheduler", scheduler)
    ):
        # A component's own row replaces the shared row of the same name.
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

#: Components that can run as separate processes, and their modules' names.
COMPONENTS: Final = ("controller-manager", "scheduler")


@cache
def component_table(component: str) -> FlagTable:
    """The flags of one of `COMPONENTS` as a separate process, where those marked ``own`` are built, too."""
    from orchd.config import controller_manager, scheduler, shared

    module = {"controller-manager": controller_manager, "scheduler": scheduler}[component]
    common = {row[0]: row for row in shared.SHARED}
    own = {row[0] for row in module.FLAGS}
    rows = [row for row in OWN if row[0] in ("dialect", "flagfile")]
    rows += [*module.FLAGS, *(common[name] for name in module.FROM_SHARED if name not in own)]
    flags = (_flag(row, (component.replace("-", " "),)) for row in rows)
    return FlagTable(replace(flag, built=flag.built or flag.own) for flag in flags)


@cache
def private_flags(component: str) -> frozenset[str]:
    """Flags of a component that its flag file may set when it runs in the server's process: those that are not the
    server's."""
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
        built="built" in words or "noop" in words,
        own="own" in words,
        deprecated="deprecated" in words,
        void=VOID[words["void"]] if "void" in words else "",
        noop=VOID[words["noop"]] if "noop" in words else "",
        choices=tuple(words["choices"].split("|")) if "choices" in words else (),
        components=tuple(components),
        least=None if type_ not in ("int", "float") or "signed" in words else int("positive" in words),
    )
