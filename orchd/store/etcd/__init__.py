"""The store on etcd v3, shared by several servers.

Owns etcd's protocol and its client. May import txkit and the other modules of the store. Needs the extra ``etcd``.
"""
