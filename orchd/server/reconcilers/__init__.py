"""Control loops of the API server itself: its service's endpoints, published CA bundles, flow control.

Each owns its background work and writes through a client. May import client contracts, kinds, pki, store contracts, the
bootstrap objects, authentication methods and the fairness stage; never assembly or config.
"""
