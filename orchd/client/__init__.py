"""How anyone reaches the API: the client contract, the remote client, informers, work queues, leases.

Owns clients and what controllers build on. Must not import the server. May import kinds, pki and txkit.
"""
