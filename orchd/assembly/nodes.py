"""The way to the agents of nodes, from the settings of a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchd.config.settings import Settings
from orchd.server.key_pairs import KeyPair
from orchd.server.pipeline.verbs.subresources.addresses import any_address
from orchd.server.pipeline.verbs.subresources.upstream import IUpstream, NodePolicy, Upstream


@dataclass(frozen=True, slots=True)
class NodeUpstreams:
    """Two ways to the agents of nodes, known to both by the same certificate: `agents` for the streams of pods, wherever a
    node says that its agent is, and `proxied` for requests that clients choose, which reach global unicast addresses."""

    agents: IUpstream
    proxied: IUpstream


def node_upstreams(settings: Settings, reactor: Any) -> NodeUpstreams:
    """Raises ValueError naming the flag and the file that is wrong."""
    chosen, dialect = settings.nodes, settings.dialect
    own = KeyPair(dialect("{short}let-client-certificate"), chosen.cert_file, chosen.key_file, reactor)
    authority = b""
    if chosen.authority_file:
        try:
            authority = Path(chosen.authority_file).read_bytes()
            policy = NodePolicy(authority=authority, own=own)
        except Exception as error:  # pyOpenSSL has an error of its own for each sort of damage
            raise ValueError(dialect("--{short}let-certificate-authority: ") + f"{chosen.authority_file}: {error}") from error
    else:
        policy = NodePolicy(own=own)
    return NodeUpstreams(agents=Upstream(reactor, policy, addresses=any_address), proxied=Upstream(reactor, policy))
