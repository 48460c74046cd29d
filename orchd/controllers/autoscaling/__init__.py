"""Horizontal pod autoscalers: the size of a target follows metrics of its pods, of other objects and of external
systems.

Owns the autoscaling controller: `metrics` asks the metrics APIs, `replicas` turns values into sizes, `evaluation` does
so for each metric of an autoscaler, `normalization` keeps sizes within limits, policies and stabilization windows. Must
not reach into the server. May import client and kinds.
"""
