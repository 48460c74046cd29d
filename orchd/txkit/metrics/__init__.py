"""Metrics that count in plain numbers and become families of samples when they are scraped.

Owns the instruments, histograms, and the load of the reactor; must not know whose numbers they are. Imports Twisted and
prometheus_client. An object with metrics declares them once in its attribute `instruments`.
"""
