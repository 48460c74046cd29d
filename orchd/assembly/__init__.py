"""Puts a server together from its settings: the only package, with `tap`, that knows every implementation.

Owns the choice and wiring of collaborators. Must not hold behaviour of its own. May import anything.
"""
