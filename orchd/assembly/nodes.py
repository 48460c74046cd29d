"""Transports to kubelets, from the settings of a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchd.config.settings import Settings
from orchd.pki.certificates import load_chain
from orchd.server.key_pairs import key_pair
from orchd.server.pipeline.verbs.subresources.addresses import any_address
from orchd.server.pipeline.verbs.subresources.upstream import IUpstream, NodePolicy, Upstream, UpstreamLimits
from orchd.txkit.proxy_tunnel import Dial


@dataclass(frozen=True, slots=True)
class NodeUpstreams:
    """Two transports to kubelets with the same client certificate: `agents` for pod streams, at any address a node
    reports, and `proxied` for client-chosen requests, restricted to global unicast addresses."""

    agents: IUpstream
    proxied: IUpstream


def node_upstreams(settings: Settings, reactor: Any, dial: Dial | None = None) -> NodeUpstreams:
    """`dial` connects, None directly. Raises ValueError naming the invalid flag and file."""
    chosen, dialect = settings.nodes, settings.dialect
    own = key_pair(dialect("{short}let-client-certificate"), chosen.cert_file, chosen.key_file, reactor)
    authority = b""
    if chosen.authority_file:
        try:
            authority = Path(chosen.authority_file).read_bytes()
            load_chain(authority)
            policy = NodePolicy(authority=authority, own=own)
        except Exception as error:  # pyOpenSSL raises a different error for each kind of damage
            raise ValueError(
                dialect("--{short}let-certificate-authority: ") + f"{chosen.authority_file}: {error}"
            ) from error
    else:
        policy = NodePolicy(own=own)
    limits = UpstreamLimits(connect_seconds=chosen.connect_seconds, bytes_per_second=chosen.bytes_per_second)
    return NodeUpstreams(
        agents=Upstream(reactor, policy, addresses=any_address, dial=dial, limits=limits),
        proxied=Upstream(reactor, policy, dial=dial, limits=limits),
    )
