"""Tests of patches and field ownership."""
