"""Persistence: revisions and bytes.

Owns the store contract and its implementations. Must not read values. May import txkit.
"""
