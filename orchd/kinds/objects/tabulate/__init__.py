"""Objects as rows of tables: columns and cells.

Owns the printers of all kinds. Must not do I/O nor know requests. May import ir, catalog and the other algorithms.
"""
