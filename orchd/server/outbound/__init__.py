"""Calls to other services: webhooks, and reviews that a client configuration file names.

Must not know what a caller does with an answer. May import the client's contracts, codecs, client configuration and txkit.
"""
