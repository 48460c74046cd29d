"""Custom kinds: conversion of CustomResourceDefinitions to the `Type` and `Resource` that built-in kinds have as well.

`schema` converts the structural schema of a version, `resources` creates catalog entries, `scale` maps the scale
subresource. Must not read or watch stored definitions. A schema is converted from the definition's bytes at the first
use of its kind, so that an unused definition costs little more than its bytes.
"""
