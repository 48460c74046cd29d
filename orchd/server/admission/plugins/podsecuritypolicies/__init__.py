"""Evaluation of pod security policies: defaults and rules, one module per part of a pod. Pure functions.

Must not depend on requests or users. May import `orchd.dialect`, `orchd.errors` and its own modules.
"""
