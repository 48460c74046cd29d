"""API groups that other servers answer: whether they could. Forwarding requests to them is not built yet.

May import client.interfaces, kinds and txkit.
"""
