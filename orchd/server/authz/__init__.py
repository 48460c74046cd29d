"""Authorization: one module per authorizer, and their union.

Owns authorizers. Must not authenticate. May import client.interfaces, kinds and txkit.
"""
