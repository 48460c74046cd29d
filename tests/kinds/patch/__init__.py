"""Tests of patches and ownership; a package, so that they share a builder of types."""
