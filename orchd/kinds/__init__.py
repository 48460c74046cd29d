"""What an object is: schemas, the catalog of what is served, and pure algorithms over (value, type).

Owns the schema representation, built-in tables, codecs, patches, documents about the API. Must not do I/O, or import Twisted. May import dialect and errors.
"""
