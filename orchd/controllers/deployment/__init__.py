"""Deployments: from one pod template to the next, with so many pods too many and so many too few on the way.

Owns the deployment controller and its arithmetic. Must not reach into the server. May import client and kinds.
"""
