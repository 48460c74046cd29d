"""Doubles and contract suites, shipped with the product.

Owns what tests of this and other projects drive. Must not be imported by the product. May import anything.
"""
