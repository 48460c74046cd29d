"""Stateful sets: pods with names, volumes and an order.

Owns the stateful set controller. Must not reach into the server. May import client and kinds.
"""
