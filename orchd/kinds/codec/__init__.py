"""Objects to bytes and back: JSON, YAML, protobuf, media types, watch frames.

Owns negotiation and encodings. Must not know requests. May import ir, catalog and objects.
"""
