"""Subresources with behaviour of their own: one module each.

Owns the behaviour of their endpoints. Must not hold state. May import what verbs/ may, and the interfaces of authn
(tokens) and admission.
"""
