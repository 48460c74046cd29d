"""Subresources that are more than another view of the object: one module each.

Owns what their endpoints do. Must not hold state. May import what verbs/ may, and the interfaces of authn (tokens) and admission.
"""
