"""Calls to external services: webhooks, and reviews by the services of client configuration files.

Must not interpret responses for its callers. May import the client's contracts, codecs, client configuration and txkit.
"""
