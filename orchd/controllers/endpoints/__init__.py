"""Backends of services: the addresses of their pods, as Endpoints and as EndpointSlices.

Owns both controllers and what they share. Must not reach into the server. May import client and kinds.
"""
