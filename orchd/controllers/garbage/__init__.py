"""Owners and what they own: the graph of both, how it is kept, and what is deleted because of it.

Owns the garbage collector. Must not reach into the server. May import client, kinds and txkit.
"""
