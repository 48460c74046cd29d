"""Rules about persistent volumes and claims that several components share: classes, binding, topology.

Owns which volume suits a claim and which node a volume. Pure functions over API objects. May import ir and objects.
"""
