"""Daemon sets: one pod on every node that fits.

Owns the daemon set controller: which nodes, which pods go, rolling updates. Must not reach into the server. May import
client and kinds.
"""
