"""Deployments: rollouts from one pod template to the next within maxSurge and maxUnavailable.

Owns the deployment controller and its arithmetic. Must not reach into the server. May import client and kinds.
"""
