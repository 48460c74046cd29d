"""A flag, and tables of flags. The rows are in `orchd.config.rows`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Final

from orchd.config.values import FlagType
from orchd.dialect import DIALECTS, ORCH, Dialect
from orchd.kinds.release import Release

# Why a flag of the reference can have no effect here.
NO_CLOUD: Final = "there is no cloud provider"
NO_MIGRATION: Final = "it is for controllers of cloud providers, and there are none"
NO_VOLUME_PLUGINS: Final = "volumes are handled by external drivers only"
ONE_LOG: Final = "the log has one destination, standard output or the daemon's log file"
NO_PLAIN_PORT: Final = "components serve HTTPS only, at --bind-address and --secure-port"
NO_LOCKS: Final = "the server runs in one thread without locks"
NO_SECRETS: Final = "log lines contain no secrets, tokens or keys"
UNBUFFERED: Final = "each log line is written at once"
UNUSED: Final = "the reference ignores it too"
STORED_AS_JSON: Final = "objects are stored as JSON, which reads and watches send unchanged"
NO_HTTP2: Final = "HTTP/2 is not served"
NO_FILES: Final = "log lines are written at once, to one destination"
NO_FORWARDING: Final = "servers share one store and forward no requests to each other"
WHOLE_RELEASE: Final = "a release is emulated as a whole, with what it serves"
NO_COORDINATION: Final = "leaders are elected by leases alone"
ONE_REVISION: Final = "all resources share the revisions of one store"
BIND_ROLE: Final = "the reference ignores it too; bind the approval role of node requests to the group instead"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. `name`, `default`, `help` and `choices` are templates of a dialect; `name` is the key of its value
    everywhere in the product. `default` is written as on a command line, "" being the type's zero; `stock_default`
    takes its place in the dialect of stock clients unless it is ""."""

    name: str
    type: FlagType
    default: str
    help: str
    _: KW_ONLY
    stock_default: str = ""
    #: What a value other than "" may be; () for anything.
    choices: tuple[str, ...] = ()
    #: Minimum of a number, None without one.
    least: int | None = 0
    #: Accepted with a warning.
    deprecated: bool = False
    #: It exists for a component in a process of its own, and has no meaning here: only its default is accepted.
    separate: bool = False
    #: Why it can have no effect: `void` accepts only its default, `noop` other values with a warning. "" for a flag
    #: that has one.
    void: str = ""
    noop: str = ""
    components: tuple[str, ...] = ()
    #: The first release with the flag, and the first one without it; "" for none.
    since: str = ""
    until: str = ""
    #: Releases that begin another default, and it, ascending.
    later_defaults: tuple[tuple[str, str], ...] = ()

    @property
    def settable(self) -> bool:
        """True if other values than its default are accepted."""
        return not (self.separate or self.void)

    def written_default(self, dialect: Dialect) -> str:
        """The default as on a command line, "" for the type's zero."""
        return dialect((dialect.stock and self.stock_default) or self.default)

    def default_value(self, dialect: Dialect) -> Any:
        return self.type.default(self.written_default(dialect))

    def spelled(self, dialect: Dialect = ORCH) -> str:
        """The name as on a command line, without dashes."""
        return dialect(self.name)

    def lacking(self, release: Release) -> str:
        """Why a release does not have the flag; "" for one that does."""
        if release.includes(self.since, self.until):
            return ""
        why = f"{self.until} has removed it" if release.includes(self.since) else f"it begins with {self.since}"
        return f"release {release} has no such flag: {why}"

    def lifetime(self) -> tuple[str, ...]:
        """Sentences about the releases that have the flag, and about other defaults."""
        return (
            *((f"From release {self.since} on.",) if self.since else ()),
            *((f"Until release {self.until}.",) if self.until else ()),
            *(f"{since} on: {default}." for since, default in self.later_defaults),
        )

    def default_in(self, release: Release, dialect: Dialect) -> Any:
        """The default in a release."""
        later = release.choose((("", ""), *self.later_defaults))
        return self.type.default(dialect(later)) if later else self.default_value(dialect)

    def spellings(self) -> frozenset[str]:
        """The name in every dialect."""
        return frozenset(d(self.name) for d in DIALECTS.values())


class FlagTable:
    """Flags by name, in table order. If components share a name, the row of the first one applies."""

    def __init__(self, flags: Iterable[Flag]) -> None:
        self._flags = {flag.name: flag for flag in flags}

    def __iter__(self) -> Iterator[Flag]:
        return iter(self._flags.values())

    def __getitem__(self, name: str) -> Flag:
        return self._flags[name]

    def __len__(self) -> int:
        return len(self._flags)

    @cached_property
    def by_spelling(self) -> Mapping[str, Flag]:
        """Every flag under each of its spellings."""
        return {spelled: flag for flag in self for spelled in flag.spellings()}

    def defaults(self, dialect: Dialect) -> dict[str, Any]:
        """The default value of every flag, by name."""
        return {flag.name: flag.default_value(dialect) for flag in self}
