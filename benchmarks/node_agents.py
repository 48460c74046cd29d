"""What agents of nodes send: each has a connection of its own, renews its lease every ten seconds, and patches its
node's status every five minutes.

One process holds all connections and sends one request after the other, at equal distances. A lease is sent and
returned in protobuf, with the metadata of the response before, as agents do; the status is a strategic merge patch.
"""

from __future__ import annotations

import json
import select
import ssl
import time
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.load import Connection, Target, cpu
from orchd.dialect import DIALECTS
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.codec import protobuf

#: Seconds between renewals of a lease, and between patches of a status.
RENEWAL, HEARTBEAT = 10.0, 300.0
#: Seconds after which all agents send a request while others still connect: servers close connections that are idle for
#: longer.
_KEPT_ALIVE = 30.0
_DIALECT = DIALECTS["orch"]
_KIND = {"kind": "Lease", "apiVersion": "coordination.orch.io/v1"}
_LEASES = "/apis/coordination.orch.io/v1/namespaces/orch-node-lease/leases"
_PROTOBUF = f"Content-Type: {_DIALECT.protobuf}"
_ACCEPT = f"Accept: {_DIALECT.protobuf},application/json"
_STRATEGIC = "Content-Type: application/strategic-merge-patch+json"


@dataclass(frozen=True, kw_only=True)
class AgentFigures:
    """`share` is of one core, `waited` are the seconds until each response, sorted; `late` counts renewals that were
    due while the agent still waited for a response, and were not sent; `refused` requests that were refused with 429,
    which agents send again later."""

    requests: int
    late: int
    refused: int
    share: float
    waited: list[float]


class _Agent:
    """One node: its lease as last returned, and the request that is under way."""

    def __init__(self, connection: Connection, lease: dict[str, Any]) -> None:
        self.name: str = lease["metadata"]["name"]
        self.connection = connection
        self.lease = lease
        self.sent: float | None = None
        self.renews = False
        self.turn = 0


def _connected(target: Target, context: ssl.SSLContext) -> Connection:
    """The connection of the agent whose token is its node's name, after it has read its node, as agents do first."""
    connection = Connection(target, context)
    code, body = connection.ask(target.request("GET", f"/api/v1/nodes/{target.token}"))
    if code != 200:
        raise SystemExit(f"{target.token} got the response code {code}: {body[:300]!r}")
    return connection


class NodeAgents:
    """The agents of the first nodes of a server whose store `benchmarks.large` wrote. Each has a token: the name of its
    node. `slowness` is the factor by which they send less often, for machines that have too little time for all."""

    def __init__(self, target: Target, count: int, *, as_protobuf: bool = True, slowness: float = 1.0) -> None:
        self._renewal, self._heartbeat = RENEWAL * slowness, HEARTBEAT * slowness
        self._type = next(
            each.type for each in builtin_catalog(_DIALECT).resources if each.kind == "Lease" and each.version == "v1"
        )
        self._binary = as_protobuf
        connection = Connection(target)
        code, body = connection.ask(target.request("GET", _LEASES))
        connection.close()
        if code != 200:
            raise SystemExit(f"the leases got the response code {code}: {body[:300]!r}")
        leases = json.loads(body)["items"][:count]
        self.count = len(leases)
        context = target.context()
        self._agents: list[_Agent] = []
        asked = time.monotonic()
        for each in leases:
            own = replace(target, token=each["metadata"]["name"])
            self._agents.append(_Agent(_connected(own, context), each))
            if time.monotonic() - asked > _KEPT_ALIVE:
                for agent in self._agents:
                    agent.connection.ask(agent.connection.target.request("GET", "/livez"))
                asked = time.monotonic()
        self._refused = 0
        self._poll = select.epoll()
        self._by_number = {}
        for agent in self._agents:
            number = agent.connection.fileno()
            self._by_number[number] = agent
            self._poll.register(number, select.EPOLLIN)

    def send(self, pids: list[int], seconds: float, *, heartbeats: bool = True) -> AgentFigures:
        """Send for some seconds; the CPU is that of `pids` together."""
        waited: list[float] = []
        count, before, began = self.count, sum(map(cpu, pids)), time.monotonic()
        renewals = beats = late = self._refused = 0
        while (now := time.monotonic() - began) < seconds:
            while renewals * self._renewal / count <= now:
                late += not self._renew(self._agents[renewals % count])
                renewals += 1
            while heartbeats and beats * self._heartbeat / count <= now:
                # Half an interval away from the renewal of the same node.
                self._report(self._agents[(beats + renewals + count // 2) % count], beats)
                beats += 1
            for number, _ in self._poll.poll(self._renewal / count):
                self._receive(self._by_number[number], waited)
        while any(agent.sent is not None for agent in self._agents):
            for number, _ in self._poll.poll(1):
                self._receive(self._by_number[number], waited)
        spent = sum(map(cpu, pids)) - before
        return AgentFigures(
            requests=len(waited),
            late=late,
            refused=self._refused,
            share=spent / (time.monotonic() - began),
            waited=sorted(waited),
        )

    def stop(self) -> None:
        """Close all connections."""
        for agent in self._agents:
            agent.connection.close()

    def _renew(self, agent: _Agent) -> bool:
        """False if the agent still waits for the response before."""
        if agent.sent is not None:
            return False
        agent.turn += 1
        moment = f"2026-01-05T{9 + agent.turn // 3600:02}:{agent.turn // 60 % 60:02}:{agent.turn % 60:02}.000000Z"
        lease = {**_KIND, **agent.lease, "spec": {**agent.lease["spec"], "renewTime": moment}}
        if self._binary:
            body = protobuf.encode(lease, self._type, api_version=_KIND["apiVersion"], kind="Lease")
            headers: tuple[str, ...] = (_PROTOBUF, _ACCEPT)
        else:
            body, headers = json.dumps(lease).encode(), ("Content-Type: application/json",)
        agent.renews = True
        self._send(agent, "PUT", f"{_LEASES}/{agent.name}", body, *headers)
        return True

    def _report(self, agent: _Agent, turn: int) -> None:
        if agent.sent is not None:
            return
        moment = f"2026-01-05T09:{turn // 60 % 60:02}:{turn % 60:02}Z"
        conditions = [
            {"type": kind, "lastHeartbeatTime": moment}
            for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        ]
        order = [{"type": each["type"]} for each in conditions]
        body = json.dumps({"status": {"$setElementOrder/conditions": order, "conditions": conditions}}).encode()
        agent.renews = False
        self._send(agent, "PATCH", f"/api/v1/nodes/{agent.name}/status", body, _STRATEGIC, _ACCEPT)

    def _send(self, agent: _Agent, method: str, path: str, body: bytes, *headers: str) -> None:
        connection = agent.connection
        agent.sent = time.monotonic()
        connection.send(connection.target.request(method, path, body, *headers))

    def _receive(self, agent: _Agent, waited: list[float]) -> None:
        code, body = agent.connection.receive()
        if code == 429:
            self._refused += 1
            agent.sent = None
            return
        if code != 200:
            raise SystemExit(f"{agent.name} got the response code {code}: {body[:300]!r}")
        assert agent.sent is not None
        waited.append(time.monotonic() - agent.sent)
        agent.sent = None
        if agent.renews:
            agent.lease = (
                protobuf.decode_message(protobuf.open_envelope(body).raw, self._type)
                if self._binary
                else json.loads(body)
            )
