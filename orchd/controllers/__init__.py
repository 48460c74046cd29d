"""Clients of the API that keep the promises of the cluster: one module per controller.

Owns control loops. Must not reach into the server. May import client, kinds, pki and txkit.
"""
