"""The embedded store, served as the part of etcd's API (v3) that API servers use (docs/decisions.md 13).

Owns what etcd's requests mean for a store of this process: one module per service or group of methods. May import txkit
and the other modules of the store. Needs the extra ``etcd``.
"""
