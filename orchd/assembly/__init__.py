"""Composition root: builds a server from its settings. The only package, with `tap`, that imports every implementation.

Owns the choice and wiring of collaborators. Must not hold behaviour of its own. May import anything.
"""
