"""gRPC over HTTP/2: what its clients and servers share, and a server.

Owns framing, statuses and connections; knows no messages. May import txkit.
"""
