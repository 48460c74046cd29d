"""Simulated nodes: a client of the API that registers nodes and reports pods on them as running, where nothing runs.

Owns the behaviour of simulated nodes and pods. Must not read anything but what the API shows. May import client, kinds,
txkit and the control loop of the controllers.
"""
