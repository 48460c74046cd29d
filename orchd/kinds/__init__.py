"""Schemas of objects, the catalog of served resources, and pure algorithms over (value, type).

Owns the schema representation, built-in tables, codecs, patches, API documents. Must not do I/O or import Twisted. May
import dialect and errors.
"""
