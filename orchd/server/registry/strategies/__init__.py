"""One module per kind that differs, a page or less each.

Owns what is special about a kind on its way to the store. Must not do what a schema can say. May import registry.interfaces and kinds.
"""
