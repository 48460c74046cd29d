"""Contracts of controllers, and their environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from twisted.internet.interfaces import IReactorTime
from zope.interface import Attribute, Interface

from orchd.client.interfaces import IClient, IEventRecorder, IInformers, IRawClient, ResourceRef
from orchd.controllers.metrics import ControllerMetrics
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import Dialect
from orchd.kinds import gates
from orchd.kinds.catalog import Catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import SPECIFICATION, Release
from orchd.pki.certificates import Signed
from orchd.txkit.compute_thread import ComputeThread


class IController(Interface):
    """A control loop over the API."""

    name: str = Attribute("The name that --controllers knows.")
    counts: ControllerMetrics = Attribute("What it has done so far.")

    async def start() -> None:
        """Add listeners to informers and start workers. Raises if it cannot start."""

    async def stop() -> None:
        """Start no further work and return when running work has ended. Must also work after a failed start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Collaborators and settings of controllers.

    `client(account)` is a client that authenticates as the service account of that name in the system namespace; "" is
    the controller manager's own user. `reader` may read everything and writes nothing. `recorder(component)` records
    Events under a component's name. Informers are shared by all controllers of the process. `wall` is seconds since the
    epoch; `clock` is monotonic. `authority` is the PEM of the server's CA certificate; `issue_token(account, secret
    name)` signs a token that does not expire. `signing_authority(signer)` is the CA of a built-in signer (a template),
    None for a signer without one. `settings` holds the controllers' flags. `several_servers` is False if no other
    server can be on the same store, so that a change is known to the only one at once. `release` is the emulated
    release; `features` are the feature gates that were given. `compute` calls pure functions of large objects away from
    the reactor.
    """

    dialect: Dialect
    client: Callable[[str], IClient]
    reader: IRawClient
    recorder: Callable[[str], IEventRecorder]
    informers: IInformers
    clock: IReactorTime
    wall: Callable[[], float]
    random: Random
    catalog: Callable[[], Catalog]
    authority: str
    issue_token: Callable[[Object, str], str]
    signing_authority: Callable[[str], Signed | None]
    settings: ControllerSettings
    several_servers: bool
    release: Release = SPECIFICATION
    features: Mapping[str, bool] = field(default_factory=dict)
    compute: ComputeThread = field(default_factory=ComputeThread)

    def feature(self, name: str) -> bool:
        """True if a feature gate is on. Raises KeyError for an unknown one."""
        return gates.enabled(self.features, name, self.release)


class IControllerFactory(Interface):
    """A controller by name. Drop-ins are found in `orchd.plugins` and run when --controllers names them."""

    name: str = Attribute("Unique name, as in --controllers; the `name` of the controller that it makes.")
    help: str = Attribute("One paragraph for the operator.")
    resources: Sequence[ResourceRef] = Attribute(
        "The resources whose informers the controller requests. It is left out where a built-in one is not served."
    )

    def make(environment: Environment) -> IController:
        """The controller. The constructor requests all informers, so that they are listed early. Raises
        ValueError when it cannot be made."""


#: Creates a controller and requests all its informers, so that they are listed early.
Factory = Callable[[Environment], IController]


@dataclass(frozen=True, slots=True)
class ControllerRow:
    """A controller that --controllers can name. `resources` are those whose informers its constructor requests; their
    groups are templates of the dialect. `since` and `until` are the first release with the controller and the first one
    without it."""

    name: str
    make: Factory
    resources: tuple[ResourceRef, ...]
    since: str = ""
    until: str = ""
