"""Encoding and decoding of objects: JSON, YAML, protobuf, media types, watch frames.

Owns content negotiation and encodings. Must not depend on requests. May import ir, catalog and objects.
"""
