"""Admission control: mutating and validating chains, one module per plugin.

Owns admission plugins and webhooks. Must not store anything. May import client.interfaces,
authz.interfaces, kinds and txkit.
"""
