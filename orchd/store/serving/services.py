"""The methods of etcd's API that the store has, by path. All others are refused with Unimplemented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from twisted.internet.interfaces import IReactorTime

from orchd.store.etcd import messages
from orchd.store.grpc.call import Method
from orchd.store.serving.interfaces import IServedStore
from orchd.store.serving.leases import LeaseService
from orchd.store.serving.maintenance import Compactions, Maintenance
from orchd.store.serving.ranges import Ranges
from orchd.store.serving.transactions import Transactions
from orchd.store.serving.watches import WatchService


def methods(
    store: IServedStore, reactor: IReactorTime, *, random: Random, urls: Sequence[str]
) -> Mapping[bytes, Method]:
    """The methods of a server of `store`, which clients reach at `urls`."""
    ranges, transactions, compactions = Ranges(store, reactor), Transactions(store), Compactions(store)
    watches, leases, maintenance = WatchService(store, reactor), LeaseService(store, random), Maintenance(store, urls)
    by_path = {
        messages.RANGE: Method(unary=ranges.range),
        messages.PUT: Method(unary=transactions.put),
        messages.DELETE_RANGE: Method(unary=transactions.delete),
        messages.TXN: Method(unary=transactions.transact),
        messages.COMPACT: Method(unary=compactions.compact),
        messages.WATCH: Method(streaming=watches.watch),
        messages.LEASE_GRANT: Method(unary=leases.grant),
        messages.LEASE_REVOKE: Method(unary=leases.revoke),
        messages.LEASE_KEEP_ALIVE: Method(streaming=leases.keep_alive),
        messages.LEASE_TIME_TO_LIVE: Method(unary=leases.time_to_live),
        messages.LEASE_LEASES: Method(unary=leases.leases),
        messages.STATUS: Method(unary=maintenance.status),
        messages.ALARM: Method(unary=maintenance.alarm),
        messages.MEMBER_LIST: Method(unary=maintenance.members),
    }
    return {path.encode(): method for path, method in by_path.items()}
