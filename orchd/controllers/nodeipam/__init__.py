"""The controller that gives nodes ranges of pod addresses.

May import what controllers may.
"""
