"""Garbage collection: the graph of owners and dependents, its updates, and the deletions that follow from it.

Owns the garbage collector. Must not reach into the server. May import client, kinds and txkit.
"""
