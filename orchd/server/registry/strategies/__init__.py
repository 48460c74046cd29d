"""Strategies: one module per kind with rules of its own.

Owns the special rules of kinds on writes. Must not do what a schema can express. May import registry.interfaces and
kinds.
"""
