"""The controllers of one server from its settings: clients of its pipeline, each with its own identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from socket import gethostname
from typing import Any, Final, cast

from orchd.assembly.api import ComponentProbes, Subsystems
from orchd.assembly.client_access import ClientAccess
from orchd.assembly.leadership import Leadership, candidate_identity
from orchd.assembly.runtime import Runtime
from orchd.assembly.signing_authorities import signing_authorities
from orchd.client.events import EventBroadcaster
from orchd.client.fenced import FencedClient
from orchd.client.interfaces import IClient
from orchd.client.leader_election import Candidate
from orchd.client.scoped_informers import ScopedInformers
from orchd.controllers.group import ControllerGroup
from orchd.controllers.interfaces import Environment
from orchd.controllers.settings import ControllerSettings
from orchd.controllers.volumes.binding import recycler
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.codec import yaml_
from orchd.kinds.users import AUTHENTICATED_GROUP, User, service_account
from orchd.pki.certificates import load_chain
from orchd.pki.keys import load_private
from orchd.server.authn.serviceaccount import TokenIssuer
from orchd.server.authn.signedtokens import Signer
from orchd.txkit.metrics.instruments import Instrument, instruments_of
from orchd.txkit.services import Member, as_member

#: Flags whose values are files with pod templates.
_TEMPLATES: Final = frozenset(f"pv-recycler-pod-template-filepath-{kind}" for kind in ("hostpath", "nfs"))


class ControllerTerm:
    """The controller group of one term of leadership."""

    def __init__(self, names: Iterable[str], env: Environment) -> None:
        #: True if the term may write; decided anew for each term.
        self.may_write: Callable[[], bool] = lambda: True
        self._informers = ScopedInformers(env.informers)
        self.group = ControllerGroup(
            names,
            replace(
                env,
                client=lambda account: FencedClient(env.client(account), lambda: self.may_write()),
                informers=self._informers,
            ),
        )

    async def start(self) -> None:
        await self.group.start()

    async def stop(self) -> None:
        try:
            await self.group.stop()
        finally:
            self._informers.close()


class Controllers:
    """Runs the controllers of --controllers on the server that is elected leader. Their writes pass every stage of the
    pipeline under the controllers' own identities.

    The first term's controllers are made at once, so that their informers load together with the server's.
    """

    def __init__(
        self, runtime: Runtime, access: ClientAccess, subsystems: Subsystems, components: ComponentProbes
    ) -> None:
        """Raises ValueError naming the flag at fault."""
        dialect, settings = runtime.dialect, runtime.settings.controllers
        files, issuer = subsystems.files.certificates, subsystems.access.authentication.issuer
        component = dialect("{short}-controller-manager")
        manager = User(name=f"system:{component}", groups=(AUTHENTICATED_GROUP,))

        agent = f"{component}/{runtime.settings.release.version}"

        def client(account: str) -> IClient:
            user = service_account(dialect.system_namespace, account) if account else manager
            return access.client(user, agent)

        self._names = settings.names
        self.broadcaster = EventBroadcaster(
            client(""), runtime.wall, clock=runtime.reactor, random=runtime.random, dialect=dialect, host=gethostname()
        )
        self._env = Environment(
            dialect=dialect,
            client=client,
            reader=access.system,
            recorder=self.broadcaster.recorder,
            informers=subsystems.objects.informers,
            clock=runtime.reactor,
            wall=runtime.wall,
            random=runtime.random,
            catalog=subsystems.definitions.current,
            authority=(root_authority(settings.flags) or subsystems.authority).decode(),
            issue_token=(account_token_issuer(dialect, settings.flags, runtime.wall) or issuer).issue_legacy,
            signing_authority=signing_authorities(
                settings.flags, dialect, runtime.reactor, (files.ca_certificate, files.ca_key)
            ),
            settings=controller_settings(settings.flags),
            several_servers=not subsystems.storage.store.exclusive,
            release=runtime.settings.release,
            features=runtime.objects.features,
            compute=subsystems.objects.compute,
        )
        self._prepared: ControllerTerm | None = ControllerTerm(self._names, self._env)
        self.leadership = Leadership(
            "controllers",
            settings.election,
            self._make,
            Candidate(
                identity=candidate_identity(subsystems.candidate_secret, runtime.random),
                recorder=self.broadcaster.recorder(component),
            ),
            access.client(manager, agent, urgent=True),
            runtime,
        )
        if self._names:
            components["controller-manager"] = self.leadership.check

    def member(self) -> Member:
        return cast(Member, self.leadership) if self._names else as_member("controllers")

    def events(self) -> Member:
        """The event broadcaster; starts before the controllers, so that events recorded at their stop are written."""
        return as_member("events of controllers", stop=self.broadcaster.stop)

    @property
    def instruments(self) -> Iterator[Instrument]:
        """The metrics of the running controllers."""
        return instruments_of((self.group,))

    @property
    def group(self) -> ControllerGroup | None:
        """The running controllers; None while another process leads."""
        term = self.leadership.term
        return term.group if isinstance(term, ControllerTerm) else None

    def _make(self, may_write: Callable[[], bool]) -> ControllerTerm:
        """The controllers of a new term."""
        term = self._prepared or ControllerTerm(self._names, self._env)
        self._prepared = None
        term.may_write = may_write
        return term


def root_authority(flags: Mapping[str, Any]) -> bytes:
    """The CA bundle of --root-ca-file for pods; b"" without the flag. Raises ValueError naming the file."""
    path = flags["root-ca-file"]
    if not path:
        return b""
    try:
        bundle = Path(path).read_bytes()
        load_chain(bundle)
    except (OSError, ValueError) as error:
        raise ValueError(f"--root-ca-file: {path}: {getattr(error, 'strerror', None) or error}") from error
    return bundle


def account_token_issuer(dialect: Dialect, flags: Mapping[str, Any], wall: Callable[[], float]) -> TokenIssuer | None:
    """The token signer with the key of --service-account-private-key-file; None without the flag. Raises ValueError
    naming the file."""
    path = flags["service-account-private-key-file"]
    if not path:
        return None
    try:
        key = load_private(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise ValueError(f"--service-account-private-key-file: {path}: {error}") from error
    return TokenIssuer(dialect, Signer(key), issuer="", audiences=(), wall=wall)


def recycler_template(flag: str, path: str) -> Any:
    """The pod template in the file of a flag, None without one. Raises ValueError naming the flag."""
    if not path:
        return None
    try:
        template = yaml_.decode(Path(path).read_bytes())
    except OSError as error:
        raise ValueError(f"--{flag}: {path}: {error.strerror}") from error
    except (ApiError, ValueError) as error:
        raise ValueError(f"--{flag}: {path}: {error}") from error
    problem = recycler.check_template(template)
    if problem:
        raise ValueError(f"--{flag}: {path}: {problem}")
    return template


def controller_settings(flags: Mapping[str, Any]) -> ControllerSettings:
    """Controller settings from values keyed by flag name."""
    chosen = {}
    for field in fields(ControllerSettings):
        flag = field.metadata.get("flag") or field.name.replace("_", "-")
        chosen[field.name] = recycler_template(flag, flags[flag]) if flag in _TEMPLATES else flags[flag]
    return ControllerSettings(**chosen)
